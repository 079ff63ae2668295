"""Plain text from untrusted output: no escape sequences, carriage returns or tabs."""

from __future__ import annotations

import re

from cinch_tui.rendering.harmless import TAB, harmless

__all__ = ["harmless", "one_line", "printed", "untabbed"]

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links and others
    r"|\x1b[P^_X][^\x1b]*(?:\x1b\\)?"  # DCS and other strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[ -/]*[0-~]"  # two-character sequences
)


def printed(output: str) -> str:
    """Return command output as plain text: no escape sequences, and only the last state of overwritten lines."""
    text = _ESCAPES.sub("", output) if "\x1b" in output or "\x9b" in output else output
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return untabbed(harmless(text))


def untabbed(text: str) -> str:
    return "\n".join(line.expandtabs(TAB) for line in text.split("\n")) if "\t" in text else text


def one_line(text: str) -> str:
    return " ".join(printed(text).split())
