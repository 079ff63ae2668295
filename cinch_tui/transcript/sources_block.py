"""Block with the sources of a reply."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from rich.style import Style

from cinch_tui.transcript.block import BlockPart, FunctionPart, TranscriptBlock
from cinch_tui.transcript.lines import StyledLine, indented, plain_line, wrap_runs
from cinch_tui.transcript.styles import BlockStyles
from harness.context.citations import Source, sources_text
from harness.terminal_text import escape_controls

# Longer lists are folded.
FEW = 5


class SourcesBlock(TranscriptBlock):
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
    def shown(self) -> Sequence[Source]:
        return self.sources[:FEW] if self._folded else self.sources

    def guess(self, width: int) -> int:
        return self.heights.total if self._open_width == width else self.gap + 1 + len(self.shown)

    def make_parts(self) -> list[BlockPart]:
        # One part, so that a click on any line without a link toggles the list.
        return [
            FunctionPart(self._draw, lambda _: 1 + len(self.shown), lambda: escape_controls(sources_text(self.shown)))
        ]

    def _draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        dim = styles.on_base("muted")
        cursor = styles["cursor"] if self.selected else Style.null()
        mark = ("▸ " if self.folded else "▾ ") if self.foldable else ""
        digits = len(str(max((each.number for each in self.shown), default=0)))
        lines = [plain_line(f"{mark}Sources", dim + cursor)]
        for source in self.shown:
            lines.extend(_source_lines(source, digits, styles, width))
        if rest := len(self.sources) - len(self.shown):
            lines.append(plain_line(f"  … {rest} more", dim))
        return lines


def _source_lines(source: Source, digits: int, styles: BlockStyles, width: int) -> list[StyledLine]:
    dim = styles.on_base("muted")
    label, host = escape_controls(source.label), escape_controls(source.host)
    linked = dim + Style(underline=True, link=source.link) if source.link else dim
    where = f" – {host}" if host and host not in label else ""
    number = f"  {source.number:>{digits}} "
    lines = indented(
        wrap_runs([(label, linked), (where, dim)], max(1, width - len(number))),
        (number, dim),
        (" " * len(number), dim),
    )
    # The number is part of the text, the indentation below it is not.
    lines[0] = replace(lines[0], gutter=2)
    # A copied line includes the URL.
    lines[-1] = replace(lines[-1], end=f" {source.link}\n" if source.link else "\n")
    return lines
