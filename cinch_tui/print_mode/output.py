"""Standard output of print mode: text and JSON Lines, with handling of closed pipes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from harness.messages import JsonObject
from harness.session.records import to_bytes
from harness.terminal_text import escape_controls, strip_escapes


class Output:
    """Output stream; after a write error it discards further output and calls `on_failure` once.

    `problem` is the error for the user; empty if the reader closed the pipe.
    """

    def __init__(self, stream: TextIO) -> None:
        self.problem = ""
        self.on_failure: Callable[[], None] = lambda: None
        self.stream = stream
        self._failed = False

    def write_text(self, text: str) -> None:
        """Write text and a newline; made safe for a terminal, but unchanged for a file or pipe."""
        shown = escape_controls(strip_escapes(text)) if self.stream.isatty() else text
        self.encode_as(None)
        self._write(shown if shown.endswith("\n") else shown + "\n")

    def write_json(self, record: JsonObject) -> None:
        """Write one JSON line, always in UTF-8."""
        self.encode_as("utf-8")
        self._write(to_bytes(record).decode())

    def encode_as(self, encoding: str | None) -> None:
        """Set the encoding, None for that of the locale; characters it lacks are replaced."""
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
        """Redirect the stream to /dev/null, since Python flushes it again at exit and would report an error."""
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
