"""Screens of a terminal, which show what a program draws as a user would see it.

Most programs print lines, which pass through unchanged. A screen is emulated only while a program draws: on the
alternate screen, as editors do, or on the main screen by moving the cursor away from the current line.

Source: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.screen_emulator import EmulatedScreen

_MODE = re.compile(rb"\x1b\[\?([\d;]*)([hl])")
_CURSOR_KEYS = b"1"
_ALTERNATE = rb"\x1b\[\?(?:\d+;)*(?:47|1047|1049)(?:;\d+)*"
_ALTERNATE_ON = re.compile(_ALTERNATE + b"h")
_ALTERNATE_OFF = re.compile(_ALTERNATE + b"l")
# Cursor up, to a line, or queried; display erased; lines inserted, deleted or scrolled; reset.
_DRAWING = re.compile(rb"\x1b(?:\[[\d;]*[AFHfdLMSTr]|\[[23]J|\[6n|M|c)")
_INCOMPLETE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,4096}\x1b?|[ -/]*)?\Z")
_REPLAYED_BYTES = 8_000
"""Output before a program begins to draw, which is on the main screen as well."""


class TerminalScreen:
    """Follows the output of a program.

    Args:
        rows: Height of the terminal.
        columns: Width of the terminal.
        on_lines: Receives what is not drawn, and of what is drawn on the main screen the rows that remain.
        reply: Receives what a terminal replies to the program.
    """

    def __init__(
        self, rows: int, columns: int, on_lines: Callable[[bytes], None], reply: Callable[[bytes], None]
    ) -> None:
        self._size = rows, columns
        self._on_lines = on_lines
        self._reply = reply
        self._incomplete = b""
        self._replayed = b""
        self._main: EmulatedScreen | None = None
        self._alternate: EmulatedScreen | None = None
        self._known: list[str] = []
        """Rows of the main screen that `on_lines` has received; the last one is not complete."""
        self._lines_since_drawing = 0
        self.uses_application_keys = False
        """True if the program expects the sequences of the application mode for cursor keys."""

    @property
    def drawn(self) -> EmulatedScreen | None:
        """Return the screen that a program draws on; None if it prints lines."""
        return self._alternate or self._main

    @property
    def is_alternate(self) -> bool:
        return self._alternate is not None

    def resize(self, rows: int, columns: int) -> None:
        self._size = rows, columns
        for screen in (self._main, self._alternate):
            if screen is not None:
                screen.resize(rows, columns)

    def feed(self, data: bytes) -> None:
        data = self._incomplete + data
        found = _INCOMPLETE.search(data)
        self._incomplete = found[0] if found else b""
        data = data[: len(data) - len(self._incomplete)]
        for mode in _MODE.finditer(data):
            if _CURSOR_KEYS in mode[1].split(b";"):
                self.uses_application_keys = mode[2] == b"h"
        while data:
            data = self._take(data)

    def close(self) -> None:
        """Pass on the rest when the program has ended."""
        self._alternate = None
        if self._main is not None:
            self._leave_main(self._main)
        elif self._incomplete:
            self._on_lines(self._incomplete)

    def _take(self, data: bytes) -> bytes:
        """Process data until the screen changes; return the rest."""
        if self._alternate is not None:
            part, rest = _split(data, _ALTERNATE_OFF)
            self._alternate.feed(part)
            if rest is not None:
                self._alternate = None
            return rest or b""
        part, rest = _split(data, _ALTERNATE_ON)
        if self._main is None:
            found = _DRAWING.search(part)
            start = found.start() if found else len(part)
            self._pass_on(part[:start])
            if found:
                self._main = self._enter_main()
                return data[start:]
        else:
            self._draw_main(self._main, part)
        if rest is not None:
            self._alternate = self._new_screen(lambda _: None)
        return rest or b""

    def _new_screen(self, on_row: Callable[[str], None]) -> EmulatedScreen:
        # Few programs draw.
        from tools.screen_emulator import EmulatedScreen

        return EmulatedScreen(*self._size, on_row, self._reply)

    def _pass_on(self, lines: bytes) -> None:
        if lines:
            self._on_lines(lines)
            self._replayed = (self._replayed + lines)[-_REPLAYED_BYTES:]

    def _enter_main(self) -> EmulatedScreen:
        """Return the main screen with the lines before it."""
        screen = self._new_screen(self._pass_on_row)
        is_cut = len(self._replayed) == _REPLAYED_BYTES
        screen.replay(self._replayed.partition(b"\n")[2] if is_cut else self._replayed)
        self._replayed = b""
        self._known = screen.rows[: screen.position[0]]
        self._lines_since_drawing = 0
        return screen

    def _draw_main(self, screen: EmulatedScreen, data: bytes) -> None:
        """Draw data; end once all that was drawn has left the screen."""
        screen.feed(data)
        last = max((found.end() for found in _DRAWING.finditer(data)), default=-1)
        if last >= 0:
            self._lines_since_drawing = 0
        self._lines_since_drawing += data.count(b"\n", max(last, 0))
        if self._lines_since_drawing >= self._size[0]:
            self._leave_main(screen)

    def _leave_main(self, screen: EmulatedScreen) -> None:
        self._main = None
        rows, current = screen.rows, screen.position[0] - 1
        for row in rows[:current]:
            self._pass_on_row(row)
        if self._known[:1] != rows[current : current + 1]:
            self._on_lines(b"\r" + "\n".join(rows[current:]).rstrip("\n").encode())
        self._known = []

    def _pass_on_row(self, row: str) -> None:
        """Pass on a complete row unless that was done."""
        known = self._known.pop(0) if self._known else None
        if row != known:
            self._on_lines(f"\r{row}\n".encode())
        elif not self._known:
            self._on_lines(b"\n")


def _split(data: bytes, pattern: re.Pattern[bytes]) -> tuple[bytes, bytes | None]:
    """Return the data before a sequence and after it; None if it is not there."""
    found = pattern.search(data)
    return (data[: found.start()], data[found.end() :]) if found else (data, None)
