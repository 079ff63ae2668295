"""Drawing of tool calls: the header line and the unfolded body."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from cinch_tui.rendering.diff import diff_lines, diff_stat
from cinch_tui.rendering.safe_text import expand_tabs, one_line, plain_output
from cinch_tui.transcript.code import code_runs, text_runs
from cinch_tui.transcript.image_block import frame
from cinch_tui.transcript.lines import Line, Run, chop_runs, indented, plain_line, wrap_runs
from cinch_tui.transcript.links import linked
from cinch_tui.transcript.replies import ReplyBlock, reply_lines
from harness.terminal_text import escape_controls
from harness.views import DiffView, ImageView, ListingView, TerminalView, TextView, TodoView, View

if TYPE_CHECKING:
    from cinch_tui.transcript.styles import BlockStyles
    from cinch_tui.transcript.tool_call_state import ToolCallState, ToolStatus

LONGEST = 200
LONGEST_DIFF = 50
"""Maximum lines of a change in the transcript; `/diff` shows all of it."""
FIRST_LINE = 60
"""Maximum cells of the first output line in a folded call."""
LEAST_FIRST_LINE = 8
LONGEST_LOOKED_AT = 2_000
GLYPHS: dict[ToolStatus, str] = {"waiting": "○", "running": "◐", "done": "✓", "failed": "✗", "denied": "⊘"}
# Marks a search result as `path:line:`; other listings contain names.
_PLACE = re.compile(r":\d+:")
TODO_MARKS = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}


def header_line(call: ToolCallState, look: BlockStyles, width: int, *, folded: bool, selected: bool) -> Line:
    """Return the one-line summary: state, tool, arguments, outcome."""
    state = look.on_base(call.outcome)
    mark = f"{'▸' if folded else '▾'} {GLYPHS[call.outcome]} "
    label = fitted(one_line(call.label), width - cell_len(mark))
    room = width - cell_len(mark + label)
    summary = one_line(call.summary)
    # Arguments and outcome share the width if both do not fit.
    limit = max(0, room // 2, room - cell_len(summary) - 1)
    result = _result(first_line(call) if folded else "", metric(call, folded=folded), limit - 2)
    summary = fitted(summary, room - (cell_len(result) + 2 if result else 0) - 1)
    runs: list[Run] = [
        (mark, state),
        (label, look.on_base("label")),
        (f" {summary}" if summary else "", look.base),
        (f"  {result}" if result else "", look.on_base("metric")),
    ]
    cursor = look["cursor"] if selected else Style.null()
    segments = tuple(Segment(text, style + cursor) for text, style in runs if text)
    return Line(segments, gutter=2, fill=look.base + cursor)


def fitted(text: str, cells: int) -> str:
    """Truncate `text` to `cells`, with an ellipsis."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip() + "…" if cells > 1 else ""


def _result(first: str, counts: str, cells: int) -> str:
    """Join the first line of output and the metric; the line is truncated first, or omitted if little of it fits."""
    spare = cells - cell_len(f" · {counts}")
    if not first or counts.startswith(first) or spare < min(LEAST_FIRST_LINE, cell_len(first)):
        return fitted(counts, cells)
    return f"{fitted(first, min(spare, FIRST_LINE))} · {counts}" if counts else fitted(first, min(cells, FIRST_LINE))


def first_line(call: ToolCallState) -> str:
    """Return the first output line of a finished call; empty for changes, which are shown completely, and failures."""
    if call.status != "done":
        return ""
    match call.view:
        case TerminalView(output=text) | TextView(text):
            start = text
        case ListingView(_, entries):
            start = entries[0] if entries else ""
        case None:
            start = call.text
        case _:
            return ""
    return one_line(start[:LONGEST_LOOKED_AT].lstrip().partition("\n")[0])


def metric(call: ToolCallState, *, folded: bool = True) -> str:
    """Return a short outcome; without the error text if the unfolded call shows it below."""
    words = [_outcome(call, folded=folded)]
    # The note contains the duration.
    has_note = isinstance(call.view, TerminalView) and call.view.note
    if call.duration is not None and call.duration >= 1 and not has_note:
        words.append(
            f"{call.duration:.1f}s"
            if call.duration < 60
            else f"{int(call.duration) // 60}m{int(call.duration) % 60:02}s"
        )
    return " · ".join(word for word in words if word)


def _outcome(call: ToolCallState, *, folded: bool) -> str:
    if call.status == "waiting":
        return ""
    if call.status == "denied":
        return (one_line(call.text) if folded else "") or "denied"
    if isinstance(call.view, TodoView) and call.summary:
        return ""  # the summary counts them
    if call.view is not None and (words := _view_outcome(call.view, running=call.status == "running")):
        return words
    if call.status == "failed":
        return one_line(call.text.strip().partition("\n")[0]) if folded else "failed"
    return count_lines(call.text)


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
            return one_line(text.rstrip().rpartition("\n")[2]) if running else count_lines(text)


def _terminal_outcome(view: TerminalView, *, running: bool) -> str:
    if running:
        return one_line(view.output.rstrip().rpartition("\n")[2])
    if view.note:
        return view.note
    code = view.exit_code
    return f"exit {code}" if code else count_lines(view.output) or ("no output" if code == 0 else "")


