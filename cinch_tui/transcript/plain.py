"""Text of any origin as plain lines: no escape sequences, no carriage returns, no tabs."""

from __future__ import annotations

import re

from cinch_tui.rendering.harmless import TAB, harmless

__all__ = ["harmless", "one_line", "printed", "untabbed"]

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # operating system commands, titles and links among them
    r"|\x1b[P^_X][^\x1b]*(?:\x1b\\)?"  # device control and other strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences
    r"|\x1b[ -/]*[0-~]"  # the short ones
)


def printed(output: str) -> str:
    """What a command printed, as it would stand on paper: no escape sequences, only the last state of redrawn lines."""
    text = _ESCAPES.sub("", output) if "\x1b" in output or "\x9b" in output else output
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return untabbed(harmless(text))


def untabbed(text: str) -> str:
    return "\n".join(line.expandtabs(TAB) for line in text.split("\n")) if "\t" in text else text


def one_line(text: str) -> str:
    return " ".join(printed(text).split())
