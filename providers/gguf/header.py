"""Header of a GGUF file: context window, chat template, parts; read without llama.cpp and without the weights."""

from __future__ import annotations

import mmap
import os
import re
import struct
from pathlib import Path

from msgspec import Struct

from harness.errors import ConfigError, ModelNotFound, RequestRejected

MAGIC = b"GGUF"
STRING, ARRAY = 8, 9
# struct format of each value type.
FORMS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
TEMPLATE = "tokenizer.chat_template"
PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)


class Header(Struct, frozen=True):
    """Header fields with a single value."""

    fields: dict[str, str | int | float | bool]

    @property
    def trained_window(self) -> int:
        """Return the context length of training in tokens; 0 if unknown."""
        window = self.fields.get(f"{self.fields.get('general.architecture')}.context_length", 0)
        return window if isinstance(window, int) else 0

    @property
    def template(self) -> str:
        """Return the chat template; empty if absent."""
        template = self.fields.get(f"{TEMPLATE}.tool_use") or self.fields.get(TEMPLATE, "")
        return template if isinstance(template, str) else ""

    @property
    def knows_tools(self) -> bool:
        return "tools" in self.template

    @property
    def thinks(self) -> bool:
        return "<think>" in self.template


def read_header(path: Path) -> Header:
    """Return the header of a file.

    Raises:
        ModelNotFound: The file does not exist or cannot be read.
        RequestRejected: It is not a valid GGUF file.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return Header(_Reader(data).fields())
    except FileNotFoundError as error:
        raise ModelNotFound(f"{path} does not exist") from error
    except OSError as error:
        raise ModelNotFound(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, struct.error) as error:
        raise RequestRejected(f"{path} is not a valid GGUF file; use another, or pull it again") from error


def parts_of(name: str) -> list[str]:
    """Return the file names of a model, in order; only this one unless it is a part of several."""
    found = PART.search(name)
    if found is None:
        return [name]
    numbers = range(1, int(found[2]) + 1)
    return [f"{name[: found.start()]}-{number:05}-of-{found[2]}{name[-len('.gguf') :]}" for number in numbers]


def missing_part(path: Path) -> Path | None:
    """Return the first missing file of a model."""
    return next((part for part in map(path.with_name, parts_of(path.name)) if not part.is_file()), None)


class _Reader:
    """Sequential reader; raises ValueError, KeyError or struct.error for an invalid file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def fields(self) -> dict[str, str | int | float | bool]:
        if self._data[:4] != MAGIC:
            raise ValueError("no GGUF")
        self._at = 4
        version, _, count = self._number("<I"), self._number("<Q"), self._number("<Q")
        if version not in (2, 3):
            raise ValueError(f"version {version}")
        fields: dict[str, str | int | float | bool] = {}
        for _ in range(int(count)):
            name, kind = self._string(), int(self._number("<I"))
            if kind == ARRAY:
                self._skip_array()
            else:
                fields[name] = self._string() if kind == STRING else self._number(FORMS[kind])
        return fields

    def _number(self, form: str) -> int | float | bool:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return value

    def _string(self) -> str:
        begin = self._at + 8
        self._skip_string()
        return self._data[begin : self._at].decode(errors="replace")

    def _skip_string(self) -> None:
        size = self._number("<Q")
        self._at += int(size)
        if self._at > len(self._data):
            raise ValueError("cut off")

    def _skip_array(self) -> None:
        kind, count = int(self._number("<I")), int(self._number("<Q"))
        if kind != STRING:
            self._at += struct.calcsize(FORMS[kind]) * count
            return
        for _ in range(count):
            self._skip_string()


VARIABLE = "CINCH_LOCAL_CONTEXT"
# Memory grows with the window; few machines have enough for the largest windows of today's models.
DEFAULT_LARGEST_WINDOW = 32_768
UNKNOWN_WINDOW = 4_096


def window_of(header: Header) -> int:
    """Return the configured window, otherwise the window of training up to a limit.

    Raises:
        ConfigError: The configured window is not a number.
    """
    return configured_window() or min(header.trained_window or UNKNOWN_WINDOW, DEFAULT_LARGEST_WINDOW)


def configured_window() -> int:
    """Return the configured window; 0 if absent.

    Raises:
        ConfigError: It is not a number.
    """
    wanted = os.environ.get(VARIABLE, "").strip()
    if wanted and not (wanted.isdecimal() and int(wanted)):
        raise ConfigError(f"{VARIABLE} is {wanted!r}: set a number of tokens, such as 16384")
    return int(wanted or 0)
