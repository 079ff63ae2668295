"""Which projects' configuration files a person has trusted, and what an untrusted one may not set."""

from __future__ import annotations

import json
from pathlib import Path

from cinch_tui.config_file import ConfigFile
from cinch_tui.private_file import write_private
from cinch_tui.settings import Key, Value

# From strict to loose; a stranger's file may only go to the left.
STRICTNESS: tuple[Value, ...] = ("on", "smart", "off")


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


def may_set(key: Key, value: Value, below: Value) -> bool:
    """Whether an untrusted file may give this key this value where it would be `below` without it."""
    match key.guard:
        case "open":
            return True
        case "held":
            return False
        case "tighten":
            return _is_as_strict(value, below)


def _is_as_strict(value: Value, below: Value) -> bool:
    if isinstance(value, bool):
        return value or not below
    if isinstance(value, int | float) and isinstance(below, int | float):
        # Zero is no limit at all.
        return value != 0 and (below == 0 or value <= below)
    return STRICTNESS.index(value) <= STRICTNESS.index(below)


def _place(file: ConfigFile) -> str:
    return str(file.path.resolve())


def _hash(file: ConfigFile) -> str:
    import hashlib  # only a project with a file of its own needs it

    return hashlib.sha256(file.text.encode()).hexdigest()
