"""Store of trusted folders, with the hashes of the files that trust is limited to.

Version 2 of `trusted.json` is `{"version": 2, "folders": {FOLDER: FolderRecord}}`. Version 1 mapped configuration files
to their hashes; it is read, and written as version 2 at the first change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from cinch_tui.config.paths import load_json, write_private
from cinch_tui.trust.inventory import Found, Inventory, trust_root
from harness.workspace.disk import read_small_text

TrustAnswer: TypeAlias = Literal["trust", "import", "later", "never", "revoke"]
"""Answer of the user.

- `trust`: trust the folder as it is now
- `import`: the same, and import the permissions of Claude Code from now on
- `later`: change nothing, and ask again at the next start
- `never`: do not ask again
- `revoke`: trust the folder no longer
"""

VERSION = 2
_LARGEST_COPY = 256 * 1024


class FolderTrust(Struct, frozen=True):
    """Trust in a folder with its present files."""

    is_trusted: bool
    """True if instruction files and other files that are not pinned take effect."""
    inert: frozenset[Path] = frozenset()
    """Files that have no effect: all of them without trust, else those that changed since."""
    must_ask: bool = False
    """True if the user has to be asked."""
    changed: tuple[Found, ...] = ()
    """Pinned files of a trusted folder that are new or changed, and that the user did not refuse yet."""
    answered: Literal["", "session", "trusted", "never"] = ""
    """Answer of the user; `session` for trust in this session only, empty for no answer."""
    since: str = ""
    """Date of the answer, as YYYY-MM-DD; empty if it is not stored."""


class FolderRecord(Struct, frozen=True, omit_defaults=True):
    """The stored answer about a folder."""

    answer: Literal["trusted", "never", ""] = ""
    """Answer of the user; empty if only single files are trusted, as by an earlier version of cinch."""
    since: str = ""
    """Date of the answer."""
    pins: dict[str, str] = {}
    """Hashes of the trusted files that are pinned, by path relative to the folder."""
    ignored: dict[str, str] = {}
    """Hashes of changed files that the user does not want to be asked about."""


class TrustStore:
    """The user's answers, by folder.

    Args:
        path: file of the store.
        session: hashes of the files that are trusted for this session only, by path; None if the folder is not.
    """

    def __init__(self, path: Path, session: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._session = session

    def state(self, inventory: Inventory) -> FolderTrust:
        """Return the trust in a folder."""
        if self._session is not None:
            new = [each for each in _pinned(inventory) if self._session.get(str(each.path)) != each.sha256]
            inert = frozenset(each.path for each in new)
            return FolderTrust(is_trusted=True, inert=inert, answered="session")
        record = self._folders().get(str(inventory.root), FolderRecord())
        if record.answer != "trusted":
            pinned = {each.path for each in _pinned(inventory) if _is_in(record.pins, inventory, each)}
            inert = frozenset(each.path for each in inventory.found if each.path not in pinned)
            must_ask = bool(inert) and not record.answer
            return FolderTrust(
                is_trusted=False, inert=inert, must_ask=must_ask, answered=record.answer, since=record.since
            )
        new = tuple(each for each in _pinned(inventory) if not _is_in(record.pins, inventory, each))
        changed = tuple(each for each in new if not _is_in(record.ignored, inventory, each))
        inert = frozenset(each.path for each in new)
        return FolderTrust(
            is_trusted=True,
            inert=inert,
            must_ask=bool(changed),
            changed=changed,
            answered="trusted",
            since=record.since,
        )

    def trusts(self, folder: Path, path: Path, sha256: str) -> bool:
        """Return True if a pinned file with this content is trusted.

        Args:
            folder: the folder that cinch works in.
            path: the file.
            sha256: hash of its content.
        """
        if self._session is not None:
            return self._session.get(str(path)) == sha256
        root = trust_root(folder)
        record = self._folders().get(str(root), FolderRecord())
        return record.pins.get(os.path.relpath(path, root)) == sha256

    def trust(self, inventory: Inventory) -> None:
        """Trust a folder with the content that its files have in the inventory.

        Raises:
            OSError: the store could not be written.
            ValueError: the folder is too wide to be trusted for longer than a session.
        """
        if not inventory.can_be_stored:
            raise ValueError(f"{inventory.root} can only be trusted for a session")
        pins = {inventory.relative(each.path): each.sha256 for each in _pinned(inventory)}
        self._put(inventory, FolderRecord("trusted", _today(), pins))
        for each in _pinned(inventory):
            self._keep_copy(each)

    def trust_file(self, inventory: Inventory, path: Path) -> bool:
        """Trust a pinned file with its present content, as after an edit of the user's. Other files are not affected.

        Returns:
            False if the folder is too wide to be trusted, or the file is not part of it.

        Raises:
            OSError: the store could not be written.
        """
        found = next((each for each in _pinned(inventory) if each.path == path), None)
        if found is None or not inventory.can_be_stored:
            return False
        record = self._folders().get(str(inventory.root), FolderRecord())
        self._put(inventory, replace(record, pins=record.pins | {inventory.relative(path): found.sha256}))
        self._keep_copy(found)
        return True

    def refuse(self, inventory: Inventory) -> None:
        """Do not ask about this folder again; in a trusted folder, not about the files that changed.

        Raises:
            OSError: the store could not be written.
        """
        record = self._folders().get(str(inventory.root), FolderRecord())
        if record.answer != "trusted":
            self._put(inventory, FolderRecord("never", _today()))
            return
        new = {inventory.relative(each.path): each.sha256 for each in self.state(inventory).changed}
        self._put(inventory, replace(record, ignored=record.ignored | new))

    def forget(self, inventory: Inventory) -> None:
        """Remove the answer about a folder, so that the user is asked again.

        Raises:
            OSError: the store could not be written.
        """
        self._write({name: each for name, each in self._folders().items() if name != str(inventory.root)})

    def trusted_text(self, inventory: Inventory, found: Found) -> str | None:
        """Return the text of a file when it was trusted; None if it is new or was not kept."""
        record = self._folders().get(str(inventory.root), FolderRecord())
        pin = record.pins.get(inventory.relative(found.path))
        try:
            return None if pin is None else read_small_text(self._copy(pin), _LARGEST_COPY)
        except (OSError, ValueError):
            return None

    def _copy(self, sha256: str) -> Path:
        return self._path.parent / "trusted" / sha256

    def _keep_copy(self, found: Found) -> None:
        """Keep the text of a file, so that a later change can be shown. A skill has none: its hash covers more."""
        if found.kind == "skill" or self._copy(found.sha256).exists():
            return
        try:
            write_private(self._copy(found.sha256), read_small_text(found.path, _LARGEST_COPY))
        except (OSError, ValueError):
            return

    def _put(self, inventory: Inventory, record: FolderRecord) -> None:
        self._write(self._folders() | {str(inventory.root): record})

    def _write(self, folders: Mapping[str, FolderRecord]) -> None:
        content = {"version": VERSION, "folders": to_builtins(folders)}
        write_private(self._path, json.dumps(content, indent=2) + "\n")

    def _folders(self) -> dict[str, FolderRecord]:
        # With an unreadable store nothing is trusted.
        stored = load_json(self._path, dict[str, object]) or {}
        try:
            if "version" not in stored:
                return _of_version_1(convert(stored, dict[str, str]))
            return convert(stored.get("folders"), dict[str, FolderRecord])
        except ValidationError:
            return {}


def session_pins(inventory: Inventory) -> dict[str, str]:
    """Return the hashes of all pinned files of a folder, to trust them for this session."""
    return {str(each.path): each.sha256 for each in _pinned(inventory)}


def _pinned(inventory: Inventory) -> list[Found]:
    return [each for each in inventory.found if each.is_pinned]


def _is_in(hashes: Mapping[str, str], inventory: Inventory, found: Found) -> bool:
    return hashes.get(inventory.relative(found.path)) == found.sha256


def _of_version_1(hashes: Mapping[str, str]) -> dict[str, FolderRecord]:
    folders: dict[str, FolderRecord] = {}
    for name, sha256 in hashes.items():
        path = Path(name)
        # The file is FOLDER/.cinch/config.toml.
        root = trust_root(path.parent.parent)
        record = folders.get(str(root), FolderRecord())
        folders[str(root)] = replace(record, pins=record.pins | {os.path.relpath(path, root): sha256})
    return folders


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
