"""Ids and tool names in the format that services accept."""

from __future__ import annotations

import re
import zlib


def safe_name(name: str) -> str:
    """Return a name if it is valid, otherwise a valid one derived from it, practically without collisions.

    Other vendors, and models that err, use characters and lengths that a service rejects, together with the whole
    history.
    """
    if re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", name):
        return name
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:31]
    return f"{plain}_{zlib.crc32(name.encode(errors='replace')):08x}"


def tool_name(name: str) -> str:
    """Return a tool name as declared, since models call tools by that name; otherwise a valid one derived from it."""
    return name if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) else safe_name(name)


def nine_letters(name: str) -> str:
    """Return a name if it has nine letters or digits, as Mistral requires, otherwise nine derived from it."""
    if re.fullmatch(r"[a-zA-Z0-9]{9}", name):
        return name
    written = name.encode(errors="replace")
    return f"{zlib.crc32(written):08x}{zlib.adler32(written) % 16:x}"
