"""Making a picture small enough for the services that show it to models. Work for a thread."""

from __future__ import annotations

from io import BytesIO

from PIL import Image, ImageOps

from cinch_tui.transcript.pixels import BROKEN, KINDS, MOST_PIXELS

# More is scaled down by the services themselves.
PIXELS = 2_000
QUALITY = 85


def shrunk(data: bytes) -> bytes | None:
    """The picture with at most `PIXELS` a side, upright and as JPEG; of an animation the first one. None where it
    cannot be decoded."""
    try:
        with Image.open(BytesIO(data), formats=KINDS) as image:
            # JPEG can be decoded small at once.
            image.draft("RGB", (PIXELS, PIXELS))
            if image.width * image.height > MOST_PIXELS:
                return None
            image.thumbnail((PIXELS, PIXELS))
            return _jpeg(ImageOps.exif_transpose(image))
    except BROKEN:
        return None


def is_whole(data: bytes) -> bool:
    """Whether all of the first picture is there: services refuse a conversation in which one is not."""
    try:
        with Image.open(BytesIO(data), formats=KINDS) as image:
            if image.width * image.height <= MOST_PIXELS:
                image.load()
    except BROKEN:
        return False
    return True


def _jpeg(image: Image.Image) -> bytes:
    """What shows through is white."""
    seen = image.convert("RGBA")
    page = Image.new("RGBA", seen.size, "white")
    page.alpha_composite(seen)
    out = BytesIO()
    page.convert("RGB").save(out, "JPEG", quality=QUALITY)
    return out.getvalue()
