"""Image in the transcript: data, label and size in cells."""

from __future__ import annotations

import hashlib
import os
import tempfile
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import NamedTuple, Self, TypeAlias

from msgspec import Struct

from cinch_tui.reports.formatting import format_size
from harness.messages import Image, ToolResult
from harness.terminal_text import escape_controls
from harness.views import ImageView

MOST_COLUMNS = 60
MOST_ROWS = 15
# Approximate cell size in pixels: small images are not enlarged.
CELL_WIDTH, CELL_HEIGHT = 8, 16
_HEAD = 64 * 1024

Colour: TypeAlias = "tuple[int, int, int] | None"
"""RGB, or None if transparent."""


class Cells(NamedTuple):
    columns: int
    rows: int


class TranscriptImage(Struct, eq=False):
    """An image in the transcript."""

    name: str
    media_type: str
    read: Callable[[], str]
    """Returns the data in Base64, which are read from disk on every call if their message is not in memory."""
    width: int = 0
    """Pixels; 0 if unknown."""
    height: int = 0
    path: str = ""
    """File it was read from."""
    size: int = 0
    """Bytes."""
    pixels: Sequence[Sequence[Colour]] = ()
    """Pixel colors for half blocks, two rows per cell row, once decoded."""
    is_broken: bool = False
    """Decoding failed; it is not tried again."""
    _number: int = 0

    @classmethod
    def of(cls, image: Image, name: str, path: str = "", read: Callable[[], str] | None = None) -> Self:
        """Return an image to show; with `read`, it does not keep the data in memory."""
        # Late import: images are rare.
        from tools.file_type import image_header

        try:
            seen = image_header(b64decode(image.data[:_HEAD]))
        except NotBase64:
            seen = None
        data = image.data
        size = len(data) * 3 // 4 - data[-2:].count("=")
        width, height = (seen.width, seen.height) if seen else (0, 0)
        return cls(name, image.media_type, read or (lambda: data), width, height, path, size)

    @property
    def data(self) -> str:
        """Return the data in Base64."""
        return self.read()

    @property
    def number(self) -> int:
        """Return the image's number in the terminal: equal for equal images, different between cinch processes."""
        if not self._number:
            # Cached: hashing megabytes takes milliseconds, and each frame needs it.
            digest = hashlib.sha256(f"{os.getpid()} ".encode())
            digest.update(self.data.encode())
            self._number = int.from_bytes(digest.digest()[:3], "big") or 1
        return self._number

    @property
    def label(self) -> str:
        """Return the placeholder in plain text."""
        return f"[image: {escape_controls(self.name)}{f' {self._pixels}' if self.width else ''}]"

    @property
    def caption(self) -> str:
        return " · ".join(part for part in (self.media_type, self._pixels, format_size(self.size)) if part)

    @property
    def _pixels(self) -> str:
        return f"{self.width}×{self.height}" if self.width else ""

    def cells(self, width: int) -> Cells | None:
        """Return the size in cells for a view of `width` columns; None if unknown."""
        if not (self.width and self.height) or self.is_broken:
            return None
        columns, rows = self.width / CELL_WIDTH, self.height / CELL_HEIGHT
        scale = min(1.0, min(MOST_COLUMNS, width) / columns, MOST_ROWS / rows)
        return Cells(max(1, round(columns * scale)), max(1, round(rows * scale)))


def result_images(
    result: ToolResult, read_again: Callable[[], ToolResult | None] | None = None
) -> list[TranscriptImage]:
    """Return the images of a tool result; with `read_again`, which reads the result, they do not keep their data."""
    images = _images(result)
    path = result.view.path if images and isinstance(result.view, ImageView) else ""
    return [
        TranscriptImage.of(
            image,
            PurePath(path).name or f"image {place + 1}",
            path,
            partial(_data_of, read_again, place) if read_again else None,
        )
        for place, image in enumerate(images)
    ]


def _images(result: ToolResult) -> list[Image]:
    return [each for each in result.content if type(each) is Image]


def _data_of(read_result: Callable[[], ToolResult | None], place: int) -> str:
    images = _images(result) if (result := read_result()) else []
    return images[place].data if place < len(images) else ""


def image_file(image: TranscriptImage) -> Path:
    """Return the file of the image; if it is missing, write the image to a private temporary file."""
    if image.path and Path(image.path).is_file():
        return Path(image.path)
    kind = image.media_type.partition("/")[2]
    descriptor, path = tempfile.mkstemp(prefix="cinch-picture-", suffix=f".{kind}" if kind.isalnum() else "")
    with os.fdopen(descriptor, "wb") as file:
        file.write(b64decode(image.data))
    return Path(path)
