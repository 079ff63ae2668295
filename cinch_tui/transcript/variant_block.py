"""Block of a parallel variant: one of several answers to the same prompt, labeled with its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from rich.style import Style

from cinch_tui.rendering.safe_text import one_line
from cinch_tui.transcript.block import Part
from cinch_tui.transcript.lines import Line, indented, wrap_runs
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
        self._folded = False
        self._begun_at = 0
        super().__init__()

    @property
    def searched(self) -> str:
        return f"{self.name}\n{self.source}"

    @property
    def foldable(self) -> bool:
        return self.finished

    @property
    def folded(self) -> bool:
        return self._folded

    @folded.setter
    def folded(self, folded: bool) -> None:
        self._folded = folded
        self.redraw()

    def label(self, state: BranchState, note: str = "") -> None:
        """Set the state and a note."""
        self.state = state
        self.note = one_line(escape_controls(note))
        self.redraw()

    def begin_reply(self) -> None:
        """Mark the start of a reply that `drop_reply` can discard."""
        self._begun_at = len(self.source)

    def drop_reply(self) -> None:
        """Discard the text since `begin_reply`, because the reply is retried."""
        kept = self.source[: self._begun_at]
        self.discard()
        self.append(kept)

    def guess(self, width: int) -> int:
        if self._opened_for == width:
            return self.heights.total
        return self.gap + 1 if self.folded or not self._length else super().guess(width) + 1

    def make_parts(self) -> list[Part]:
        label: list[Part] = [_Label(self)]
        return label if self.folded else [*label, *super().make_parts()]

    def _settled(self, before: list[Part]) -> list[Part]:
        return super()._settled(_below_label(before))

    def _unfinished(self, before: list[Part]) -> PiecePart | None:
        return super()._unfinished(_below_label(before))

    def advance(self, look: BlockStyles, width: int) -> bool:
        if not self.folded:
            return super().advance(look, width)
        self.open(look, width)
        return False


def _below_label(parts: list[Part]) -> list[Part]:
    """Return the parts without the label."""
    return [part for part in parts if not isinstance(part, _Label)]


class _Label(Part):
    __slots__ = ("_block",)

    def __init__(self, block: VariantBlock) -> None:
        super().__init__()
        self._block = block

    @property
    def text(self) -> str:
        return self._block.name

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        block = self._block
        mark, style = _MARKS[block.state]
        if block.foldable:
            mark = f"{'▸' if block.folded else '▾'} {mark}"
        cursor = look["cursor"] if block.selected else Style.null()
        note = f"  {block.note}" if block.note else ""
        runs = [(block.name, look.on_base("label") + cursor), (note, look.on_base("metric") + cursor)]
        first = wrap_runs(runs, max(1, width - len(mark)))[:1]
        (line,) = indented(first, (mark, look.on_base(style) + cursor), ("", look.base))
        return [Line(line.segments, line.gutter, line.end, look.base + cursor)]

    def guess(self, width: int) -> int:
        return 1
