"""Flag that C code can read."""

from __future__ import annotations

import ctypes


class Flag:
    """Set from any thread, noticed by llama.cpp within a token."""

    def __init__(self) -> None:
        # As a C string it is empty until the flag is set.
        self.text = ctypes.create_string_buffer(2)

    def __bool__(self) -> bool:
        return self.text[0] != b"\0"

    def set(self) -> None:
        self.text[0] = b"\1"
