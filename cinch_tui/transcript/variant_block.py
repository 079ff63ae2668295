"""Block of a parallel variant: one of several answers to the same prompt, labeled with its model."""

from __future__ import annotations

from typing import Literal, TypeAlias

from rich.style import Style

from cinch_tui.rendering.safe_text import one_line
from cinch_tui.transcript.block import BlockPart, FunctionPart, TranscriptBlock
from cinch_tui.transcript.lines import StyledLine, filled, indented, wrap_runs
from cinch_tui.transcript.replies import PiecePart, ReplyBlock
from cinch_tui.transcript.styles import BlockStyles, StyleName
from harness.terminal_text import escape_controls

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
        self._label: BlockPart | None = None
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
        self._label = FunctionPart(self._draw_label, text=lambda: self.name)
        return [self._label] if self.folded else [self._label, *super().make_parts()]

    def _settled(self, before: list[BlockPart]) -> list[BlockPart]:
        return super()._settled(self._below_label(before))

    def _unfinished(self, before: list[BlockPart]) -> PiecePart | None:
        return super()._unfinished(self._below_label(before))

    def _below_label(self, parts: list[BlockPart]) -> list[BlockPart]:
        return [part for part in parts if part is not self._label]

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
        return filled(indented(first, (mark, styles.on_base(style) + cursor), ("", styles.base)), styles.base + cursor)
