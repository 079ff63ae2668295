"""A flag that C code can look at."""

from __future__ import annotations

import ctypes


class Flag:
    """Raised from any thread, seen by llama.cpp within a token."""

    def __init__(self) -> None:
        # As text in C it is empty until the flag is raised.
        self.text = ctypes.create_string_buffer(2)

    def __bool__(self) -> bool:
        return self.text[0] != b"\0"

    def set(self) -> None:
        self.text[0] = b"\1"
