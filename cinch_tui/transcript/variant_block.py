"""Block of a parallel variant: one of several answers to the same prompt, labeled with its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from rich.style import Style

from cinch_tui.rendering.safe_text import one_line
from cinch_tui.transcript.block import BlockPart, FunctionPart, TranscriptBlock
from cinch_tui.transcript.lines import StyledLine, indented, wrap_runs
from cinch_tui.transcript.replies import PiecePart, ReplyBlock
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.transcript.styles import BlockStyles, StyleName

BranchState: TypeAlias = Literal["running", "done", "failed", "chosen", "left"]

_MARKS: dict[BranchState, tuple[str, StyleName]] = {
    "running": ("◇ ", "running"),
    "done": ("◆ ", "done"),
    "failed": ("✗ ", "failed"),
    "chosen": ("✓ ", "done"),
    "left": ("◇ ", "muted"),
}


class VariantBlock(ReplyBlock):
    """A streamed reply below its label; foldable once it is finished. Update it, then notify the view."""

    def __init__(self, name: str) -> None:
        self.name = one_line(escape_controls(name))
        self.state: BranchState = "running"
        self.note = ""
        self._begun_at = 0
        super().__init__()

    @property
    def search_text(self) -> str:
        return f"{self.name}\n{self.source}"

    @property
    def foldable(self) -> bool:
        return self.finished

    def label(self, state: BranchState, note: str = "") -> None:
        """Set the state and a note."""
        self.state = state
        self.note = one_line(escape_controls(note))
        self.invalidate()

    def begin_reply(self) -> None:
        """Mark the start of a reply that `drop_reply` can discard."""
        self._begun_at = len(self.source)

    def drop_reply(self) -> None:
        """Discard the text since `begin_reply`, because the reply is retried."""
        kept = self.source[: self._begun_at]
        self.discard()
        self.append(kept)

    def guess(self, width: int) -> int:
        if self._open_width == width:
            return self.heights.total
        return self.gap + 1 if self.folded or not self._length else super().guess(width) + 1

    def make_parts(self) -> list[BlockPart]:
        label: list[BlockPart] = [_Label(self._draw_label, text=lambda: self.name)]
        return label if self.folded else [*label, *super().make_parts()]

    def _settled(self, before: list[BlockPart]) -> list[BlockPart]:
        return super()._settled(_below_label(before))

    def _unfinished(self, before: list[BlockPart]) -> PiecePart | None:
        return super()._unfinished(_below_label(before))

    def advance(self, styles: BlockStyles, width: int) -> bool:
        return TranscriptBlock.advance(self, styles, width) if self.finished else super().advance(styles, width)

    def _draw_label(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        mark, style = _MARKS[self.state]
        if self.foldable:
            mark = f"{'▸' if self.folded else '▾'} {mark}"
        cursor = styles["cursor"] if self.selected else Style.null()
        note = f"  {self.note}" if self.note else ""
        runs = [(self.name, styles.on_base("label") + cursor), (note, styles.on_base("metric") + cursor)]
        first = wrap_runs(runs, max(1, width - len(mark)))[:1]
        (line,) = indented(first, (mark, styles.on_base(style) + cursor), ("", styles.base))
        return [StyledLine(line.segments, line.gutter, line.end, styles.base + cursor)]


def _below_label(parts: list[BlockPart]) -> list[BlockPart]:
    """Return the parts without the label."""
    return [part for part in parts if not isinstance(part, _Label)]


class _Label(FunctionPart):
    """First part of a variant."""

    __slots__ = ()
