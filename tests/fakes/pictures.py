"""Images as file bytes: small, with a size in their header."""

from __future__ import annotations

import random
import struct
import zlib


def png(width: int = 4, height: int = 3, *, noise: bool = False) -> bytes:
    """Return a grey PNG; with noise, one that hardly compresses."""
    grey = random.Random(0)
    rows = (b"\0" + (grey.randbytes(width) if noise else b"\x80" * width) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows), 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
