"""Pictures decoded, small enough for where they are shown. Work for a thread."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from cinch_tui.transcript.picture import Cells, Colour, Picture

# What a cell has in pixels on a fine screen; a picture with more is only more to send.
FINE_WIDTH, FINE_HEIGHT = 12, 24
# A decoded picture takes four bytes for each.
MOST_PIXELS = 64_000_000
# More than this is sent with fewer colours: over ssh it would hold up what is typed.
LARGEST = 150_000
# What models are shown; decoders of other formats are not lent to strangers' files.
KINDS = ("PNG", "JPEG", "GIF", "WEBP")
CLEAR = 128
# Colours that differ by less than this are painted as one: a cell in another colour costs forty bytes.
COARSE = 0xF8

BROKEN = (
    *(ArithmeticError, EOFError, LookupError, MemoryError, OSError, SyntaxError, TypeError, ValueError),
    *(struct.error, zlib.error, Image.DecompressionBombError),
)


class BrokenPictureError(Exception):
    """It cannot be decoded, or is too large to be."""


def as_png(picture: Picture, cells: Cells) -> bytes:
    """Raises:
    BrokenPictureError: it cannot be shown.
    """
    image = _opened(picture, (cells.columns * FINE_WIDTH, cells.rows * FINE_HEIGHT))
    png = _png(image)
    return png if len(png) <= LARGEST else _png(image.quantize(256, Image.Quantize.FASTOCTREE))


def as_points(picture: Picture, cells: Cells) -> Sequence[Sequence[Colour]]:
    """Rows of colours, two rows to a row of cells.

    Raises:
        BrokenPictureError: it cannot be shown.
    """
    size = (cells.columns, cells.rows * 2)
    image = _opened(picture, size).resize(size)
    data = image.tobytes()
    points = [
        (data[at] & COARSE, data[at + 1] & COARSE, data[at + 2] & COARSE) if data[at + 3] >= CLEAR else None
        for at in range(0, len(data), 4)
    ]
    return [points[row : row + cells.columns] for row in range(0, len(points), cells.columns)]


def _opened(picture: Picture, size: tuple[int, int]) -> Image.Image:
    """The picture in red, green, blue and how opaque it is, no larger than needed."""
    try:
        with Image.open(BytesIO(b64decode(picture.data)), formats=KINDS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise BrokenPictureError(f"{picture.name} has too many pixels to be shown")
            # JPEG can be decoded small at once.
            image.draft("RGB", size)
            small = image.convert("RGBA")
        small.thumbnail(size)
        return small
    except BROKEN as error:
        raise BrokenPictureError(f"{picture.name} cannot be decoded: {error}") from error


def _png(image: Image.Image) -> bytes:
    out = BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()
