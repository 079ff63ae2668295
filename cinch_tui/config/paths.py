"""Folders of configuration, data, state and cache, and writing files there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode

from harness.workspace.disk import is_there, write_atomically

T = TypeVar("T")
APP = "cinch"
PROJECT_FOLDER = ".cinch"
MANAGED_FILE = Path("/etc/cinch/managed.toml")
"""Configuration of the administrator, which users can only make stricter."""


class Paths(Struct, frozen=True):
    """The four folders of cinch; each is created when something is written to it."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def credentials_file(self) -> Path:
        # Not in the configuration folder, which users keep in public repositories.
        return self.data / "credentials.json"

    @property
    def trust_file(self) -> Path:
        return self.state / "trusted.json"

    @property
    def choice_file(self) -> Path:
        return self.state / "model.json"

    @property
    def panels_file(self) -> Path:
        return self.state / "panels.json"

    @property
    def symbol_cache(self) -> Path:
        return self.cache / "symbols"

    @property
    def log_file(self) -> Path:
        return self.state / "cinch.log"


def find_paths(environ: Mapping[str, str]) -> Paths:
    """Return the system's standard folders; `CINCH_HOME` moves all of them under one folder."""
    home = environ.get("CINCH_HOME", "")
    if home:
        root = Path(home).expanduser().absolute()
        return Paths(config=root, data=root / "data", state=root / "state", cache=root / "cache")
    # Imported here because it is not needed with `CINCH_HOME` and slows down every start.
    from platformdirs import PlatformDirs

    system = PlatformDirs(APP, appauthor=False)
    return Paths(
        config=system.user_config_path,
        data=system.user_data_path,
        state=system.user_state_path,
        cache=system.user_cache_path,
    )


def project_config_file(cwd: Path) -> Path | None:
    """Return the nearest `.cinch/config.toml` in `cwd` or its parents, up to the root of the git repository.

    Outside a repository only `cwd` itself is searched, so that a file in a shared parent folder has no effect.
    """
    return _nearest(cwd, "config.toml")


def local_config_file(cwd: Path) -> Path | None:
    """Return the nearest `.cinch/config.local.toml`, which is found like the project's file; git should ignore it."""
    return _nearest(cwd, "config.local.toml")


def _nearest(cwd: Path, name: str) -> Path | None:
    upwards = (cwd, *cwd.parents)
    root = next((folder for folder in upwards if is_there(folder / ".git")), cwd)
    inside = upwards[: upwards.index(root) + 1]
    found = (folder / PROJECT_FOLDER / name for folder in inside)
    return next((path for path in found if _may_be_file(path)), None)


def _may_be_file(path: Path) -> bool:
    """Return True if the file exists or cannot be checked, so that its settings are not silently ignored."""
    try:
        return path.is_file()
    except PermissionError:
        return True


def write_private(path: Path, content: str | bytes) -> None:
    """Replace a file atomically, mode 0600; create its folder, mode 0700, if it is missing.

    Raises:
        OSError: the file could not be written; the previous content is untouched.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, content.encode() if isinstance(content, str) else content)


def load_json(path: Path, kind: type[T]) -> T | None:
    """Return the content of a file; None if it is missing, damaged or of another type."""
    with suppress(OSError, ValueError, DecodeError):
        return decode(path.read_bytes(), type=kind)
    return None


def save_json(path: Path, value: object) -> None:
    """Write a value that the user would not miss; an error is only logged."""
    try:
        write_private(path, f"{encode(value).decode()}\n")
    except OSError as error:
        import logging  # rarely needed

        logging.getLogger(__name__).warning("%s cannot be written: %s", path, error)
