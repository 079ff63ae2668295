"""Trusted project configuration files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from cinch_tui.config.file import ConfigFile
from cinch_tui.config.private_file import write_private


class TrustStore:
    """Hashes of trusted files by path: a changed or copied file is not trusted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def trusts(self, file: ConfigFile) -> bool:
        return self._read().get(_place(file)) == _hash(file)

    def trust(self, file: ConfigFile) -> None:
        """Store the file's content as trusted.

        Raises:
            OSError: the store could not be written.
        """
        known = self._read() | {_place(file): _hash(file)}
        write_private(self._path, json.dumps(known, indent=2) + "\n")

    def _read(self) -> dict[str, str]:
        try:
            known: object = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # With an unreadable store nothing is trusted.
            return {}
        return {str(place): str(digest) for place, digest in known.items()} if isinstance(known, dict) else {}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] converted to strings here


def _place(file: ConfigFile) -> str:
    return str(file.path.resolve())


def _hash(file: ConfigFile) -> str:
    return hashlib.sha256(file.text.encode()).hexdigest()
