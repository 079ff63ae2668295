"""Detection of a dark or light terminal: its own report, its environment, or the last known value.

Detection does not block. The app starts with the best guess; a report is filtered out of the input whenever it arrives,
and so is a notification that the terminal switched between dark and light.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from textual._xterm_parser import XTermParser
from textual.message import Message

from cinch_tui.config.paths import write_private
from cinch_tui.data_message import DataMessage

QUERY = "\x1b]11;?\x1b\\\x1b[?2031h"
"""Query the background color and subscribe to changes of the color scheme."""

UNSUBSCRIBE = "\x1b[?2031l"

REPLY = re.compile(
    r"\x1b\]11;(?:rgba?:(?P<red>[0-9a-fA-F]+)/(?P<green>[0-9a-fA-F]+)/(?P<blue>[0-9a-fA-F]+)[^\x07\x1b]*)?(?:\x07|\x1b\\)"
    r"|\x1b\[\?997;(?P<scheme>[12])n"
    r"|\x1b_Gi=31;(?P<pictures>[^\x1b]{0,200})\x1b\\"
    r"|\x1bP>\|(?P<version>[^\x1b]{0,200})\x1b\\"
)
INCOMPLETE_REPLY = re.compile(
    r"\x1b\](?:1|11|11;[^\x07\x1b]{0,40}\x1b?)?$|\x1b\[\?9(?:9|97|97;[12]?)?$|\x1b_(?:G[^\x1b]{0,200}\x1b?)?$"
    r"|\x1bP(?:>(?:\|[^\x1b]{0,200}\x1b?)?)?$"
)
KITTY = re.compile(r"kitty\((\d+)\.(\d+)")
FIRST_WITH_PLACEHOLDERS = (0, 28)
"""Older kitty versions show images, but without Unicode placeholders: the placeholder characters would be visible."""

REPLY_TIMEOUT_S = 0.2
"""Seconds to wait for the rest of a report; slower input was typed."""

LIGHT_COLOURS = {"7", "9", "10", "11", "12", "13", "14", "15"}


class TerminalBackground(DataMessage):
    """The terminal reported a dark or light background."""

    dark: bool


class TerminalImages(Message):
    """The terminal reported image support."""


class ReplyParser(XTermParser):
    """Input parser that filters out terminal reports, which Textual would read as keys."""

    def __init__(self) -> None:
        super().__init__()
        self._unparsed = ""
        self._unparsed_since = 0.0
        self._is_too_old = False

    def feed(self, data: str) -> Iterable[Message]:
        # Empty data means end of input.
        text = self._unparsed + data
        self._unparsed = ""
        for reply in REPLY.finditer(text):
            if version := KITTY.match(reply["version"] or ""):
                self._is_too_old = (int(version[1]), int(version[2])) < FIRST_WITH_PLACEHOLDERS
            if reply["pictures"] == "OK" and not self._is_too_old:
                yield TerminalImages()
            dark = is_dark(reply)
            if dark is not None:
                yield TerminalBackground(dark=dark)
        rest = REPLY.sub("", text)
        begun = INCOMPLETE_REPLY.search(rest) if data else None
        if begun:
            rest, self._unparsed, self._unparsed_since = rest[: begun.start()], begun[0], time.monotonic()
        if rest or not data:
            yield from super().feed(rest)

    def tick(self) -> Iterable[Message]:
        if self._unparsed and time.monotonic() - self._unparsed_since > REPLY_TIMEOUT_S:
            unparsed, self._unparsed = self._unparsed, ""
            yield from super().feed(unparsed)
        yield from super().tick()


def is_dark(reply: re.Match[str]) -> bool | None:
    """Return the darkness reported; None if the report is about something else."""
    if reply["scheme"]:
        return reply["scheme"] == "1"
    if not reply["red"]:
        return None
    # Each component has one to four hex digits; the maximum value is full brightness.
    red, green, blue = (int(reply[name], 16) / (16 ** len(reply[name]) - 1) for name in ("red", "green", "blue"))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5


def guess(environ: Mapping[str, str], file: Path) -> bool:
    """Return True if the terminal is probably dark, before it reports itself."""
    *_, ground = environ.get("COLORFGBG", "").split(";")
    return ground not in LIGHT_COLOURS if ground.isdigit() else _read_known(file).get(_terminal_kind(environ), True)


def remember(environ: Mapping[str, str], file: Path, *, dark: bool) -> None:
    """Store the reported background for the next start."""
    kept = _read_known(file)
    # Only an optimization: it avoids a color change at the next start.
    with suppress(OSError):
        if kept.get(_terminal_kind(environ)) != dark:
            write_private(file, json.dumps({**kept, _terminal_kind(environ): dark}) + "\n")


def _terminal_kind(environ: Mapping[str, str]) -> str:
    return " ".join(environ.get(name, "") for name in ("TERM_PROGRAM", "TERM", "COLORTERM")).strip()


def _read_known(file: Path) -> dict[str, bool]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, bool])
    except (OSError, ValueError):
        return {}
