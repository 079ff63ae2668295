"""Log output of llama.cpp, kept off the terminal: it goes to our log, and recent errors to error messages."""

from __future__ import annotations

import ctypes
import logging
from collections import deque
from functools import cache

import llama_cpp

logger = logging.getLogger(__name__)

WARNING, ERROR, CONTINUED = 3, 4, 5
KEPT_LINES = 12


class LogCapture:
    """Recent errors. llama.cpp has one log for the whole process."""

    def __init__(self) -> None:
        self._errors: deque[str] = deque(maxlen=KEPT_LINES)
        # C code calls it as long as the process lives.
        self._callback = llama_cpp.llama_log_callback(self._on_log)

    def install(self) -> None:
        llama_cpp.llama_log_set(self._callback, ctypes.c_void_p(0))

    def take_errors(self) -> list[str]:
        """Return and clear the errors since the last call."""
        errors = list(self._errors)
        self._errors.clear()
        return errors

    def _on_log(self, level: int, text: bytes, _: ctypes.c_void_p) -> None:
        line = text.decode(errors="replace").strip(" .\n")
        if not line or level == CONTINUED:
            return
        if level == ERROR:
            self._errors.append(line)
        # Never a warning: without logging configuration those go to the terminal.
        logger.log(logging.INFO if level in (WARNING, ERROR) else logging.DEBUG, "%s", line)


@cache
def log_capture() -> LogCapture:
    """Return the capture; from the first call on, llama.cpp prints nothing."""
    capture = LogCapture()
    capture.install()
    llama_cpp.llama_backend_init()
    return capture
