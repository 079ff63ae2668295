"""Edit that leaves out unchanged lines: a line `...` in the old and the new text stands for the same lines.

Each part between such lines has to be in the file, in order; a part that changes must have only one possible place.
The elided lines are indented at least as far as the line that stands for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from harness.workspace.file_text import FileText
from tools.editing.matching import Hit, TextMatches, carried
from tools.editing.text_view import comparable, line_bounds, line_feeds

_MOST_PLACES = 1_000
_DOTS = r"(?:\.\.\.+|…)"
_ELLIPSIS = re.compile(
    rf"[ \t]*(?:{_DOTS}|[\[(]{_DOTS}[\])]|(?:#|//|--|;+|%|/\*|<!--|\{{/\*)[ \t]*{_DOTS}[\w ,'’()\-]*{_DOTS}?"
    r"[ \t]*(?:\*/\}?|-->)?)[ \t]*"
)
_PLACEHOLDER = re.compile(
    rf"[ \t]*(?:#|//|--|;+|%|/\*|<!--|\{{/\*)[ \t]*{_DOTS}.*\b(?:existing|unchanged|rest|remaining|same|omitted)\b.*"
)


class _Part(Struct, frozen=True):
    """Lines between two ellipses."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    compared: tuple[str, ...]
    elided_indent: int
    """Width of the indentation of the ellipsis before this part."""


def has_placeholder(old: str, new: str) -> bool:
    """Return True if a comment in the new text stands for existing code, and the old text has none like it."""
    kept = {line.strip() for line in line_feeds(old).split("\n")}
    return any(_PLACEHOLDER.fullmatch(line) and line.strip() not in kept for line in line_feeds(new).split("\n"))


def find_elided(file: FileText, old: str, new: str) -> TextMatches:
    """Return the one place for an edit with elided lines."""
    parts = _parts(old, new)
    if parts is None:
        return TextMatches()
    if not parts:
        return TextMatches(problem="old_string and new_string do not elide the same lines")
    lines = comparable(file.text).split("\n")
    for is_scoped in (True, False):
        places = _places(lines, parts, is_scoped=is_scoped)
        if all(places):
            break
    else:
        return TextMatches()
    changed = [number for number, part in enumerate(parts) if part.old != part.new]
    if any(len(places[number]) > 1 for number in changed):
        return TextMatches(problem="the parts around its ellipsis occur at several places; give more lines around them")
    if not changed:
        return TextMatches(problem="only the lines that it elides would change")
    return TextMatches(
        (_joined(file, parts, [min(each) for each in places], changed),), "elided lines", is_certain=True
    )


def _parts(old: str, new: str) -> list[_Part] | None:
    """Return the parts; None if nothing is elided, empty if not in the same way."""
    olds, new_parts = _split(old), _split(new)
    if len(olds) == 1:
        return None
    if len(olds) != len(new_parts):
        return []
    parts: list[_Part] = []
    for (old_lines, indent), (new_lines, _) in zip(olds, new_parts, strict=True):
        if old_lines == new_lines and not any(line.strip() for line in old_lines):
            continue
        if not any(line.strip() for line in old_lines):
            return []
        parts.append(_Part(old_lines, new_lines, tuple(comparable(line) for line in old_lines), indent))
    return parts


def _split(text: str) -> list[tuple[tuple[str, ...], int]]:
    """Return the lines between ellipses, each with the indentation of the ellipsis before."""
    parts: list[tuple[list[str], int]] = [([], 0)]
    for line in line_feeds(text).removesuffix("\n").split("\n"):
        if _ELLIPSIS.fullmatch(line):
            parts.append(([], _width(line)))
        else:
            parts[-1][0].append(line)
    return [(tuple(lines), indent) for lines, indent in parts]


def _width(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _places(lines: Sequence[str], parts: Sequence[_Part], *, is_scoped: bool) -> list[set[int]]:
    """Return for each part the places that it has in some arrangement of all parts in order."""
    places = [_occurrences(lines, part.compared) for part in parts]
    ends: list[list[int]] = []
    for number, part in enumerate(parts):
        if number:
            indent = part.elided_indent if is_scoped else 0
            places[number] = _following(lines, ends[-1], places[number], indent)
        ends.append([place + len(part.compared) for place in places[number]])
    reachable = [set(each) for each in places]
    for number in range(len(parts) - 2, -1, -1):
        indent = parts[number + 1].elided_indent if is_scoped else 0
        size = len(parts[number].compared)
        reachable[number] = {
            place
            for place in reachable[number]
            if _following(lines, [place + size], sorted(reachable[number + 1]), indent)
        }
    return reachable


def _occurrences(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    first, size = wanted[0], len(wanted)
    found = [
        number
        for number, line in enumerate(lines)
        if line == first and tuple(lines[number : number + size]) == tuple(wanted)
    ]
    return found if len(found) <= _MOST_PLACES else []


def _following(lines: Sequence[str], ends: Sequence[int], places: Sequence[int], indent: int) -> list[int]:
    """Return the places that follow one of the ends, with lines of at least that indentation between."""
    reached = set[int]()
    for end in ends:
        limit = end
        while limit < len(lines) and (not lines[limit] or _width(lines[limit]) >= indent):
            limit += 1
        reached.update(place for place in places if end < place <= limit)
    return sorted(reached)


def _joined(file: FileText, parts: Sequence[_Part], places: Sequence[int], changed: Sequence[int]) -> Hit:
    """Return one hit from the first changed part to the last."""
    bounds = line_bounds(file.text)
    start = bounds[places[changed[0]]][0]
    text, done = "", start
    for number in changed:
        part, place = parts[number], places[number]
        span = (bounds[place][0], bounds[place + len(part.old) - 1][1])
        hit = carried(file, span, ("\n".join(part.old), "\n".join(part.new)))
        # Without new lines, the line feed goes as well.
        end = hit.end if part.new else min(hit.end + 1, len(file.text))
        text, done = text + file.text[done : hit.start] + hit.new, end
    return Hit(start, done, text)