def count_lines(text: str) -> str:
    stripped = text.strip("\n")
    lines = stripped.count("\n") + 1 if stripped else 0
    if lines == 1 and len(stripped) <= 60:
        return one_line(stripped)
    return f"{lines:,} {'line' if lines == 1 else 'lines'}" if lines else ""


def body_lines(call: ToolCallState, look: BlockStyles, width: int) -> list[Line]:
    """Return the indented body of a call."""
    inner = max(8, width - 4)
    if call.is_markdown and isinstance(call.view, TextView):
        lines = reply_lines(ReplyBlock(call.view.text), look, inner)
    else:
        lines = _view_lines(call.view, look, inner) if call.view is not None else []
    if not lines and call.text.strip():
        is_prose = call.status in ("failed", "denied")
        lines = _prose_lines(call.text, look, inner) if is_prose else _text_lines(call.text, "", look, inner)
    if (
        call.status == "failed"
        and call.view is not None
        and call.text.strip()
        and not isinstance(call.view, TerminalView)
    ):
        lines = [*lines, *wrap_runs([(plain_output(call.text.strip()), look.on_base("failed"))], inner)]
    edge = ("    ", look.base)
    return indented(lines or [plain_line(fitted("(no output)", inner), look.on_base("muted"))], edge, edge)


def _view_lines(view: View, look: BlockStyles, width: int) -> list[Line]:
    match view:
        case DiffView():
            return _diff_lines(view, look, width)
        case TerminalView():
            return _terminal_lines(view, look, width)
        case ListingView():
            return _listing_lines(view, look, width)
        case TodoView():
            return _todo_lines(view, look, width)
        case ImageView():
            size = f" · {view.width}×{view.height}" if view.width else ""
            return frame((view.path, f"{view.media_type}{size}"), look, width)
        case TextView(text, language):
            return _text_lines(text, language, look, width)


def _text_lines(text: str, language: str, look: BlockStyles, width: int) -> list[Line]:
    rows, more = first_lines(plain_output(text).strip("\n"))
    if not language:
        return [*chop_runs(_output(rows, look), width), *_more(more, look, width)]
    fill = look.on_base("code-block")
    lines = chop_runs(code_runs(rows, language, look), width)
    return [*(Line(line.segments, line.gutter, line.end, fill) for line in lines), *_more(more, look, width)]


def _prose_lines(text: str, look: BlockStyles, width: int) -> list[Line]:
    """Word-wrap an error message."""
    rows, more = first_lines(plain_output(text).strip("\n"))
    return [*wrap_runs(_output(rows, look), width), *_more(more, look, width)]


def _terminal_lines(view: TerminalView, look: BlockStyles, width: int) -> list[Line]:
    command = wrap_runs([(f"$ {expand_tabs(escape_controls(view.command))}", look.on_base("command"))], width)
    rows = plain_output(view.output).rstrip().split("\n") if view.output.strip() else []
    hidden = max(0, len(rows) - LONGEST)
    output = "\n".join(map(expand_tabs, rows[hidden:]))
    lines = [
        *command,
        *_more(hidden, look, width),
        *(chop_runs(_output(output, look), width) if rows else []),
    ]
    ending = view.note or (f"exit {view.exit_code}" if view.exit_code else "")
    if ending:
        lines.append(plain_line(fitted(ending, width), look.on_base("failed")))
    return lines


def _output(text: str, look: BlockStyles) -> list[Run]:
    # Output often consists of links; underlining all of them would be noise.
    return linked([(text, look.on_base("muted"))], look.ways.root, Style.null())


def _listing_lines(view: ListingView, look: BlockStyles, width: int) -> list[Line]:
    shown = view.entries[:LONGEST]
    text = "\n".join(expand_tabs(escape_controls(entry).replace("\n", "␊")) for entry in shown)
    lines = chop_runs(linked([(text, look.base)], look.ways.root, Style.null()), width)
    return [*(lines if shown else []), *_more(max(view.total, len(view.entries)) - len(shown), look, width)]


def _todo_lines(view: TodoView, look: BlockStyles, width: int) -> list[Line]:
    lines: list[Line] = []
    for item in view.items:
        style = look.base if item.status == "in_progress" else look.on_base("muted")
        text = wrap_runs([(one_line(item.content), style)], width - 4)
        lines.extend(indented(text, (f"{TODO_MARKS[item.status]} ", style), ("    ", style)))
    return lines


def _diff_lines(view: DiffView, look: BlockStyles, width: int) -> list[Line]:
    texts = diff_lines(view, width, look.diff, limit=LONGEST_DIFF)
    return [Line(tuple(Segment(*run) for run in text_runs(text, look.base))) for text in texts]


def first_lines(text: str) -> tuple[str, int]:
    rows = text.split("\n")
    return "\n".join(rows[:LONGEST]), max(0, len(rows) - LONGEST)


def _more(count: int, look: BlockStyles, width: int) -> list[Line]:
    return (
        [plain_line(fitted(f"… {count:,} more {'line' if count == 1 else 'lines'}", width), look.on_base("muted"))]
        if count > 0
        else []
    )
