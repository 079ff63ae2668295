"""Drawing of tool calls: the header line, the unfolded body, and the same body as text."""

from __future__ import annotations

import re

from msgspec.structs import replace
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from cinch_tui.rendering.diff import diff_lines, diff_stat
from cinch_tui.rendering.diff_rows import Sides, diff_rows
from cinch_tui.rendering.safe_text import error_line, expand_tabs, one_line, plain_output
from cinch_tui.transcript.image_block import frame
from cinch_tui.transcript.lines import (
    Run,
    StyledLine,
    chop_runs,
    filled,
    indented,
    plain_line,
    text_runs,
    truncated,
    wrap_runs,
)
from cinch_tui.transcript.links import linked
from cinch_tui.transcript.markdown import code_runs
from cinch_tui.transcript.replies import ReplyBlock, reply_lines
from cinch_tui.transcript.styles import BlockStyles
from cinch_tui.transcript.tool_call_state import FRESH_LINES, ToolCallState, ToolStatus
from harness.terminal_text import escape_controls
from harness.views import DiffView, ImageView, ListingView, TerminalView, TextView, TodoView, View
from tools.untrusted_text import is_framed

LONGEST = 200
LONGEST_DIFF = 50
"""Maximum lines of a change in the transcript; `/diff` shows all of it."""
LONGEST_LINE = 60
"""Maximum cells of the output line in a folded call."""
LEAST_LINE = 8
LONGEST_LOOKED_AT = 2_000
WIDEST = 400
"""Longer than a line on the widest screen."""
GLYPHS: dict[ToolStatus, str] = {"waiting": "○", "running": "◐", "done": "✓", "failed": "✗", "denied": "⊘"}
# Marks a search result as `path:line:`; other listings contain names.
_PLACE = re.compile(r":\d+:")
_GIT_DIFF = "diff --git "
TODO_MARKS = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}


