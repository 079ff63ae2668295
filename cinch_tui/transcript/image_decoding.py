"""Image decoding and scaling, to be run in a thread."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from cinch_tui.transcript.image import Cells, Colour, Picture

# Cell size in pixels on a high-resolution screen; larger images only cost transmission time.
FINE_WIDTH, FINE_HEIGHT = 12, 24
# A decoded image takes four bytes per pixel.
MOST_PIXELS = 64_000_000
# Larger images are sent with fewer colors: over SSH they would delay key presses.
LARGEST = 150_000
# Formats that models accept; other decoders are not exposed to untrusted files.
KINDS = ("PNG", "JPEG", "GIF", "WEBP")
CLEAR = 128
# Similar colors are merged: every change of color costs about forty bytes.
COARSE = 0xF8

BROKEN = (
    *(ArithmeticError, EOFError, LookupError, MemoryError, OSError, SyntaxError, TypeError, ValueError),
    *(struct.error, zlib.error, Image.DecompressionBombError),
)


class BrokenPictureError(Exception):
    """The image cannot be decoded or is too large."""


def as_png(picture: Picture, cells: Cells) -> bytes:
    """Return the image as PNG, scaled to its cells.

    Raises:
        BrokenPictureError: cannot be decoded.
    """
    image = _opened(picture, (cells.columns * FINE_WIDTH, cells.rows * FINE_HEIGHT))
    png = _png(image)
    return png if len(png) <= LARGEST else _png(image.quantize(256, Image.Quantize.FASTOCTREE))


def as_points(picture: Picture, cells: Cells) -> Sequence[Sequence[Colour]]:
    """Return rows of pixel colors, two per row of cells.

    Raises:
        BrokenPictureError: cannot be decoded.
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
    """Return the image as RGBA, no larger than needed."""
    try:
        with Image.open(BytesIO(b64decode(picture.data)), formats=KINDS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise BrokenPictureError(f"{picture.name} has too many pixels")
            # JPEG can be scaled down while decoding.
            image.draft("RGB", size)
            small = image.convert("RGBA")
        small.thumbnail(size)
        return small
    except BROKEN as error:
        raise BrokenPictureError(f"{picture.name} could not be decoded: {error}") from error


def _png(image: Image.Image) -> bytes:
    out = BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()
