"""Whether the terminal is dark or light: what it says itself, what its environment says, what it said last time.

Nobody waits for the answer. The app begins with the best guess; a reply is taken out of what is typed, whenever it
comes, and so is the notice of a terminal that turns dark or light later.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from textual._xterm_parser import XTermParser
from textual.message import Message

from cinch_tui.config.private_file import write_private

ASK = "\x1b]11;?\x1b\\\x1b[?2031h"
"""Asks for the colour of the ground, and to be told when it is changed."""

ENOUGH = "\x1b[?2031l"

REPLY = re.compile(
    r"\x1b\]11;(?:rgba?:(?P<red>[0-9a-fA-F]+)/(?P<green>[0-9a-fA-F]+)/(?P<blue>[0-9a-fA-F]+)[^\x07\x1b]*)?(?:\x07|\x1b\\)"
    r"|\x1b\[\?997;(?P<scheme>[12])n"
    r"|\x1b_Gi=31;(?P<pictures>[^\x1b]{0,200})\x1b\\"
    r"|\x1bP>\|(?P<version>[^\x1b]{0,200})\x1b\\"
)
BEGUN = re.compile(
    r"\x1b\](?:1|11|11;[^\x07\x1b]{0,40}\x1b?)?$|\x1b\[\?9(?:9|97|97;[12]?)?$|\x1b_(?:G[^\x1b]{0,200}\x1b?)?$"
    r"|\x1bP(?:>(?:\|[^\x1b]{0,200}\x1b?)?)?$"
)
KITTY = re.compile(r"kitty\((\d+)\.(\d+)")
FIRST_WITH_CELLS = (0, 28)
"""An older kitty shows pictures, but not in cells of text: the letters that stand for them would be seen."""

PATIENCE = 0.2
"""Seconds in which the rest of a reply follows; what is longer in coming was typed."""

LIGHT_COLOURS = {"7", "9", "10", "11", "12", "13", "14", "15"}


class TerminalBackground(Message):
    """What a terminal is, as it says itself."""

    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self.dark = dark


class TerminalPictures(Message):
    """A terminal shows pictures, as it says itself."""


class ReplyParser(XTermParser):
    """Textual's parser takes these replies for keys."""

    def __init__(self) -> None:
        super().__init__()
        self._held = ""
        self._held_since = 0.0
        self._is_too_old = False

    def feed(self, data: str) -> Iterable[Message]:
        # Nothing at all means that nothing more will come.
        text = self._held + data
        self._held = ""
        for reply in REPLY.finditer(text):
            if version := KITTY.match(reply["version"] or ""):
                self._is_too_old = (int(version[1]), int(version[2])) < FIRST_WITH_CELLS
            if reply["pictures"] == "OK" and not self._is_too_old:
                yield TerminalPictures()
            dark = is_dark(reply)
            if dark is not None:
                yield TerminalBackground(dark=dark)
        rest = REPLY.sub("", text)
        begun = BEGUN.search(rest) if data else None
        if begun:
            rest, self._held, self._held_since = rest[: begun.start()], begun[0], time.monotonic()
        if rest or not data:
            yield from super().feed(rest)

    def tick(self) -> Iterable[Message]:
        if self._held and time.monotonic() - self._held_since > PATIENCE:
            held, self._held = self._held, ""
            yield from super().feed(held)
        yield from super().tick()


def is_dark(reply: re.Match[str]) -> bool | None:
    """What a reply says; None where it says nothing."""
    if reply["scheme"]:
        return reply["scheme"] == "1"
    if not reply["red"]:
        return None
    # Each has one to four digits, of which all ones are the brightest.
    red, green, blue = (int(reply[name], 16) / (16 ** len(reply[name]) - 1) for name in ("red", "green", "blue"))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5


def guess(environ: Mapping[str, str], file: Path) -> bool:
    """Whether the terminal is dark, by all that is known before it is asked."""
    *_, ground = environ.get("COLORFGBG", "").split(";")
    return ground not in LIGHT_COLOURS if ground.isdigit() else _kept(file).get(_kind(environ), True)


def remember(environ: Mapping[str, str], file: Path, *, dark: bool) -> None:
    """Keep what the terminal said, for the next start."""
    kept = _kept(file)
    # It only spares the next start a change of colours.
    with suppress(OSError):
        if kept.get(_kind(environ)) != dark:
            write_private(file, json.dumps({**kept, _kind(environ): dark}) + "\n")


def _kind(environ: Mapping[str, str]) -> str:
    return " ".join(environ.get(name, "") for name in ("TERM_PROGRAM", "TERM", "COLORTERM")).strip()


def _kept(file: Path) -> dict[str, bool]:
    try:
        data: object = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(data, dict):
        return {}
    items: dict[object, object] = data  # pyright: ignore[reportUnknownVariableType] each item is checked below
    return {key: value for key, value in items.items() if isinstance(key, str) and isinstance(value, bool)}
