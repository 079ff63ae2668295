"""Scaling down images for models, to be run in a thread."""

from __future__ import annotations

from io import BytesIO

from PIL import Image, ImageOps

from cinch_tui.transcript.image_decoding import BROKEN, KINDS, MOST_PIXELS

# Providers scale down larger images themselves.
PIXELS = 2_000
QUALITY = 85


def shrunk(data: bytes) -> bytes | None:
    """Return the image as upright JPEG of at most `PIXELS` per side, first frame only; None if it cannot be decoded."""
    try:
        with Image.open(BytesIO(data), formats=KINDS) as image:
            # JPEG can be scaled down while decoding.
            image.draft("RGB", (PIXELS, PIXELS))
            if image.width * image.height > MOST_PIXELS:
                return None
            image.thumbnail((PIXELS, PIXELS))
            return _jpeg(ImageOps.exif_transpose(image))
    except BROKEN:
        return None


def is_whole(data: bytes) -> bool:
    """Return True if the first frame is complete: providers reject requests with truncated images."""
    try:
        with Image.open(BytesIO(data), formats=KINDS) as image:
            if image.width * image.height <= MOST_PIXELS:
                image.load()
    except BROKEN:
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
