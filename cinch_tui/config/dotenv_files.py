"""Variables of `.env` files: API keys and others that the user named, for cinch itself.

They are looked up after those of the process, and never become part of its environment: commands do not receive them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from harness.errors import NotAFile
from harness.terminal_text import escape_controls
from harness.workspace.disk import is_there, read_small_text

NAME = ".env"
MAX_BYTES = 64 * 1024
"""Maximum size of a file, in bytes."""


class DotenvFile(NamedTuple):
    """A file that may exist."""

    path: Path
    """Its path."""
    is_trusted: Callable[[], bool] = lambda: True
    """Returns True if it may be read."""


class ExtendedEnvironment(NamedTuple):
    """Environment of cinch with the variables of `.env` files."""

    values: Mapping[str, str]
    """The variables."""
    problems: tuple[str, ...] = ()
    """Files that are not used, with the reason."""


def with_dotenv(environ: Mapping[str, str], names: Sequence[str], files: Sequence[DotenvFile]) -> ExtendedEnvironment:
    """Return an environment with variables of `.env` files; those that exist already are kept.

    Args:
        environ: Environment of the process.
        names: Name patterns of the variables that are read. Settings of cinch (`CINCH_*`) never are.
        files: Files that may exist, the strongest first.
    """
    values: dict[str, str] = {}
    problems: list[str] = []
    for path, is_trusted in files:
        if not is_there(path):
            continue
        if not is_trusted():
            problems.append(f"{path} is not read, since this folder is not trusted; /trust or --trust changes that")
            continue
        try:
            values = {name: value for name, value in _read(path).items() if _is_wanted(name, names)} | values
        except (NotAFile, OSError, ValueError) as error:
            problems.append(f"{path} is not read: {error}")
    return ExtendedEnvironment({**values, **environ}, tuple(map(escape_controls, problems)))


def _read(path: Path) -> dict[str, str]:
    # Imported here because few users turn it on.
    from dotenv import dotenv_values

    text = read_small_text(path, MAX_BYTES)
    # References to other variables are not expanded: a file could send one secret in place of another.
    return {name: value for name, value in dotenv_values(stream=StringIO(text), interpolate=False).items() if value}


def _is_wanted(name: str, patterns: Sequence[str]) -> bool:
    return not name.startswith("CINCH_") and any(fnmatchcase(name, pattern) for pattern in patterns)
