"""The standard output of print mode: JSON lines and text, and what happens when nobody reads them any more."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from harness.messages import JsonObject
from harness.session.records import to_bytes
from harness.terminal_text import strip_escapes


class Output:
    """Writes until the reader goes away or the disk is full, then stays silent and calls `on_failure` once.

    `problem` is what to tell the person: nothing when a reader simply had enough.
    """

    def __init__(self, stream: TextIO) -> None:
        self.problem = ""
        self.on_failure: Callable[[], None] = lambda: None
        self.stream = stream
        self._failed = False

    def write_text(self, text: str) -> None:
        """Text and a newline. A terminal is protected from control sequences; a file or pipe gets the text as it is."""
        shown = strip_escapes(text) if self.stream.isatty() else text
        self.encode_as(None)
        self._write(shown if shown.endswith("\n") else shown + "\n")

    def write_json(self, record: JsonObject) -> None:
        """One line, UTF-8 whatever the locale says."""
        self.encode_as("utf-8")
        self._write(to_bytes(record).decode())

    def encode_as(self, encoding: str | None) -> None:
        """From here on; without one as the locale says. A character that it lacks costs itself and not the answer."""
        if isinstance(self.stream, io.TextIOWrapper):
            self.stream.reconfigure(encoding=encoding, errors="replace")  # pyright: ignore[reportUnknownMemberType] whatever buffer it wraps

    def _write(self, text: str) -> None:
        if self._failed:
            return
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError as error:
            self._failed = True
            self.problem = "" if isinstance(error, BrokenPipeError) else f"cannot write the answer: {error.strerror}"
            self._discard_the_rest()
            self.on_failure()

    def _discard_the_rest(self) -> None:
        """Python flushes again at exit and would complain there; what is still buffered has nowhere to go."""
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
