"""Labelled output lines, live output included; a line that was written is never overwritten."""

from __future__ import annotations

import asyncio
import io
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TextIO

from cinch_tui.notifications.channels import BELL
from cinch_tui.reports.notices import NoticeLevel
from harness.terminal_text import FragmentEscaper, escape_controls
from harness.views import TerminalView, View

INDENT = "  "
_LABELS: dict[NoticeLevel, str] = {"info": "Notice", "warning": "Warning", "error": "Error"}
_LINE_BEGINS = re.compile(r"\n(?=[^\n])")


class LineWriter:
    """Thread-safe writer. Output is held back while the user types a line.

    `on_failure` is called once when the output is closed.
    """

    def __init__(self, stream: TextIO) -> None:
        self.on_failure: Callable[[], None] = lambda: None
        self.failed = False
        self._stream = stream
        self._lock = threading.RLock()
        self._waiting: list[str] | None = None
        self._word = ""
        self._escaper = FragmentEscaper()
        self._is_fresh = True
        self._is_broken_off = False
        if isinstance(stream, io.TextIOWrapper):
            # A letter the encoding lacks must cost that letter alone.
            stream.reconfigure(errors="replace")  # pyright: ignore[reportUnknownMemberType] whatever buffer it wraps

    def write(self, label: str, text: str = "") -> None:
        """Write a labelled text; lines after the first are indented."""
        first, *more = escape_controls(text).expandtabs(4).split("\n")
        lines = [f"{label}: {first}".rstrip(), *(f"{INDENT}{line}".rstrip() for line in more)]
        with self._lock:
            self.end()
            self._write("\n".join(lines) + "\n")

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self.write(_LABELS[level], text)

    def write_plain(self, text: str) -> None:
        """Write a text without a label."""
        with self._lock:
            self.end()
            self._write(escape_controls(text).expandtabs(4) + "\n")

    def begin(self, label: str) -> None:
        """Begin a text that is streamed in fragments."""
        with self._lock:
            self.end()
            self._is_broken_off = False
            self._write(f"{label}: ")

    def add(self, fragment: str) -> None:
        """Add a fragment; only complete words are written, so that a screen reader does not split them."""
        with self._lock:
            text = self._word + self._escaper.add(fragment.replace("\r\n", "\n").replace("\r", "\n"))
            end = max(text.rfind(" "), text.rfind("\n")) + 1
            self._word = text[end:]
            if end:
                self._flow(text[:end])

    def end(self) -> None:
        """End a streamed text, or interrupt it for other output."""
        with self._lock:
            self._word += self._escaper.end()
            if self._word:
                self._flow(self._word)
                self._word = ""
            if not self._is_fresh:
                self._is_broken_off = True
                self._write("\n")

    @property
    def is_paused(self) -> bool:
        """True while the user types a line."""
        return self._waiting is not None

    def pause(self, prompt: str) -> None:
        """Write a prompt and hold back output while the user types; an empty prompt is written by readline."""
        with self._lock:
            self.end()
            self._write(prompt)
            self._waiting = []
            self._is_fresh = True

    def resume(self) -> None:
        """Write the output that was held back."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
            for text in waiting or ():
                self._write(text)

    def bell(self) -> None:
        """Ring the terminal bell."""
        if self._stream.isatty():
            self._put(BELL)

    def interrupted(self) -> None:
        """End the line after an interrupt: the cursor is behind the typed text."""
        self._put("\n")

    def typed(self, line: str) -> None:
        """Echo a line from a pipe."""
        self._put(escape_controls(line) + "\n")

    def echoed(self) -> None:
        """Note that the terminal has echoed Enter, so that a new line has begun."""
        with self._lock:
            self._is_broken_off |= not self._is_fresh
            self._is_fresh = True

    def _flow(self, text: str) -> None:
        """Write streamed text; every line but the first is indented."""
        if self._is_broken_off:
            # Something else stands between two of its words.
            text, self._is_broken_off = text.lstrip(" "), False
        beginning = INDENT if self._is_fresh and text[:1] not in ("", "\n") else ""
        self._write(beginning + _LINE_BEGINS.sub(f"\n{INDENT}", text))

    def _write(self, text: str) -> None:
        self._is_fresh = text.endswith("\n")
        if self._waiting is not None:
            self._waiting.append(text)
        else:
            self._put(text)

    def _put(self, text: str) -> None:
        if self.failed:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self.failed = True
            with suppress(OSError, ValueError):
                self._stream.close()
            self.on_failure()


LIVE_INTERVAL_S = 1.0
"""Time before the first lines and between further ones, in seconds."""
MAX_LIVE_LINES = 10
"""Lines printed at a time; of more, the last ones."""


class LiveOutput:
    """Prints each line of one command once, when it is complete. Belongs to the event loop of the agent.

    A command that ends within `pace` prints nothing here. While the user types a line, the output waits. `label`
    returns the label of the lines.
    """

    def __init__(
        self, writer: LineWriter, label: Callable[[], str], *, most: int = MAX_LIVE_LINES, pace: float = LIVE_INTERVAL_S
    ) -> None:
        self.has_printed = False
        self._writer = writer
        self._label = label
        self._most = most
        self._pace = pace
        self._view = TerminalView("", "")
        self._position = 0
        self._loop = asyncio.get_running_loop()
        self._next_at = self._loop.time() + pace
        self._timer: asyncio.TimerHandle | None = None

    def update(self, view: View) -> None:
        """Take the output so far, to be printed when it is time."""
        if isinstance(view, TerminalView):
            self._view = view
            self._timer = self._timer or self._loop.call_at(self._next_at, self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def finish(self, view: View | None) -> None:
        """Print the rest of the output of a command that has ended, when some of it was printed before."""
        self.stop()
        if isinstance(view, TerminalView):
            self._view = view
        if self.has_printed:
            self._print(len(self._view.output))

    def _tick(self) -> None:
        self._timer, self._next_at = None, self._loop.time() + self._pace
        if self._writer.is_paused:
            self._timer = self._loop.call_at(self._next_at, self._tick)
        else:
            self._print(self._view.output.rfind("\n") + 1)

    def _print(self, end: int) -> None:
        """Print the output up to `end`, from where the last call of this ended."""
        left_out = self._view.left_out or 0
        text = self._view.output[max(0, self._position - left_out) : end]
        has_gap, self._position = self._position < left_out, max(self._position, left_out + end)
        if text.strip():
            self.has_printed = True
            lines = text.strip("\n").split("\n")
            self._writer.write(self._label(), "\n".join(last_lines(lines, self._most, has_gap=has_gap)))


def last_lines(lines: Sequence[str], most: int, *, has_gap: bool) -> list[str]:
    """Return the last lines, after one that says how many others there are; with a gap before them it cannot say."""
    if has_gap:
        return ["[lines left out]", *lines[-most:]]
    if len(lines) <= most + 1:
        return list(lines)
    return [f"[{len(lines) - most} more lines]", *lines[-most:]]
