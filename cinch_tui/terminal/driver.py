"""Textual driver with terminal guard; takes over from the first frame without flicker and keeps its key presses."""

from __future__ import annotations

import errno
import os
import selectors
import signal
import sys
import threading
from codecs import getincrementaldecoder
from collections.abc import Callable
from typing import Protocol, TextIO, cast, runtime_checkable

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from cinch_tui.terminal.first_frame import FirstFrame, read_pending_input
from cinch_tui.terminal.frame_output import optimize_sgr, place_cursor
from cinch_tui.terminal.guard import Guard
from cinch_tui.terminal.key_protocols import enabling, is_in_konsole, restoring, translate_legacy_keys
from cinch_tui.terminal.multiplexers import clear_before_exit
from cinch_tui.terminal.paste_parser import PasteDetector

ALTERNATE_SCREEN = "\x1b[?1049h"
CHUNK = 4096
POLL_INTERVAL_S = 0.1
"""Poll interval in seconds: distinguishes a lone Esc from an escape sequence, and checks for the stop request."""


@runtime_checkable
class Guarded(Protocol):
    """An app whose terminal is guarded and that may find a first frame on it."""

    guard: Guard
    frame: FirstFrame | None
    has_prompt: threading.Event

    @property
    def enter_sequences(self) -> str: ...

    @property
    def leave_sequences(self) -> str: ...


class SafeStream:
    """Output stream that ignores writes after the terminal hung up.

    Otherwise the writer thread would end, and a caller waiting for room in its queue would block forever.
    """

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen
        self._is_gone = False

    def write(self, text: str) -> None:
        self._if_open(lambda: self._screen.write(text))

    def flush(self) -> None:
        self._if_open(self._screen.flush)

    def fileno(self) -> int:
        return self._screen.fileno()

    def _if_open(self, act: Callable[[], object]) -> None:
        if not self._is_gone:
            try:
                act()
            except OSError:
                self._is_gone = True


class GuardedDriver(LinuxDriver):
    """Linux driver that takes over the first frame, if there is one, on its first start."""

    _takes_over = False
    _taken: FirstFrame | None = None

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType] its App names no type
        self._has_begun = False
        self._is_start = True
        self._parent = os.getppid()
        self._guard = app.guard if isinstance(app, Guarded) else None
        # stderr may be redirected to a file; fall back to stdout.
        screen = sys.__stderr__ if sys.__stderr__ and sys.__stderr__.isatty() else sys.__stdout__
        assert screen is not None, "cli.py has seen that it is a terminal"
        # The locale's encoding is often wrong for the terminal, and drawing requires UTF-8.
        screen.reconfigure(encoding="utf-8", errors="replace")
        # `SafeStream` has all methods that the writer thread uses.
        self._file = cast("TextIO", SafeStream(screen))

    def start_application_mode(self) -> None:
        frame = self._app.frame if isinstance(self._app, Guarded) and not self._has_begun else None
        self._has_begun = True
        if frame is None:
            super().start_application_mode()
        else:
            frame.take_over()
            self._takes_over, self._taken = True, frame
            super().start_application_mode()
            # Textual recorded the attributes that the frame had set.
            self._takes_over, self.attrs_before = False, frame.attributes
        if self._guard is not None:
            self._guard.set_reset(_reset_sequences())
        # Unoptimized: the optimizer would drop a reset when no style is active.
        super().write(enabling(os.environ))
        if isinstance(self._app, Guarded):
            self.write(self._app.enter_sequences)
        if self._guard is not None and self.attrs_before is not None and self._is_in_front():
            self._guard.acquire(self._file.fileno(), self.attrs_before)

    def stop_application_mode(self) -> None:
        if isinstance(self._app, Guarded):
            self.write(self._app.leave_sequences)
        super().write(_reset_sequences())
        super().stop_application_mode()

    def close(self) -> None:
        """Flush pending output, then release the guard."""
        super().close()
        if self._guard is not None:
            self._guard.release()

    def _is_in_front(self) -> bool:
        try:
            return os.tcgetpgrp(self.fileno) == os.getpgrp()
        except OSError:
            return False

    def _sigtstp_application(self, *_: object) -> None:
        """Stop the whole process group: the shell waits for the process it started."""
        if self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
        os.killpg(0, signal.SIGSTOP)

    def write(self, data: str) -> None:
        # Some terminals clear the screen when asked to switch to the screen already shown.
        is_needless = self._takes_over and data == ALTERNATE_SCREEN
        writer = self._writer_thread
        # The writer thread ends when the terminal hangs up; filling its queue then would block forever.
        if not is_needless and (writer is None or writer.is_alive()):
            super().write(place_cursor(optimize_sgr(data)))

    def run_input_thread(self) -> None:
        try:
            keys = self._typed_early()
            self._wait_for_prompt()
            self._read_keys(keys)
        except OSError:
            # The terminal hung up, or the shell that lent it is gone. Only a signal to the main thread interrupts its
            # wait.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGHUP)

    def _typed_early(self) -> bytes:
        """Return the keys typed before the app had the terminal, except text the first frame has shown."""
        frame, self._taken = self._taken, None
        if frame is not None:
            return frame.keys
        is_start, self._is_start = self._is_start, False
        return read_pending_input(self.fileno) if is_start else b""

    def _wait_for_prompt(self) -> None:
        """Wait until the prompt has the focus: Textual drops keys while nothing is focused."""
        if isinstance(self._app, Guarded):
            while not (self._app.has_prompt.wait(POLL_INTERVAL_S) or self.exit_event.is_set()):
                pass

    def _read_keys(self, chunk: bytes) -> None:
        """Read keys, starting with the first frame's rest, which may end in the middle of a paste."""
        parser, decoder = PasteDetector(), getincrementaldecoder("utf-8")("replace")
        in_konsole = is_in_konsole(os.environ)
        # Empty data would mean end of input to the parser.
        if text := translate_legacy_keys(decoder.decode(chunk), in_konsole=in_konsole):
            for event in parser.feed_keys(text):
                self.process_message(event)
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                chunk = _read(self.fileno) if selector.select(POLL_INTERVAL_S) else b""
                text = translate_legacy_keys(decoder.decode(chunk), in_konsole=in_konsole)
                for event in (*(parser.feed(text) if text else ()), *parser.tick()):
                    self.process_message(event)
                if not chunk and os.getppid() != self._parent and not self._is_in_front():
                    raise OSError(errno.EIO, "the parent shell has exited")


def _reset_sequences() -> str:
    """Return the sequences that restore this terminal, in addition to those for every terminal."""
    return restoring(os.environ) + clear_before_exit(os.environ)


def _read(terminal: int) -> bytes:
    chunk = os.read(terminal, CHUNK)
    if not chunk:
        raise OSError(errno.EIO, "the terminal hung up")
    return chunk
