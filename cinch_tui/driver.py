"""Textual's driver, taking over the terminal from the first frame without a flash, and with every key pressed there."""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from cinch_tui.first_frame import FirstFrame

ALTERNATE_SCREEN = "\x1b[?1049h"
CHUNK = 4096
PATIENCE = 0.1
"""Seconds in which a lone Esc is told from the beginning of another key, and the wish to stop is seen."""


@runtime_checkable
class Framed(Protocol):
    """An app that may find a first frame on the terminal."""

    frame: FirstFrame | None


class TakingOver(LinuxDriver):
    """Takes over when it first starts; afterwards, as after a time in the background, it is Textual's own."""

    _has_begun = False
    _takes_over = False
    _taken: FirstFrame | None = None

    def start_application_mode(self) -> None:
        frame = self._app.frame if isinstance(self._app, Framed) and not self._has_begun else None
        self._has_begun = True
        if frame is None:
            super().start_application_mode()
            return
        frame.take_over()
        self._takes_over, self._taken = True, frame
        super().start_application_mode()
        # Textual has found it as the frame had made it.
        self._takes_over, self.attrs_before = False, frame.attributes

    def write(self, data: str) -> None:
        # Some terminals clear the screen when they are told to show what they show already.
        if not (self._takes_over and data == ALTERNATE_SCREEN):
            super().write(data)

    def run_input_thread(self) -> None:
        frame, self._taken = self._taken, None
        if frame is None:
            super().run_input_thread()
            return
        # Before something has the focus, Textual drops what is typed.
        while not (frame.wait_for_prompt(PATIENCE) or self.exit_event.is_set()):
            pass
        self._read_on(frame.keys)

    def _read_on(self, chunk: bytes) -> None:
        """Read keys from where the frame stopped, which may be the middle of a paste."""
        parser, decoder = XTermParser(), getincrementaldecoder("utf-8")("replace")
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                # To feed nothing means to a parser that nothing more will come.
                text = decoder.decode(chunk)
                for event in (*(parser.feed(text) if text else ()), *parser.tick()):
                    self.process_message(event)
                chunk = os.read(self.fileno, CHUNK) if selector.select(PATIENCE) else b""
