"""Indentation of an edit that differs from the file's: shifted, or in other units.

Every line of the old text tells how its indentation corresponds to the file's. Lines of the new text are indented by
the same correspondence; if it leaves more than one possibility, the edit does not match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial

_WIDTHS = (2, 3, 4, 8)
_UNITS = ("\t", *(" " * width for width in _WIDTHS))
_UNKNOWN = "\0"

Indent = Callable[[str], str]
"""Maps the indentation of a requested line to that of a line in the file."""


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def reindented(asked: Sequence[str], here: Sequence[str], new: Sequence[str], known: Set[str]) -> list[str] | None:
    """Return the new lines as the file indents them; None if the old lines do not match or leave a doubt.

    Args:
        asked: Lines of the old text, without trailing spaces.
        here: Lines of the file, without trailing spaces.
        new: Lines of the new text.
        known: Indentations that occur in the file; a shift by part of a unit leads only to these.
    """
    pairs = _pairs(asked, here)
    if pairs is None:
        return None
    results: dict[tuple[str, ...], bool] = {}
    for mapped in _readings(pairs):
        lines = tuple(f"{mapped(indent_of(line))}{line.lstrip()}" if line.strip() else line for line in new)
        if not any(line.startswith(_UNKNOWN) for line in lines):
            results[lines] = all(indent_of(line) in known for line in lines if line.strip())
    if _is_odd(pairs):
        results = {lines: is_known for lines, is_known in results.items() if is_known}
    return list(next(iter(results))) if len(results) == 1 else None


def _pairs(asked: Sequence[str], here: Sequence[str]) -> dict[str, str] | None:
    """Return the file's indentation by the requested one; None if lines differ otherwise or inconsistently."""
    if len(asked) != len(here):
        return None
    pairs: dict[str, str] = {}
    for line, actual in zip(asked, here, strict=True):
        if line.lstrip() != actual.lstrip():
            return None
        if line and pairs.setdefault(indent_of(line), indent_of(actual)) != indent_of(actual):
            return None
    return pairs or None


def _is_odd(pairs: dict[str, str]) -> bool:
    """Return True if an indentation differs by part of a unit, as if only that line were wrong."""
    return any((len(asked.expandtabs(4)) - len(actual.expandtabs(4))) % 2 for asked, actual in pairs.items())


def _readings(pairs: dict[str, str]) -> Iterator[Indent]:
    """Return the shifts and conversions of units that explain all pairs; the pairs alone if there are none."""
    general = (
        mapped
        for mapped in (*_shifts(pairs), *_conversions())
        if all(mapped(asked) == actual for asked, actual in pairs.items())
    )
    first = next(general, None)
    if first is not None:
        yield from (first, *general)
    elif len(set(pairs.values())) == len(pairs) and not _is_odd(pairs):
        yield lambda indent: pairs.get(indent, _UNKNOWN)


def _shifts(pairs: dict[str, str]) -> Iterator[Indent]:
    asked, actual = next(iter(pairs.items()))
    if actual.endswith(asked):
        more = actual[: len(actual) - len(asked)]
        yield lambda indent: more + indent
    elif asked.endswith(actual):
        less = asked[: len(asked) - len(actual)]
        yield lambda indent: indent.removeprefix(less) if indent.startswith(less) else _UNKNOWN


def _conversions() -> Iterator[Indent]:
    yield from (partial(_converted, before, after) for before in _UNITS for after in _UNITS if before != after)


def _converted(before: str, after: str, indent: str) -> str:
    """Replace the units at the start of an indentation; what is left over aligns, and is kept."""
    rest = indent
    while rest.startswith(before):
        rest = rest[len(before) :]
    if rest and "\t" not in (before, after):
        return _UNKNOWN
    return after * ((len(indent) - len(rest)) // len(before)) + rest
