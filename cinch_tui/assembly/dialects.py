"""Dialects of a start: the names under which models are offered the tools, from the setting `tools.dialect`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import cache

from cinch_tui.fuzzy_match import did_you_mean
from harness.errors import ConfigError
from harness.messages import ModelSpec
from harness.ports.dialect import Dialect

OWN, CLAUDE, CATS = NAMES = ("cinch", "claude", "cats")


def check_dialects(entries: Sequence[str]) -> None:
    """Check the names of dialects.

    Raises:
        ConfigError: One of them does not exist.
    """
    for entry in entries:
        _parsed(entry)


def chosen_dialect(entries: Sequence[str], start: ModelSpec) -> Callable[[ModelSpec], Dialect | None] | None:
    """Return a function that chooses the dialect of a model; None if all have the names of cinch.

    `cats` has tools of its own, so the model of the start decides about it, for the whole session.

    Args:
        entries: Names of dialects, each for all models, or `PATTERN=NAME` for those whose name matches; the first one
            that fits a model counts.
        start: Model of the start.

    Raises:
        ConfigError: A dialect does not exist.
    """
    pairs = [_parsed(entry) for entry in entries]
    if dialect_name(entries, start) == CATS:
        return lambda _: _dialect(CATS)
    if not any(name == CLAUDE for _, name in pairs):
        return None
    return lambda spec: _dialect(CLAUDE) if dialect_name(entries, spec) == CLAUDE else None


def dialect_name(entries: Sequence[str], spec: ModelSpec) -> str:
    """Return the name of the dialect of a model."""
    pairs = [_parsed(entry) for entry in entries]
    return next((name for pattern, name in pairs if fnmatchcase(spec.name, pattern)), OWN)


def _parsed(entry: str) -> tuple[str, str]:
    """Return the pattern and the dialect of an entry."""
    pattern, _, name = entry.rpartition("=")
    if name not in NAMES:
        raise ConfigError(f"tools.dialect: there is no dialect {name!r}{did_you_mean(name, NAMES)}")
    return pattern or "*", name


@cache
def _dialect(name: str) -> Dialect:
    # Imported here because few users choose a dialect.
    if name == CATS:
        from tools.dialects.cats.tools import cats_dialect

        return cats_dialect()
    from tools.dialects.claude import claude_dialect

    return claude_dialect()
