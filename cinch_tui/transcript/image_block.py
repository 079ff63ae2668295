"""Image drawing: kitty graphics, half blocks, or a frame with the name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from cinch_tui.rendering.safe_text import one_line
from cinch_tui.transcript.block import BlockPart, TranscriptBlock
from cinch_tui.transcript.image import Cells, Colour, TranscriptImage
from cinch_tui.transcript.lines import Run, StyledLine, indented, plain_line, truncated
from cinch_tui.transcript.styles import BlockStyles

EDGE = 4


class ImagePart(BlockPart):
    """Part with an image. Its height does not change when the image is decoded."""

    __slots__ = ("image",)

    def __init__(self, image: TranscriptImage) -> None:
        super().__init__()
        self.image = image

    def cells(self, styles: BlockStyles, width: int) -> Cells | None:
        """Return the size of the image; None if only a frame with the name is shown."""
        return self.image.cells(width - EDGE) if styles.options.images != "off" else None

    def draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        image = self.image
        cells, edge = self.cells(styles, width), (" " * EDGE, styles.base)
        if cells is None:
            return indented(frame((image.name, image.caption), styles, width - EDGE), edge, edge)
        if styles.options.images == "kitty":
            # Late import: few terminals support it.
            from cinch_tui.transcript.terminal_images import placeholder_lines

            lines = placeholder_lines(image.number, cells, styles.base)
        elif len(image.pixels) == 2 * cells.rows and len(image.pixels[0]) == cells.columns:
            points = image.pixels
            lines = [_block_line(points[row], points[row + 1], styles) for row in range(0, 2 * cells.rows, 2)]
        else:
            lines = _empty(cells, styles)
        words = set_cell_size(one_line(f"{image.name} · {image.caption}"), width - EDGE).rstrip()
        return indented((*lines, plain_line(words, styles.on_base("muted"))), edge, edge)

    def guess(self, width: int) -> int:
        cells = self.image.cells(width - EDGE)
        return cells.rows + 1 if cells else 4


class ImageBlock(TranscriptBlock):
    """Image sent by the user."""

    def __init__(self, image: TranscriptImage) -> None:
        super().__init__()
        self.image = image
        self.images = (image,)

    @property
    def source(self) -> str:
        return self.image.label

    def make_parts(self) -> list[BlockPart]:
        return [ImagePart(self.image)]


def frame(words: tuple[str, ...], styles: BlockStyles, width: int) -> list[StyledLine]:
    """Return a frame with text in place of an image."""
    rows = [truncated(one_line(text), width - 4) for text in words]
    inner = max(map(cell_len, rows))
    edge = styles.on_base("rule")
    left, right = Segment("│ ", edge), Segment(" │", edge)
    lines = [StyledLine((left, Segment(set_cell_size(row, inner), styles.base), right), gutter=2) for row in rows]
    return [plain_line(f"╭{'─' * (inner + 2)}╮", edge), *lines, plain_line(f"╰{'─' * (inner + 2)}╯", edge)]


def _empty(cells: Cells, styles: BlockStyles) -> list[StyledLine]:
    """Return an empty frame until the image is decoded."""
    edge = styles.on_base("rule")
    if cells.columns < 2 or cells.rows < 2:
        return [plain_line("░" * cells.columns, edge)] * cells.rows
    inner = cells.columns - 2
    rows = [f"╭{'─' * inner}╮", *[f"│{' ' * inner}│"] * (cells.rows - 2), f"╰{'─' * inner}╯"]
    return [StyledLine((Segment(row, edge),), gutter=len(row), end="") for row in rows]


def _block_line(upper: Sequence[Colour], lower: Sequence[Colour], styles: BlockStyles) -> StyledLine:
    """Combine two rows of pixels into one row of cells."""
    cells = groupby(zip(upper, lower, strict=True))
    runs = (_half_blocks(above, below, len(list(same)), styles) for (above, below), same in cells)
    return StyledLine(tuple(Segment(text, style) for text, style in runs), gutter=len(upper), end="")


def _half_blocks(above: Colour, below: Colour, count: int, styles: BlockStyles) -> Run:
    if above == below:
        return " " * count, styles.base + Style(bgcolor=_rgb(below)) if below else styles.base
    if above is None:
        return "▄" * count, styles.base + Style(color=_rgb(below))
    return "▀" * count, styles.base + Style(color=_rgb(above), bgcolor=_rgb(below))


def _rgb(colour: Colour) -> Color | None:
    return Color.from_rgb(*colour) if colour else None
