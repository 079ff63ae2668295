"""File type from the first bytes: an image with its size in pixels, or a kind of binary file."""

from __future__ import annotations

import struct

from msgspec import Struct

_KINDS = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or a document in one)"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"MZ", "a Windows program or library"),
    (b"\xcf\xfa\xed\xfe", "a macOS program or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or macOS program"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
    (b"RIFF", "WAV, AVI or another RIFF file"),
    (b"BM", "a BMP image"),
    (b"wOF", "a web font"),
)


class ImageHeader(Struct, frozen=True):
    """Format of an image; `width` and `height` are 0 if the header does not contain them."""

    media_type: str
    width: int = 0
    height: int = 0


def image_header(head: bytes) -> ImageHeader | None:
    """Return the image that `head` begins, if models can see its format."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return ImageHeader("image/png", *_numbers(">II", head, 16))
    if head.startswith((b"GIF87a", b"GIF89a")):
        return ImageHeader("image/gif", *_numbers("<HH", head, 6))
    if head.startswith(b"\xff\xd8\xff"):
        return ImageHeader("image/jpeg", *_jpeg_size(head))
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return ImageHeader("image/webp", *_webp_size(head))
    return None


def binary_kind(head: bytes) -> str:
    """Return a description of a binary file's type."""
    return next((kind for magic, kind in _KINDS if head.startswith(magic)), "a binary file")


def _numbers(form: str, head: bytes, offset: int) -> tuple[int, int]:
    if len(head) < offset + struct.calcsize(form):
        return 0, 0
    width, height = struct.unpack_from(form, head, offset)
    return width, height


def _jpeg_size(head: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        # A frame header of any of the thirteen encodings.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = _numbers(">HH", head, at + 5)
            return width, height
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return 0, 0


def _webp_size(head: bytes) -> tuple[int, int]:
    match head[12:16]:
        case b"VP8 ":
            width, height = _numbers("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L" if len(head) >= 25:
            bits = int.from_bytes(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(head) >= 30:
            return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
        case _:
            return 0, 0
