"""Image drawing: kitty graphics, half blocks, or a frame with the name."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from cinch_tui.rendering.safe_text import one_line
from cinch_tui.transcript.block import Block, Part
from cinch_tui.transcript.lines import Line, Run, plain_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cinch_tui.transcript.image import Cells, Colour, Picture
    from cinch_tui.transcript.styles import BlockStyles

EDGE = 4


class PicturePart(Part):
    """Part with an image. Its height does not change when the image is decoded."""

    __slots__ = ("picture",)

    def __init__(self, picture: Picture) -> None:
        super().__init__()
        self.picture = picture

    def cells(self, look: BlockStyles, width: int) -> Cells | None:
        """Return the size of the image; None if only a frame with the name is shown."""
        return self.picture.cells(width - EDGE) if look.ways.images != "off" else None

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        picture = self.picture
        cells = self.cells(look, width)
        if cells is None:
            return [_indented(line, look) for line in frame((picture.name, picture.caption), look, width - EDGE)]
        if look.ways.images == "kitty":
            # Late import: few terminals support it.
            from cinch_tui.transcript.kitty_graphics import picture_lines

            lines = picture_lines(picture.number, cells, look.base)
        elif len(picture.points) == 2 * cells.rows and len(picture.points[0]) == cells.columns:
            points = picture.points
            lines = [_block_line(points[row], points[row + 1], look) for row in range(0, 2 * cells.rows, 2)]
        else:
            lines = _empty(cells, look)
        words = set_cell_size(one_line(f"{picture.name} · {picture.caption}"), width - EDGE).rstrip()
        return [_indented(line, look) for line in (*lines, plain_line(words, look.on_base("muted")))]

    def guess(self, width: int) -> int:
        cells = self.picture.cells(width - EDGE)
        return cells.rows + 1 if cells else 4


class PictureBlock(Block):
    """Image sent by the user."""

    def __init__(self, picture: Picture) -> None:
        super().__init__()
        self.picture = picture

    @property
    def source(self) -> str:
        return self.picture.label

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return (self.picture,)

    def make_parts(self) -> list[Part]:
        return [PicturePart(self.picture)]


def frame(words: tuple[str, ...], look: BlockStyles, width: int) -> list[Line]:
    """Return a frame with text in place of an image."""
    said = [_fitted(one_line(text), width - 4) for text in words]
    inner = max(cell_len(text) for text in said) + 2
    edge = look.on_base("rule")
    rows = [
        Line((Segment("│ ", edge), Segment(set_cell_size(text, inner - 2), look.base), Segment(" │", edge)), gutter=2)
        for text in said
    ]
    return [plain_line(f"╭{'─' * inner}╮", edge), *rows, plain_line(f"╰{'─' * inner}╯", edge)]


def _fitted(text: str, cells: int) -> str:
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip() + "…" if cells > 1 else ""


def _indented(line: Line, look: BlockStyles) -> Line:
    gutter = Segment(" " * EDGE, look.base)
    return Line((gutter, *line.segments), line.gutter + EDGE, line.end, line.fill)


def _empty(cells: Cells, look: BlockStyles) -> list[Line]:
    """Return an empty frame until the image is decoded."""
    edge = look.on_base("rule")
    if cells.columns < 2 or cells.rows < 2:
        return [plain_line("░" * cells.columns, edge)] * cells.rows
    inner = cells.columns - 2
    rows = [f"╭{'─' * inner}╮", *[f"│{' ' * inner}│"] * (cells.rows - 2), f"╰{'─' * inner}╯"]
    return [Line((Segment(row, edge),), gutter=len(row), end="") for row in rows]


def _block_line(upper: Sequence[Colour], lower: Sequence[Colour], look: BlockStyles) -> Line:
    """Combine two rows of pixels into one row of cells."""
    runs: list[Run] = []
    for (above, below), same in groupby(zip(upper, lower, strict=True)):
        runs.append(_half_blocks(above, below, len(list(same)), look))
    length = len(upper)
    return Line(tuple(Segment(text, style) for text, style in runs), gutter=length, end="")


def _half_blocks(above: Colour, below: Colour, count: int, look: BlockStyles) -> Run:
    if above == below:
        return " " * count, look.base + Style(bgcolor=_rgb(below)) if below else look.base
    if above is None:
        return "▄" * count, look.base + Style(color=_rgb(below))
    return "▀" * count, look.base + Style(color=_rgb(above), bgcolor=_rgb(below))


def _rgb(colour: Colour) -> Color | None:
    return Color.from_rgb(*colour) if colour else None
