"""Image decoding and scaling with Pillow, to be run in a thread."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode
from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageOps

from cinch_tui.transcript.image import Cells, Colour, TranscriptImage

# Cell size in pixels on a high-resolution screen; larger images only cost transmission time.
FINE_WIDTH, FINE_HEIGHT = 12, 24
# A decoded image takes four bytes per pixel.
MAX_PIXELS = 64_000_000
# Larger images are sent with fewer colors: over SSH they would delay key presses.
LARGEST = 150_000
# Formats that models accept; other decoders are not exposed to untrusted files.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
CLEAR = 128
# Similar colors are merged: every change of color costs about forty bytes.
COARSE = 0xF8

DECODING_ERRORS = (
    *(ArithmeticError, EOFError, LookupError, MemoryError, OSError, SyntaxError, TypeError, ValueError),
    *(struct.error, zlib.error, Image.DecompressionBombError),
)


class ImageDecodingError(Exception):
    """The image cannot be decoded or is too large."""


def as_png(source: TranscriptImage, cells: Cells) -> bytes:
    """Return the image as PNG, scaled to its cells.

    Raises:
        ImageDecodingError: the image cannot be decoded.
    """
    image = _open(source, (cells.columns * FINE_WIDTH, cells.rows * FINE_HEIGHT))
    png = _png(image)
    return png if len(png) <= LARGEST else _png(image.quantize(256, Image.Quantize.FASTOCTREE))


def as_pixels(source: TranscriptImage, cells: Cells) -> Sequence[Sequence[Colour]]:
    """Return rows of pixel colors, two per row of cells.

    Raises:
        ImageDecodingError: the image cannot be decoded.
    """
    size = (cells.columns, cells.rows * 2)
    image = _open(source, size).resize(size)
    data = image.tobytes()
    points = [
        (data[at] & COARSE, data[at + 1] & COARSE, data[at + 2] & COARSE) if data[at + 3] >= CLEAR else None
        for at in range(0, len(data), 4)
    ]
    return [points[row : row + cells.columns] for row in range(0, len(points), cells.columns)]


def _open(source: TranscriptImage, size: tuple[int, int]) -> Image.Image:
    """Return the image as RGBA, no larger than needed."""
    try:
        with Image.open(BytesIO(b64decode(source.data)), formats=FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise ImageDecodingError(f"{source.name} has too many pixels")
            # JPEG can be scaled down while decoding.
            image.draft("RGB", size)
            small = image.convert("RGBA")
        small.thumbnail(size)
        return small
    except DECODING_ERRORS as error:
        raise ImageDecodingError(f"{source.name} could not be decoded: {error}") from error


def _png(image: Image.Image) -> bytes:
    out = BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


# Providers scale down larger images themselves.
PIXELS = 2_000
QUALITY = 85


def shrink(data: bytes) -> bytes | None:
    """Return the image as upright JPEG of at most `PIXELS` per side, first frame only; None if it cannot be decoded."""
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as image:
            # JPEG can be scaled down while decoding.
            image.draft("RGB", (PIXELS, PIXELS))
            if image.width * image.height > MAX_PIXELS:
                return None
            image.thumbnail((PIXELS, PIXELS))
            return _jpeg(ImageOps.exif_transpose(image))
    except DECODING_ERRORS:
        return None


def is_complete(data: bytes) -> bool:
    """Return True if the first frame is complete: providers reject requests with truncated images."""
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height <= MAX_PIXELS:
                image.load()
    except DECODING_ERRORS:
        return False
    return True


def _jpeg(image: Image.Image) -> bytes:
    """Encode as JPEG on a white background."""
    seen = image.convert("RGBA")
    page = Image.new("RGBA", seen.size, "white")
    page.alpha_composite(seen)
    out = BytesIO()
    page.convert("RGB").save(out, "JPEG", quality=QUALITY)
    return out.getvalue()
