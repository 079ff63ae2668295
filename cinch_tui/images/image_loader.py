"""Loading images for a model: validation, and scaling down to the limits of providers."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from cinch_tui.user_input import Attachment, image_mark
from harness.errors import CinchError, FileNotText
from harness.messages import Image
from harness.workspace.encoding import decode
from tools.file_type import ImageHeader, binary_kind, image_header

# Providers limit base64 data to five megabytes.
LARGEST = 3_750_000
WIDEST = 8_000
_MOST_READ = 200_000_000
_LOOKED_AT = 10_000


class LoadedImage(Struct, frozen=True):
    """A named image; width and height are 0 if unknown."""

    name: str
    image: Image
    width: int
    height: int


async def load_bytes(data: bytes, name: str) -> LoadedImage:
    """Load image data.

    Raises:
        CinchError: not an image, or too large.
    """
    return await asyncio.to_thread(_taken, data, name)


def attachments(images: Sequence[LoadedImage], first: int = 1) -> tuple[Attachment, ...]:
    """Number the images from `first` on."""
    return tuple(
        Attachment(image_mark(number, image.name, image.width, image.height), image.image)
        for number, image in enumerate(images, first)
    )


def load_image(path: Path, root: Path) -> LoadedImage:
    """Load an image file; files in `root` are named by relative path, so that the model can find them.

    Raises:
        CinchError: not readable, not an image, or too large.
    """
    try:
        if path.stat().st_size > _MOST_READ:
            raise CinchError(f"{path.name} is larger than {_MOST_READ // 1_000_000} MB; reduce its size")
        data = path.read_bytes()
    except OSError as error:
        raise CinchError(f"{path} cannot be read: {error.strerror or error}") from error
    return _taken(data, str(path.relative_to(root)) if path.is_relative_to(root) else path.name)


def is_image(path: Path) -> bool:
    """Return True if the file starts like a supported image."""
    try:
        # Reading a pipe would block.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return image_header(file.read(32)) is not None
    except OSError:
        return False


def _taken(data: bytes, name: str) -> LoadedImage:
    # Late import: the decoder is large.
    from cinch_tui.images.decoding import is_complete

    picture = image_header(data)
    if picture is None:
        raise CinchError(f"{name} is {_kind(data)}; supported formats: PNG, JPEG, GIF, WebP")
    if not _fits(data, picture):
        data, picture = _smaller(data, name, picture)
    elif not is_complete(data):
        raise CinchError(f"{name} is damaged and cannot be decoded")
    image = Image(picture.media_type, base64.b64encode(data).decode("ascii"))
    return LoadedImage(name, image, picture.width, picture.height)


def _kind(data: bytes) -> str:
    """Describe the type of a file that is not an image."""
    kind, unknown = binary_kind(data), binary_kind(b"")
    try:
        decode(data[:_LOOKED_AT])
    except FileNotText:
        return kind
    return ("text" if data else "empty") if kind == unknown else kind


def _smaller(data: bytes, name: str, picture: ImageHeader) -> tuple[bytes, ImageHeader]:
    from cinch_tui.images.decoding import shrink

    less = shrink(data)
    found = image_header(less) if less else None
    if less is None or found is None or not _fits(less, found):
        raise CinchError(
            f"{name} is too large ({picture.width} × {picture.height} pixels, {len(data) / 1e6:.1f} MB) and could not "
            f"be reduced; the limits are {WIDEST} pixels per side and {LARGEST / 1e6:.2f} MB"
        )
    return less, found


def _fits(data: bytes, picture: ImageHeader) -> bool:
    return len(data) <= LARGEST and max(picture.width, picture.height) <= WIDEST
