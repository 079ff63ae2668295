"""Ids and tool names in the letters that services take."""

from __future__ import annotations

import re
import zlib


def safe_name(name: str) -> str:
    """The name itself where it is plain, else one made from it that hardly another name becomes.

    Other vendors, and models that err, use letters and lengths that a service refuses, and with them the whole history.
    """
    if re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", name):
        return name
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:31]
    return f"{plain}_{zlib.crc32(name.encode(errors='replace')):08x}"


def tool_name(name: str) -> str:
    """The name of a tool as it was declared, since a model calls tools by the names it sees; else one made from it."""
    return name if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) else safe_name(name)


def nine_letters(name: str) -> str:
    """The name itself where it has nine letters or digits, as Mistral wants it, else nine made from it."""
    if re.fullmatch(r"[a-zA-Z0-9]{9}", name):
        return name
    written = name.encode(errors="replace")
    return f"{zlib.crc32(written):08x}{zlib.adler32(written) % 16:x}"
