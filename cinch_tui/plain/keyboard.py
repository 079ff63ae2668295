"""What a person types, line by line; from a terminal, where the line can be edited, or from a pipe.

Belongs to the main thread: only there can a signal interrupt a line that is waited for.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from cinch_tui.plain.line_writer import LineWriter

PASTED = 0.05
"""Seconds in which the lines of one paste follow each other."""
CHUNK = 65_536


class Keyboard:
    """`is_reading` is true while a line is waited for: what comes up then may raise, and the line is left."""

    def __init__(self, stdin: TextIO, paper: LineWriter, environ: Mapping[str, str]) -> None:
        self.is_reading = False
        self.is_at_end = False
        self.is_terminal = stdin.isatty()
        self.fd = stdin.fileno()
        self._paper = paper
        self._bytes = b""
        is_dumb = environ.get("TERM", "dumb") in ("", "dumb", "unknown")
        self._edits = self.is_terminal and sys.stdout.isatty() and stdin is sys.stdin and not is_dumb

    def has_ended(self) -> bool:
        """Whether the input is at its end; a terminal can go on after Ctrl+D, once that is known."""
        ended = self.is_at_end
        self.is_at_end = ended and not self.is_terminal
        return ended

    def complete_with(self, completer: Callable[[str, int], str | None]) -> None:
        """Let Tab complete words."""
        if self._edits:
            import readline

            readline.set_completer(completer)
            readline.set_completer_delims(" \t\n")
            is_libedit = "libedit" in (readline.__doc__ or "")
            readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")

    def remember(self, lines: Sequence[str]) -> None:
        """Let Up bring these back, the last one first."""
        if self._edits:
            # It takes the terminal: nobody else loads it.
            import readline

            readline.set_auto_history(False)
            for line in lines:
                readline.add_history(line)

    def line(self, prompt: str) -> str:
        """The next line, without its end.

        Raises:
            EOFError: there is none any more.
        """
        edits = self._edits and not self._bytes
        return self._reading("" if edits else prompt, lambda: self._edited(prompt) if edits else self._read())

    def hidden_line(self, prompt: str) -> str:
        """As `line`, but the terminal does not echo it, and nothing remembers it."""
        return self._reading(prompt, self._read_without_echo)

    def _reading(self, prompt: str, read: Callable[[], str]) -> str:
        self._paper.pause(prompt)
        try:
            self.is_reading = True
            return read()
        except BaseException:
            self.is_reading = False
            self._paper.interrupted()
            raise
        finally:
            self.is_reading = False
            self._paper.resume()

    def pasted(self) -> list[str]:
        """The lines that came together with the one before; of a pipe, which is written ahead, there are none."""
        lines: list[str] = []
        while self.is_terminal and (b"\n" in self._bytes or self._is_ready(PASTED)):
            found = self.take()
            if not found:
                break
            lines += found
        return lines

    def take(self) -> list[str]:
        """What a terminal has ready: whole lines; after the last one `is_at_end` is set."""
        if self._is_ready(0):
            self._fill()
        *lines, self._bytes = self._bytes.split(b"\n")
        if lines:
            self._paper.echoed()
        return [_text(line) for line in lines]

    def _is_ready(self, seconds: float) -> bool:
        return not self.is_at_end and bool(select.select([self.fd], [], [], seconds)[0])

    def _edited(self, prompt: str) -> str:
        text = input(prompt)
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def _read_without_echo(self) -> str:
        if not self.is_terminal:
            return self._next_line()
        # Windows has no termios; plain mode is not offered there.
        import termios

        before = termios.tcgetattr(self.fd)
        quiet = [*before[:3], before[3] & ~termios.ECHO | termios.ECHONL, *before[4:]]
        termios.tcsetattr(self.fd, termios.TCSADRAIN, quiet)
        try:
            return self._next_line()
        finally:
            termios.tcsetattr(self.fd, termios.TCSADRAIN, before)

    def _read(self) -> str:
        line = self._next_line()
        if not self.is_terminal:
            self._paper.typed(line)
        return line

    def _next_line(self) -> str:
        while b"\n" not in self._bytes and not self.is_at_end:
            self._fill()
        line, _, self._bytes = self._bytes.partition(b"\n")
        if not line and self.has_ended():
            raise EOFError
        return _text(line)

    def _fill(self) -> None:
        data = os.read(self.fd, CHUNK)
        self._bytes += data
        # On a terminal Ctrl+D ends a line that is begun, and the input only on an empty one.
        self.is_at_end = not data


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")
