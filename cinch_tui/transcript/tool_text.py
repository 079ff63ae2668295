"""Plain text of an unfolded tool call, equal to the text drawn by `tool_lines`."""

from __future__ import annotations

from msgspec.structs import replace

from cinch_tui.rendering.diff_rows import Sides, diff_rows
from cinch_tui.rendering.safe_text import plain_output
from cinch_tui.transcript.tool_call_state import FRESH_LINES, ToolCallState
from cinch_tui.transcript.tool_lines import LONGEST, first_lines
from harness.views import DiffView, ImageView, ListingView, TerminalView, TextView, TodoView, View

# Longer than a line on the widest screen.
WIDEST = 400


def body_text(call: ToolCallState) -> str:
    """Return the text of a call's body, truncated as on the screen."""
    text = _view_text(call.view) if call.view is not None else ""
    said = call.text.strip()
    if not text:
        return _first(said)
    return (
        f"{text}\n{plain_output(said)}" if call.status == "failed" and not isinstance(call.view, TerminalView) else text
    )


def brief(call: ToolCallState) -> ToolCallState:
    """Return the call with only the end of its output, or the start of a listing; changes stay complete."""
    return replace(call, view=_brief_view(call.view) if call.view is not None else None, text=_ending(call.text))


def _brief_view(view: View) -> View:
    match view:
        case TextView(text):
            return replace(view, text=_ending(text))
        case TerminalView(output=output):
            return replace(view, output=_ending(output))
        case ListingView(entries=entries):
            return replace(view, entries=entries[:FRESH_LINES])
        case _:
            return view


def _ending(text: str) -> str:
    # Only the end of large output is processed, since it is redrawn many times a second.
    rows = text[-WIDEST * FRESH_LINES :].rstrip("\n").rsplit("\n", FRESH_LINES)
    return "\n".join(rows[-FRESH_LINES:])


def _view_text(view: View) -> str:
    match view:
        case TextView(text):
            return _first(text)
        case TerminalView(command, output, _, note):
            rows = plain_output(output).rstrip().rsplit("\n", LONGEST)
            return "\n".join((f"$ {command}", *rows[-LONGEST:], *filter(None, (note,))))
        case DiffView():
            return "\n".join(row.text for row in diff_rows(Sides.of(view))[:LONGEST])
        case ListingView(_, entries):
            return "\n".join(entries[:LONGEST])
        case TodoView(items):
            return "\n".join(item.content for item in items)
        case ImageView(path):
            return path


def _first(text: str) -> str:
    return first_lines(plain_output(text).strip("\n"))[0]
