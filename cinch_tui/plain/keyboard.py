"""Line input from a terminal, with line editing and completion, or from a pipe.

Belongs to the main thread: only there can a signal interrupt a line that is waited for.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from cinch_tui.commands import SIGILS
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.plain.line_writer import LineWriter
from cinch_tui.widgets.prompt.path_completion import names_in
from harness.errors import CinchError

PASTE_GAP_S = 0.05
"""Maximum time between the lines of one paste, in seconds."""
CHUNK = 65_536


class Keyboard:
    """Reads lines. While `is_reading` is True, a signal handler may raise to abort the line.

    Args:
        stdin: Where lines come from.
        writer: Prints the prompts.
        environ: Environment of the program.
        check: Called before each line; raises if a signal came while its prompt was printed.
    """

    def __init__(
        self, stdin: TextIO, writer: LineWriter, environ: Mapping[str, str], check: Callable[[], None]
    ) -> None:
        self.is_reading = False
        self.is_at_end = False
        self.is_terminal = stdin.isatty()
        self.fd = stdin.fileno()
        self._writer = writer
        self._check = check
        self._bytes = b""
        is_dumb = environ.get("TERM", "dumb") in ("", "dumb", "unknown")
        self._edits = self.is_terminal and sys.stdout.isatty() and stdin is sys.stdin and not is_dumb

    def has_ended(self) -> bool:
        """Return True at the end of the input; a terminal can continue after Ctrl+D."""
        ended = self.is_at_end
        self.is_at_end = ended and not self.is_terminal
        return ended

    @property
    def has_typed(self) -> bool:
        """True if the line that is being read would be lost with it; the terminal keeps one that it edits itself."""
        if not self._edits:
            return False
        import readline

        return bool(readline.get_line_buffer())

    def complete_with(self, completer: Callable[[str, int], str | None]) -> None:
        """Enable completion with Tab."""
        if self._edits:
            import readline

            readline.set_completer(completer)
            readline.set_completer_delims(" \t\n")
            is_libedit = "libedit" in (readline.__doc__ or "")
            readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")

    def remember(self, lines: Sequence[str]) -> None:
        """Add lines to the history of the Up key."""
        if self._edits:
            # It takes the terminal: so it is only loaded here.
            import readline

            readline.set_auto_history(False)
            for line in lines:
                readline.add_history(line)

    def line(self, prompt: str) -> str:
        """Read the next line, without its line end.

        Raises:
            EOFError: The input has ended.
        """
        edits = self._edits and not self._bytes
        return self._reading("" if edits else prompt, lambda: self._edited(prompt) if edits else self._read())

    def hidden_line(self, prompt: str) -> str:
        """Read a line without echo or history."""
        return self._reading(prompt, self._read_without_echo)

    def run(self, program: Callable[[], str]) -> str:
        """Run a program that uses the terminal; output is held back meanwhile.

        Raises:
            CinchError: The program failed, or there is no terminal.
        """
        if not self.is_terminal:
            raise CinchError("an editor needs a terminal")
        return self._reading("", program)

    def _reading(self, prompt: str, read: Callable[[], str]) -> str:
        self._writer.pause(prompt)
        try:
            self.is_reading = True
            self._check()
            return read()
        except BaseException:
            self.is_reading = False
            self._writer.interrupted()
            raise
        finally:
            self.is_reading = False
            self._writer.resume()

    def pasted(self) -> list[str]:
        """Return the other lines of a paste; empty for a pipe."""
        lines: list[str] = []
        while self.is_terminal and (b"\n" in self._bytes or self._is_ready(PASTE_GAP_S)):
            found = self.take()
            if not found:
                break
            lines += found
        return lines

    def take(self) -> list[str]:
        """Return the complete lines that a terminal has ready; sets `is_at_end` at the end of the input."""
        if self._is_ready(0):
            self._fill()
        *lines, self._bytes = self._bytes.split(b"\n")
        if lines:
            self._writer.echoed()
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
            self._writer.typed(line)
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


FENCE = "```"
CONTINUATION = "\\"


def is_complete(lines: Sequence[str]) -> bool:
    """Return True if the prompt needs no more lines."""
    if sum(line.lstrip().startswith(FENCE) for line in lines) % 2:
        return False
    return not lines[-1].endswith(CONTINUATION) if lines else False


def join_lines(lines: Sequence[str]) -> str:
    """Join the lines of a prompt without continuation backslashes; a fence around the whole prompt is removed."""
    if len(lines) > 1 and lines[0].strip() == FENCE and lines[-1].strip() == FENCE:
        return "\n".join(lines[1:-1])
    *body, last = lines
    kept: list[str] = []
    is_fenced = False
    for line in body:
        is_fenced ^= line.lstrip().startswith(FENCE)
        kept.append(line if is_fenced else line.removesuffix(CONTINUATION))
    return "\n".join([*kept, last])


class Completer:
    """Completer for readline, which calls it with 0, 1, 2… for one match after the other."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: list[str] = []

    def __call__(self, word: str, number: int) -> str | None:
        # Few starts have a line that is edited.
        import readline

        if number == 0:
            before = readline.get_line_buffer()[: readline.get_begidx()]
            self._found = completions(before, word, self._root)
            if not self._found:
                # A paste may hold tabs.
                readline.insert_text("\t")
        return self._found[number] if number < len(self._found) else None


def completions(before: str, word: str, root: Path) -> list[str]:
    """Return the completions of a word, given the text before it."""
    if not before and word.startswith(tuple(SIGILS)):
        return sorted(f"{name} " for name, _ in builtin_commands().named if name.startswith(word.lower()))
    if word.startswith("@"):
        return [f"@{path}" for path in _paths(word[1:], root)]
    if not before and word.startswith("!"):
        sigil = word[: len(word) - len(word.lstrip("!"))]
        return [f"{sigil}{path}" for path in _paths(word[len(sigil) :], root)]
    return _paths(word, root) if before.startswith("!") else []


def _paths(typed: str, root: Path) -> list[str]:
    folder, slash, name = typed.rpartition("/")
    found = names_in(root, folder or slash or ".", name)
    # A blank would end the path where it stands unquoted.
    return [f"{folder}{slash}{each}{'' if each.endswith('/') else ' '}" for each in found if " " not in each]
