"""One screen of a terminal, emulated by pyte, with sequences that pyte lacks or misreads."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, cast
from unicodedata import combining

from pyte import Screen, Stream
from wcwidth import wcwidth

# Colours, strings, private and rare sequences.
_IGNORED = re.compile(
    r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\"
    r"|\[[<=>][0-?]*[ -/]*[@-~]|\[[0-?]*[ -/]+[@-~]|\[[0-?]*m|\[\?[0-?]*[^0-?hlJK]|[ %*+./-][0-~])"
)


class EmulatedScreen:
    """A screen that programs draw on.

    Args:
        rows: Height.
        columns: Width.
        on_row: Receives each row that scrolls off.
        reply: Receives what a terminal replies to the program.
    """

    def __init__(self, rows: int, columns: int, on_row: Callable[[str], None], reply: Callable[[bytes], None]) -> None:
        self._screen = _Screen(columns, rows)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # The stream only calls the methods of a screen.
        self._stream = _Stream(cast("Screen", _Tolerant(self._screen)), strict=False)
        # Otherwise line-drawing characters are shown as letters.
        self._stream.use_utf8 = False
        self._on_row, self._on_reply = on_row, reply

    def replay(self, data: bytes) -> None:
        """Show output of the past."""
        self._screen.on_row = lambda _: None
        self._screen.reply = lambda _: None
        self.feed(data)
        self._screen.on_row, self._screen.reply = self._on_row, self._on_reply

    def feed(self, data: bytes) -> None:
        """Show output, which must not end within a sequence."""
        text = _IGNORED.sub("", self._decoder.decode(data))
        # The parser itself may fail at odd digits; it then skips the rest of the text.
        with suppress(ValueError, LookupError):
            self._stream.feed(text)

    @property
    def rows(self) -> list[str]:
        """All rows, without trailing spaces."""
        return [self._screen.row(number) for number in range(self._screen.lines)]

    @property
    def position(self) -> tuple[int, int]:
        """Line and column of the cursor, from 1."""
        cursor = self._screen.cursor
        return cursor.y + 1, min(cursor.x + 1, self._screen.columns)

    def resize(self, rows: int, columns: int) -> None:
        self._screen.resize(rows, columns)


class _Screen(Screen):
    def __init__(self, columns: int, lines: int) -> None:
        super().__init__(columns, lines)
        self.on_row: Callable[[str], None] = lambda _: None
        self.reply: Callable[[bytes], None] = lambda _: None
        self._last = " "

    def row(self, number: int) -> str:
        cells = self.buffer[number]
        return "".join(cells[x].data for x in range(self.columns)).rstrip()

    def draw(self, data: str) -> None:
        if not data.isascii():
            # pyte would skip the text after a character without width, such as a joiner.
            data = "".join(each for each in data if combining(each) or wcwidth(each) > 0)
        super().draw(data)
        self._last = data[-1:]

    def index(self) -> None:
        top, bottom = self._region
        if self.cursor.y == bottom and top == 0:
            self.on_row(self.row(0))
        super().index()

    def repeat(self, count: int = 1) -> None:
        self.draw(self._last * min(count or 1, self.columns * self.lines))

    def scroll_up(self, count: int = 1) -> None:
        self._scroll(self._region[1], self.index, count)

    def scroll_down(self, count: int = 1) -> None:
        self._scroll(self._region[0], self.reverse_index, count)

    def write_process_input(self, data: str) -> None:
        self.reply(data.encode())

    @property
    def _region(self) -> tuple[int, int]:
        return self.margins or (0, self.lines - 1)

    def _scroll(self, line: int, move: Callable[[], None], count: int) -> None:
        cursor, self.cursor.y = self.cursor.y, line
        for _ in range(min(count or 1, self.lines)):
            move()
        self.cursor.y = cursor


class _Stream(Stream):
    csi: ClassVar[dict[str, str]] = {
        **Stream.csi,
        "b": "repeat",
        "S": "scroll_up",
        "T": "scroll_down",
        "s": "save_cursor",
        "u": "restore_cursor",
    }


class _Tolerant:
    """A screen that ignores sequences with parameters which it does not expect."""

    def __init__(self, screen: _Screen) -> None:
        self._screen = screen
        self.draw = screen.draw

    def __getattr__(self, name: str) -> Callable[..., None]:
        return partial(_call, getattr(self._screen, name))


def _call(handler: Callable[..., None], *arguments: int | str, **options: Any) -> None:
    with suppress(TypeError, ValueError, LookupError):
        handler(*arguments, **options)
