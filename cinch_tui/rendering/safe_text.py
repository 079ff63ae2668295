"""Untrusted text made safe and readable for the terminal."""

from __future__ import annotations

import re

from harness.terminal_text import escape_controls

TAB = 4
LONGEST_LINE = 4_000
"""Maximum number of characters shown of a line, unless it must be shown completely."""

MOST_BLANK_LINES = 3
MOST_BLANKS = 80
# Any Unicode whitespace: a line may consist of it and look empty.
_BLANK_LINES = re.compile(rf"\n(?:[^\S\n]*\n){{{MOST_BLANK_LINES + 1},}}")
_BLANKS = re.compile(rf"[^\S\n]{{{MOST_BLANKS + 1},}}")

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links and others
    r"|\x1b[P^_X][^\x1b]*(?:\x1b\\)?"  # DCS and other strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[ -/]*[0-~]"  # two-character sequences
)


def plain_output(output: str) -> str:
    """Return command output as plain text: no escape sequences, and only the last state of overwritten lines."""
    text = _ESCAPES.sub("", output) if "\x1b" in output or "\x9b" in output else output
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return expand_tabs(escape_controls(text))


def expand_tabs(text: str) -> str:
    return "\n".join(line.expandtabs(TAB) for line in text.split("\n")) if "\t" in text else text


def one_line(text: str) -> str:
    return " ".join(plain_output(text).split())


def error_line(text: str, subject: str = "") -> str:
    """Return an error text as one line: its first line, or the first item of the list that this line announces.

    Args:
        text: The error.
        subject: What is shown before it, which it need not repeat at the beginning.
    """
    first, _, rest = text.strip().removeprefix(f"{subject}: ").partition("\n")
    item = rest.partition("\n")[0].removeprefix("- ")
    return one_line(item if first.endswith(":") and item else first)


def reveal(text: str) -> str:
    """Replace long runs of blanks and blank lines by their count, and split long lines."""
    text = _BLANK_LINES.sub(lambda found: f"\n⋯ {found[0].count(chr(10)) - 1:,} blank lines ⋯\n", f"\n{text}")[1:]
    lines = map(shorten_blanks, text.split("\n"))
    return "\n".join(line[at : at + LONGEST_LINE] for line in lines for at in range(0, len(line) or 1, LONGEST_LINE))


def shorten_blanks(line: str) -> str:
    """Replace long runs of blanks in a line by their count."""
    return _BLANKS.sub(lambda found: f" ⋯ {len(found[0]):,} blanks ⋯ ", line)
