"""`cinch keys`: what arrives when a key is pressed, what cinch calls it and what it does with it."""

from __future__ import annotations

import os
import select
from codecs import getincrementaldecoder
from collections.abc import Iterable
from contextlib import suppress
from typing import TextIO

from textual._xterm_parser import XTermParser
from textual.events import Key as Pressed
from textual.events import Paste

from cinch_tui.keymap import KEYS, canonical, read_chords_of_plain_terminals
from cinch_tui.own_terminal import open_terminal, raw

ENTERING = "\x1b[>25u\x1b[?2004h"
"""As the app asks for its keys: kitty's protocol where there is one, and marked pastes."""

INTRODUCTION = """\
Press a key to see what arrives; Ctrl+C twice, or q and then Esc, ends it.
bytes · its name · what it does in cinch
"""
UNKNOWN = "nothing: the terminal keeps this key, or cinch does not know it"
ENDINGS = (("ctrl+c", "ctrl+c"), ("q", "escape"))
CHUNK = 4096
PATIENCE = 0.1


def run_keys(out: TextIO) -> int:
    """Tell of each key until the person has seen enough; the status is 0.

    Raises:
        ConfigError: there is no terminal.
    """
    terminal = open_terminal()
    try:
        # A terminal that went away has no keys.
        with raw(terminal, ENTERING), suppress(OSError):
            _say(out, INTRODUCTION)
            _listen(terminal, out)
    finally:
        os.close(terminal)
    return 0


def _listen(terminal: int, out: TextIO) -> None:
    read_chords_of_plain_terminals()
    parser, decoder = XTermParser(), getincrementaldecoder("utf-8")("replace")
    last, arrived = "", b""
    while True:
        chunk = os.read(terminal, CHUNK) if select.select([terminal], [], [], PATIENCE)[0] else None
        if chunk == b"":
            return
        arrived += chunk or b""
        text = decoder.decode(chunk or b"")
        # A lone Esc is told from the beginning of another key by what does not follow.
        events = [*(parser.feed(text) if text else ()), *parser.tick()]
        for name in told(events):
            _say(out, f"{as_bytes(arrived)} · {describe(name)}\n")
            if (last, name) in ENDINGS:
                return
            last, arrived = name, b""
        if arrived and not chunk:
            _say(out, f"{as_bytes(arrived)} · {UNKNOWN}\n")
            arrived = b""


def told(events: Iterable[object]) -> list[str]:
    """The names of what was pressed."""
    names: list[str] = []
    for event in events:
        if isinstance(event, Pressed):
            names.append(canonical(event.key))
        elif isinstance(event, Paste):
            names.append(f"a paste of {len(event.text)} characters")
    return names


def describe(name: str) -> str:
    """The key's name and what it does, by the ids that settings know."""
    does = [f"{key.description} ({key.id})" for key in KEYS if name in key.keys.split(",")]
    return f"{name} · {'; '.join(does) or ('a letter' if len(name) == 1 else 'no key of cinch')}"


def as_bytes(arrived: bytes) -> str:
    """In the way escape sequences are written down, and in hexadecimal."""
    if not arrived:
        return "(with the one before)"
    start = arrived[:24]
    signs = "".join("ESC " if byte == 0x1B else chr(byte) if 0x20 < byte < 0x7F else "·" for byte in start)
    return f"{start.hex(' ')}{' …' if len(arrived) > len(start) else ''}  {signs}"


def _say(out: TextIO, text: str) -> None:
    out.write(text)
    out.flush()
