"""Cassette file: appending lines, and reading its exchanges."""

from __future__ import annotations

import base64
import json
import logging
import os
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from harness.errors import ConfigError
from harness.messages import JsonObject, JsonValue
from providers.cassette.secrets import Secrets

VERSION = 1
LONGEST_HEAD = 4096
LEFT = "left"
WHOLE = "whole"

logger = logging.getLogger(__name__)


class Exchange(Struct, eq=False):
    """One request and its response."""

    preset: str
    model: str
    base_url: str
    method: str
    url: str
    body: JsonValue = None
    status: int | None = None
    """None if there was no response."""

    headers: dict[str, str] = {}
    chunks: list[bytes] = []
    ending: str = ""
    """Empty if no end was recorded."""


class CassetteFile:
    """Appends to a cassette, without the secrets. A write error ends the recording and nothing else."""

    def __init__(self, path: Path, secrets: Secrets | None = None) -> None:
        self.path = path
        self.secrets = secrets or Secrets()
        self._is_broken = False

    def open(self) -> None:
        """Create the file, or check that it is a cassette; only its owner may read it.

        Raises:
            ConfigError: It cannot be written, or has other content.
        """
        try:
            with self._opened() as file:
                file.seek(0)
                if head := file.readline(LONGEST_HEAD):
                    _check(self.path, head)
                    self.path.chmod(0o600)
                    file.seek(-1, os.SEEK_END)
                    file.write(b"" if file.read() == b"\n" else b"\n")
                else:
                    file.write(_line({"type": "cassette", "version": VERSION}))
        except OSError as error:
            raise ConfigError(f"cannot record to {self.path}: {error.strerror}") from error

    def write(self, kind: str, exchange_id: str, fields: JsonObject) -> None:
        """Append a record of an exchange."""
        if self._is_broken:
            return
        try:
            with self._opened() as file:
                file.write(self.secrets.redacted(_line({"type": kind, "id": exchange_id, **fields})))
        except OSError as error:
            self._is_broken = True
            logger.warning("recording to %s stopped: %s", self.path, error.strerror)

    def _opened(self) -> BinaryIO:
        # Opened for each line, since another process may write to the same file.
        return os.fdopen(os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "a+b")


def read_exchanges(path: Path) -> list[Exchange]:
    """Return the exchanges of a cassette in the order of their requests.

    Raises:
        ConfigError: It cannot be read, is not a cassette, or was written by a later version.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"cannot read the cassette {path}: {error.strerror}") from error
    _check(path, lines[0])
    exchanges: dict[str, Exchange] = {}
    for line in lines[1:]:
        # An unreadable line is incomplete: the program was killed.
        if (record := _record(line)) is not None:
            _take(exchanges, record)
    return [*exchanges.values()]


def chunk_record(after: float, chunk: bytes) -> JsonObject:
    """Return the fields of a record of bytes, as text where possible."""
    try:
        return {"after": round(after, 4), "text": chunk.decode()}
    except UnicodeDecodeError:
        return {"after": round(after, 4), "base64": base64.b64encode(chunk).decode()}


def _check(path: Path, head: bytes) -> None:
    match _record(head):
        case {"type": "cassette", "version": int(version)} if version > VERSION:
            raise ConfigError(f"{path} was recorded by a later cinch (version {version}); this one reads {VERSION}")
        case {"type": "cassette", "version": int()}:
            return
        case _:
            raise ConfigError(f"{path} is not a cassette")


def _take(exchanges: dict[str, Exchange], record: JsonObject) -> None:
    match record:
        case {"type": "request", "id": str(key), "preset": str(preset), "model": str(model), "base_url": str(base_url)}:
            method, url = str(record.get("method")), str(record.get("url"))
            exchanges[key] = Exchange(preset, model, base_url, method, url, record.get("body"))
            return
        case {"id": str(key)} if key in exchanges:
            exchange = exchanges[key]
        case _:
            return
    match record:
        case {"type": "response", "status": int(status), "headers": dict(headers)}:
            exchange.status = status
            exchange.headers = {name: str(value) for name, value in headers.items()}
        case {"type": "chunk", "text": str(text)}:
            exchange.chunks.append(text.encode(errors="replace"))
        case {"type": "chunk", "base64": str(text)}:
            exchange.chunks.append(base64.b64decode(text))
        case {"type": "end", "how": str(how)}:
            exchange.ending = how
        case _:
            return


def _line(record: JsonObject) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _record(line: bytes) -> JsonObject | None:
    try:
        record: JsonValue = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
