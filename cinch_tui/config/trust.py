"""Which projects' configuration files a person has trusted."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from cinch_tui.config.file import ConfigFile
from cinch_tui.config.private_file import write_private


class TrustStore:
    """Trust is given to one content of one file: a change takes it away, a copy elsewhere does not have it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def trusts(self, file: ConfigFile) -> bool:
        return self._read().get(_place(file)) == _hash(file)

    def trust(self, file: ConfigFile) -> None:
        """Remember this content as trusted.

        Raises:
            OSError: it could not be written down.
        """
        known = self._read() | {_place(file): _hash(file)}
        write_private(self._path, json.dumps(known, indent=2) + "\n")

    def _read(self) -> dict[str, str]:
        try:
            known: object = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # Unreadable means that nothing is trusted; the person is asked again.
            return {}
        return {str(place): str(digest) for place, digest in known.items()} if isinstance(known, dict) else {}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] made texts here


def _place(file: ConfigFile) -> str:
    return str(file.path.resolve())


def _hash(file: ConfigFile) -> str:
    return hashlib.sha256(file.text.encode()).hexdigest()