def header_line(call: ToolCallState, styles: BlockStyles, width: int, *, folded: bool, selected: bool) -> StyledLine:
    """Return the one-line summary: state, tool, arguments, outcome."""
    state = styles.on_base(call.outcome)
    mark = f"{'▸' if folded else '▾'} {GLYPHS[call.outcome]} "
    label = truncated(one_line(call.label), width - cell_len(mark))
    room = width - cell_len(mark + label)
    summary = one_line(call.summary)
    # Arguments and outcome share the width if both do not fit.
    limit = max(0, room // 2, room - cell_len(summary) - 1)
    result = _result(_telling_line(call) if folded else "", metric(call, folded=folded), limit - 2)
    summary = truncated(summary, room - (cell_len(result) + 2 if result else 0) - 1)
    runs: list[Run] = [
        (mark, state),
        (label, styles.on_base("label")),
        (f" {summary}" if summary else "", styles.base),
        (f"  {result}" if result else "", styles.on_base("metric")),
    ]
    cursor = styles["cursor"] if selected else Style.null()
    segments = tuple(Segment(text, style + cursor) for text, style in runs if text)
    return StyledLine(segments, gutter=2, fill=styles.base + cursor)


def _result(line: str, counts: str, cells: int) -> str:
    """Join a line of output and the metric; the line is truncated first, or omitted if little of it fits."""
    spare = cells - cell_len(f" · {counts}")
    if not line or counts.startswith(line) or spare < min(LEAST_LINE, cell_len(line)):
        return truncated(counts, cells)
    line = truncated(line, min(spare if counts else cells, LONGEST_LINE))
    return f"{line} · {counts}" if counts else line


def _telling_line(call: ToolCallState) -> str:
    """Return the line of output that says most: the first, or of a command that failed the last.

    Empty for changes, whose size says more, and other failures, whose outcome is their error.
    """
    match call.view:
        case TerminalView(output=text) if call.outcome == "failed":
            return one_line(text[-LONGEST_LOOKED_AT:].rstrip().rpartition("\n")[2])
        case _ if call.status != "done":
            return ""
        case TerminalView(output=text) | TextView(text):
            start = text
        case ListingView(_, entries):
            start = entries[0] if entries else ""
        case None:
            start = call.text
        case _:
            return ""
    line = one_line(start[:LONGEST_LOOKED_AT].lstrip().partition("\n")[0])
    return "" if line.startswith(_GIT_DIFF) else line


def metric(call: ToolCallState, *, folded: bool = True) -> str:
    """Return a short outcome; without the error text if the unfolded call shows it below."""
    words = [_outcome(call, folded=folded)]
    # The note contains the duration.
    has_note = isinstance(call.view, TerminalView) and call.view.note
    if (seconds := call.duration or 0) >= 1 and not has_note:
        words.append(f"{seconds:.1f}s" if seconds < 60 else f"{int(seconds) // 60}m{int(seconds) % 60:02}s")
    return " · ".join(word for word in words if word)


def _outcome(call: ToolCallState, *, folded: bool) -> str:
    if call.status == "waiting":
        return ""
    if call.status == "denied":
        return (one_line(call.text) if folded else "") or "denied"
    if isinstance(call.view, TodoView) and call.summary:
        return ""  # the summary counts them
    if call.status == "failed" and (view := _framed_view(call)):
        return error_line(view.text) if folded else "failed"
    if call.view is not None and (words := _view_outcome(call.view, running=call.status == "running")):
        return words
    if call.status == "failed":
        return error_line(call.text, call.summary) if folded else "failed"
    return _size_of(call.text)


def _view_outcome(view: View, *, running: bool) -> str:
    match view:
        case DiffView():
            added, removed = diff_stat(view)
            return f"+{added} −{removed}"
        case TerminalView():
            return _terminal_outcome(view, running=running)
        case ListingView(_, entries, total):
            one, many = ("match", "matches") if entries and _PLACE.search(entries[0]) else ("entry", "entries")
            return f"{total:,} {one if total == 1 else many}"
        case TodoView(items):
            return f"{sum(item.status == 'completed' for item in items)}/{len(items)} done"
        case ImageView(_, _, width, height):
            return f"{width}×{height}" if width else ""
        case TextView(text):
            return one_line(text.rstrip().rpartition("\n")[2]) if running else _size_of(text)


def _terminal_outcome(view: TerminalView, *, running: bool) -> str:
    if running:
        return one_line(view.output.rstrip().rpartition("\n")[2])
    if view.note:
        return view.note
    code = view.exit_code
    return f"exit {code}" if code else _size_of(view.output) or ("no output" if code == 0 else "")


def _size_of(text: str) -> str:
    """Return the number of lines, or the changes in a diff of git; a short line itself."""
    if text.startswith(_GIT_DIFF):
        return _changes_in(text.split("\n"))
    stripped = text.strip("\n")
    lines = stripped.count("\n") + 1 if stripped else 0
    if lines == 1 and len(stripped) <= 60:
        return one_line(stripped)
    return f"{lines:,} {'line' if lines == 1 else 'lines'}" if lines else ""


def _changes_in(diff: list[str]) -> str:
    files = [line for line in diff if line.startswith(_GIT_DIFF)]
    added, removed = (
        sum(line.startswith(sign) and not line.startswith(f"{sign * 3} ") for line in diff) for sign in "+-"
    )
    what = one_line(files[0].rpartition(" b/")[2]) if len(files) == 1 else f"{len(files):,} files"
    return f"{what} +{added} −{removed}"


def body_lines(call: ToolCallState, styles: BlockStyles, width: int, *, is_brief: bool = False) -> list[StyledLine]:
    """Return the indented body of a call.

    `is_brief` shows only the end of its output, or the start of a listing; changes stay complete.
    """
    view, text, inner = call.view, call.text, max(8, width - 4)
    if is_brief:
        view, text = view and _brief_view(view), _ending(text)
    if call.is_markdown and isinstance(view, TextView):
        lines = reply_lines(ReplyBlock(view.text), styles, inner)
    else:
        lines = _view_lines(view, styles, inner) if view is not None else []
    if not lines and text.strip():
        # Error messages are prose: they are wrapped between words.
        wrap = wrap_runs if call.status in ("failed", "denied") else chop_runs
        rows, more = first_lines(text)
        lines = [*wrap(_output(rows, styles), inner), *_more(more, styles, inner)]
    if view is not None and text.strip() and _has_error_text(call):
        lines = [*lines, *wrap_runs([(plain_output(text.strip()), styles.on_base("failed"))], inner)]
    edge = ("    ", styles.base)
    return indented(lines or [plain_line(truncated("(no output)", inner), styles.on_base("muted"))], edge, edge)


def _view_lines(view: View, styles: BlockStyles, width: int) -> list[StyledLine]:
    match view:
        case DiffView():
            return _diff_lines(view, styles, width)
        case TerminalView():
            return _terminal_lines(view, styles, width)
        case ListingView():
            return _listing_lines(view, styles, width)
        case TodoView():
            return _todo_lines(view, styles, width)
        case ImageView():
            size = f" · {view.width}×{view.height}" if view.width else ""
            return frame((view.path, f"{view.media_type}{size}"), styles, width)
        case TextView(text, language):
            return _text_lines(text, language, styles, width)


def _text_lines(text: str, language: str, styles: BlockStyles, width: int) -> list[StyledLine]:
    rows, more = first_lines(text)
    if language:
        lines = filled(chop_runs(code_runs(rows, language, styles), width), styles.on_base("code-block"))
    else:
        lines = chop_runs(_output(rows, styles), width)
    return [*lines, *_more(more, styles, width)]


def _terminal_lines(view: TerminalView, styles: BlockStyles, width: int) -> list[StyledLine]:
    command = wrap_runs([(f"$ {expand_tabs(escape_controls(view.command))}", styles.on_base("command"))], width)
    rows = plain_output(view.output).rstrip().split("\n") if view.output.strip() else []
    hidden = max(0, len(rows) - LONGEST)
    output = "\n".join(map(expand_tabs, rows[hidden:]))
    lines = [
        *command,
        *_more(hidden, styles, width),
        *(chop_runs(_output(output, styles), width) if rows else []),
    ]
    ending = view.note or (f"exit {view.exit_code}" if view.exit_code else "")
    if ending:
        lines.append(plain_line(truncated(ending, width), styles.on_base("muted" if view.job_id else "failed")))
    return lines


def _output(text: str, styles: BlockStyles) -> list[Run]:
    # Output often consists of links; underlining all of them would be noise.
    return linked([(text, styles.on_base("muted"))], styles.options.root, Style.null())


def _listing_lines(view: ListingView, styles: BlockStyles, width: int) -> list[StyledLine]:
    shown = view.entries[:LONGEST]
    text = "\n".join(expand_tabs(escape_controls(entry).replace("\n", "␊")) for entry in shown)
    lines = chop_runs(linked([(text, styles.base)], styles.options.root, Style.null()), width)
    return [*(lines if shown else []), *_more(max(view.total, len(view.entries)) - len(shown), styles, width)]


def _todo_lines(view: TodoView, styles: BlockStyles, width: int) -> list[StyledLine]:
    lines: list[StyledLine] = []
    for item in view.items:
        style = styles.base if item.status == "in_progress" else styles.on_base("muted")
        text = wrap_runs([(one_line(item.content), style)], width - 4)
        lines.extend(indented(text, (f"{TODO_MARKS[item.status]} ", style), ("    ", style)))
    return lines


def _diff_lines(view: DiffView, styles: BlockStyles, width: int) -> list[StyledLine]:
    texts = diff_lines(view, width, styles.diff, limit=LONGEST_DIFF)
    lines = [StyledLine(tuple(Segment(*run) for run in text_runs(text, styles.base))) for text in texts]
    for text, style in ((view.notes, styles.on_base("info")), (view.problems, styles.on_base("failed"))):
        lines += wrap_runs([(plain_output(text), style)], width) if text else []
    return lines


def first_lines(text: str) -> tuple[str, int]:
    """Return the first lines of output, and the number of further lines."""
    rows = plain_output(text).strip("\n").split("\n")
    return "\n".join(rows[:LONGEST]), max(0, len(rows) - LONGEST)


def _more(count: int, styles: BlockStyles, width: int) -> list[StyledLine]:
    text = truncated(f"… {count:,} more {'line' if count == 1 else 'lines'}", width)
    return [plain_line(text, styles.on_base("muted"))] if count > 0 else []


def _has_error_text(call: ToolCallState) -> bool:
    """Return True if the text of the call is an error shown below its view.

    The view of a command contains it, and so does that of text from elsewhere, which only models need framed.
    """
    return call.status == "failed" and not isinstance(call.view, TerminalView) and not _framed_view(call)


def _framed_view(call: ToolCallState) -> TextView | None:
    """Return the view of a call whose text is framed for the model; None for other calls."""
    return call.view if isinstance(call.view, TextView) and is_framed(call.text) else None


def body_text(call: ToolCallState) -> str:
    """Return the text of a call's body, truncated as on the screen."""
    text = _view_text(call.view) if call.view is not None else ""
    result = call.text.strip()
    if not text:
        return first_lines(result)[0]
    return f"{text}\n{plain_output(result)}" if _has_error_text(call) else text


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
            return first_lines(text)[0]
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
