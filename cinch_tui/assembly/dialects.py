"""Dialects of a start: the names under which models are offered the tools, from the setting `tools.dialect`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from functools import cache

from cinch_tui.fuzzy_match import did_you_mean
from harness.errors import ConfigError
from harness.messages import ModelSpec
from harness.ports.dialect import Dialect
from harness.ports.tool import REPLACED_TOOLS
from tools.dialects.own import OwnNames

OWN, CLAUDE, CATS, CODEX = NAMES = ("cinch", "claude", "cats", "codex")
PATCH = "apply_patch"
AUTOMATIC = ("*gpt-[5-9]*=codex", "*codex*=codex")
"""Entries after those of the user: models that are trained with `apply_patch`."""


def check_dialects(entries: Sequence[str]) -> None:
    """Check the names of dialects.

    Raises:
        ConfigError: One of them does not exist.
    """
    for entry in entries:
        _parsed(entry)


def chosen_dialect(
    entries: Sequence[str], start: ModelSpec, *, offers_patch: bool = False
) -> Callable[[ModelSpec], Dialect]:
    """Return a function that chooses the dialect of a model.

    `cats` has tools of its own, so the model of the start decides about it, for the whole session.

    Args:
        entries: Names of dialects, each for all models, or `PATTERN=NAME` for those whose name matches; the first one
            that fits a model counts. Without one, models that are trained with `apply_patch` have `codex`.
        start: Model of the start.
        offers_patch: True to offer `apply_patch` to all models, False only in the dialect `codex`.

    Raises:
        ConfigError: A dialect does not exist.
    """
    if dialect_name(entries, start) == CATS:
        return lambda _: _dialect(CATS, offers_patch=offers_patch)
    # The tools of `cats` exist only if the session has begun with them.
    others = {CATS: OWN}

    def choose(spec: ModelSpec) -> Dialect:
        name = dialect_name(entries, spec)
        return _dialect(others.get(name, name), offers_patch=offers_patch)

    return choose


def dialect_name(entries: Sequence[str], spec: ModelSpec) -> str:
    """Return the name of the dialect of a model."""
    pairs = [_parsed(entry) for entry in (*entries, *AUTOMATIC)]
    return next((name for pattern, name in pairs if fnmatchcase(spec.name, pattern)), OWN)


def _parsed(entry: str) -> tuple[str, str]:
    """Return the pattern and the dialect of an entry."""
    pattern, _, name = entry.rpartition("=")
    if name not in NAMES:
        raise ConfigError(f"tools.dialect: there is no dialect {name!r}{did_you_mean(name, NAMES)}")
    return pattern or "*", name


@cache
def _dialect(name: str, *, offers_patch: bool) -> Dialect:
    # Imported here because few users choose a dialect.
    match name:
        case "codex":
            from tools.dialects.codex import codex_dialect

            return codex_dialect()
        case "cats":
            from tools.dialects.cats.tools import EDITING, cats_dialect

            return cats_dialect({} if offers_patch else _without_patch(EDITING))
        case "claude":
            from tools.dialects.claude import claude_dialect

            return claude_dialect({} if offers_patch else _without_patch(REPLACED_TOOLS[PATCH]))
        case _:
            return OwnNames(OWN, {} if offers_patch else _without_patch(REPLACED_TOOLS[PATCH]))


def _without_patch(others: Iterable[str]) -> Mapping[str, Set[str]]:
    """Return that `apply_patch` is not offered with one of the other tools."""
    return dict.fromkeys(others, frozenset({PATCH}))
