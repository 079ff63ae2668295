"""Dialects of a start: the names under which models are offered the tools, from the setting `tools.dialect`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import cache

from cinch_tui.fuzzy_match import did_you_mean
from harness.errors import ConfigError
from harness.messages import ModelSpec
from harness.ports.dialect import Dialect

OWN = "cinch"
NAMES = (OWN, "claude")


def chosen_dialect(entries: Sequence[str]) -> Callable[[ModelSpec], Dialect | None] | None:
    """Return a function that chooses the dialect of a model; None if all have the names of cinch.

    Args:
        entries: Names of dialects, each for all models, or `PATTERN=NAME` for those whose name matches; the first one
            that fits a model counts.

    Raises:
        ConfigError: A dialect does not exist.
    """
    pairs = [_parsed(entry) for entry in entries]
    if not any(name != OWN for _, name in pairs):
        return None

    def choose(spec: ModelSpec) -> Dialect | None:
        name = next((name for pattern, name in pairs if fnmatchcase(spec.name, pattern)), OWN)
        return None if name == OWN else _dialect(name)

    return choose


def _parsed(entry: str) -> tuple[str, str]:
    """Return the pattern and the dialect of an entry."""
    pattern, _, name = entry.rpartition("=")
    if name not in NAMES:
        raise ConfigError(f"tools.dialect: there is no dialect {name!r}{did_you_mean(name, NAMES)}")
    return pattern or "*", name


@cache
def _dialect(name: str) -> Dialect:
    del name
    # Imported here because few users choose a dialect.
    from tools.dialects.claude import claude_dialect

    return claude_dialect()
