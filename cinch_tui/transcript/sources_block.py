"""Block with the sources of a reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.style import Style

from cinch_tui.transcript.block import Block, Part
from cinch_tui.transcript.lines import Line, indented, plain_line, wrap_runs
from harness.context.citations import sources_text
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.transcript.styles import BlockStyles
    from harness.context.citations import Source

# Longer lists are folded.
FEW = 5


class SourcesBlock(Block):
    """Numbered links; a long list is folded to its first entries."""

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__()
        self.sources = tuple(sources)
        self._folded = len(self.sources) > FEW

    @property
    def source(self) -> str:
        return escape_controls(sources_text(self.sources))

    @property
    def foldable(self) -> bool:
        return len(self.sources) > FEW

    @property
    def folded(self) -> bool:
        return self._folded

    @folded.setter
    def folded(self, folded: bool) -> None:
        self._folded = folded

    @property
    def shown(self) -> Sequence[Source]:
        return self.sources[:FEW] if self._folded else self.sources

    def guess(self, width: int) -> int:
        return self.heights.total if self._opened_for == width else self.gap + 1 + len(self.shown)

    def make_parts(self) -> list[Part]:
        return [_SourcesPart(self)]


class _SourcesPart(Part):
    """The list as one part, so that a click on any line without a link toggles it."""

    __slots__ = ("_block",)

    def __init__(self, block: SourcesBlock) -> None:
        super().__init__()
        self._block = block

    @property
    def text(self) -> str:
        return escape_controls(sources_text(self._block.shown))

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        block = self._block
        dim = look.on_base("muted")
        cursor = look["cursor"] if block.selected else Style.null()
        mark = ("▸ " if block.folded else "▾ ") if block.foldable else ""
        digits = len(str(max((each.number for each in block.shown), default=0)))
        lines = [plain_line(f"{mark}Sources", dim + cursor)]
        for source in block.shown:
            lines.extend(_source_lines(source, digits, look, width))
        if rest := len(block.sources) - len(block.shown):
            lines.append(plain_line(f"  … {rest} more", dim))
        return lines

    def guess(self, width: int) -> int:
        return 1 + len(self._block.shown)


def _source_lines(source: Source, digits: int, look: BlockStyles, width: int) -> list[Line]:
    dim = look.on_base("muted")
    label, host = escape_controls(source.label), escape_controls(source.host)
    linked = dim + Style(underline=True, link=source.link) if source.link else dim
    where = f" – {host}" if host and host not in label else ""
    number = f"  {source.number:>{digits}} "
    lines = indented(
        wrap_runs([(label, linked), (where, dim)], max(1, width - len(number))),
        (number, dim),
        (" " * len(number), dim),
    )
    # A copied line includes the URL.
    address = f" {source.link}\n" if source.link else "\n"
    # The number is part of the text, the indentation below it is not.
    first = replace(lines[0], gutter=2)
    lines = [first, *lines[1:]]
    return [*lines[:-1], replace(lines[-1], end=address)]
