"""Sources of plugins: a folder on this machine, or a git repository."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from harness.errors import ConfigError
from harness.terminal_text import escape_controls

_GITHUB = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_SSH = re.compile(r"[A-Za-z0-9][\w.-]*@[A-Za-z0-9][\w.-]*:[^\s:][^\s]*")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}")
_ENCRYPTED = ("https://", "ssh://", "file://")


class Source(Struct, frozen=True):
    """Origin of a plugin, or of a catalog of plugins."""

    place: str
    """Path of a folder, or address of a git repository."""
    is_git: bool = False
    """True for a git repository."""
    ref: str = ""
    """Branch, tag or commit; empty for the default branch."""
    folder: str = ""
    """Folder in it; empty for all of it."""

    def __str__(self) -> str:
        ref = f"#{self.ref}" if self.ref else ""
        return f"{self.place}{ref}" + (f", folder {self.folder}" if self.folder else "")


def parse_source(text: str, cwd: Path) -> Source:
    """Return the source that a user names: a path, an address of a git repository, or OWNER/REPO on GitHub.

    `#REF` after a repository names a branch, a tag or a commit. A relative path with a slash begins with `./`, so that
    no folder of a project can take the place of a repository.

    Raises:
        ConfigError: It is none of these.
    """
    address, _, ref = text.partition("#")
    if _GITHUB.fullmatch(address.partition("@")[0]):
        name, _, tag = address.partition("@")
        return git_source(f"https://github.com/{name.removesuffix('.git')}.git", ref or tag)
    if "://" in address or "::" in address or _SSH.fullmatch(address):
        return git_source(address, ref)
    folder = cwd / Path(text).expanduser()
    if not folder.is_dir():
        raise ConfigError(
            f"{escape_controls(text)} is no folder; a plugin comes from a folder, a git URL, or OWNER/REPO on GitHub"
        )
    return Source(str(folder.resolve()))


def git_source(address: str, ref: str = "", folder: str = "") -> Source:
    """Return a git repository as a source.

    Raises:
        ConfigError: The address, the name of the version or the folder is not acceptable.
    """
    shown = escape_controls(address)
    if not (address.startswith(_ENCRYPTED) or _SSH.fullmatch(address)) or not address.isprintable() or " " in address:
        raise ConfigError(f"{shown} is not supported; use an address that begins with https://, ssh:// or git@")
    if address.startswith("https://") and "@" in address.removeprefix("https://").partition("/")[0]:
        raise ConfigError("the address contains a user name or password; use a credential helper of git, or ssh")
    if ref and not _REF.fullmatch(ref):
        raise ConfigError(f"{escape_controls(ref)!r} is not the name of a branch, a tag or a commit")
    return Source(address, is_git=True, ref=ref, folder=inner_path(folder))


def inner_path(text: str) -> str:
    """Return a relative path as written in a manifest in its normal form, empty for the folder itself.

    Raises:
        ConfigError: The path leads out of the folder.
    """
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith(("/", "~")) or "\\" in text or ".." in parts or not text.isprintable():
        raise ConfigError(f"the path {escape_controls(text)!r} leads out of the plugin")
    return "/".join(parts)
