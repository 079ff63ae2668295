"""Search for an edit's old text in a file: exact, then ignoring differences without meaning; else the nearest place.

Four strategies, each used only if the one before found nothing. None of them scores similarity: a place matches up to
line endings, trailing spaces and typographic characters, or indentation, or it does not match. The nearest place, which
does score similarity, only explains to the model why nothing matched.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from harness.workspace.file_text import FileText, occurrences

_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("‘’‚‛′", "'")
    | dict.fromkeys("“”„‟″", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)
_TRAILING = re.compile(r"[ \t\r]+(?=\n|\Z)")
_COMPARED_LINES = 2000
_COMMON = 50
_RATED = 60
_ALIKE = 0.6
_WORD = re.compile(r"\w{2,}")
_QUOTED = 120


class Hit(Struct, frozen=True):
    """Replacement of `start:end` of the file's text with `new`."""

    start: int
    end: int
    new: str


class TextMatches(Struct, frozen=True):
    """Hits, and what was ignored to find them; empty for an exact match."""

    hits: tuple[Hit, ...]
    ignoring: str = ""


def find(file: FileText, old: str, new: str) -> TextMatches:
    """Return all places for an edit, from the first strategy that finds any."""
    for ignoring, strategy in _STRATEGIES:
        hits = strategy(file, old, new)
        if hits:
            return TextMatches(tuple(hits), ignoring)
    return TextMatches(())


def _any_line_ending(file: FileText, old: str, new: str) -> list[Hit]:
    wanted = _line_feeds(old)
    text = file.text.replace("\r", "\n")
    return [Hit(at, at + len(wanted), new) for at in occurrences(text, wanted)]


def _any_trailing_space(file: FileText, old: str, new: str) -> list[Hit]:
    view = _View(file.text)
    wanted = _View(_line_feeds(old)).text
    # Text with trailing spaces was meant to extend to the end of a line.
    whole_line = old.endswith((" ", "\t"))
    spans = [(at, at + len(wanted)) for at in occurrences(view.text, wanted)]
    return [
        _carried(file, view.span(start, end), (old, new))
        for start, end in spans
        if not whole_line or view.text[end : end + 1] in ("", "\n")
    ]


def _any_indentation(file: FileText, old: str, new: str) -> list[Hit]:
    wanted = _View(_line_feeds(old)).text
    ends_line = wanted.endswith("\n")
    old_lines = wanted.removesuffix("\n").split("\n")
    first = next((number for number, line in enumerate(old_lines) if line.strip()), None)
    if first is None:
        return []
    lines = _View(file.text).text.split("\n")
    key = old_lines[first].lstrip()
    starts = [number - first for number, line in enumerate(lines) if line.endswith(key) and line.lstrip() == key]
    bounds = _line_bounds(file.text)
    hits: list[Hit] = []
    for start in starts:
        here = lines[start : start + len(old_lines)] if start >= 0 else []
        shift = _shift(old_lines, here)
        if shift is None or (hits and bounds[start][0] < hits[-1].end):
            continue
        last = start + len(old_lines) - 1
        if ends_line and last + 1 == len(lines):
            continue
        end = bounds[last + 1][0] if ends_line else bounds[last][1]
        hits.append(_carried(file, (bounds[start][0], end), (old, new), shift))
    return hits


_STRATEGIES: tuple[tuple[str, Callable[[FileText, str, str], list[Hit]]], ...] = (
    ("", lambda file, old, new: [Hit(*span, new) for span in file.exact_spans(old)]),
    ("line endings", _any_line_ending),
    ("trailing spaces and typographic characters", _any_trailing_space),
    ("indentation", _any_indentation),
)


class _View:
    """Text without trailing spaces and with ASCII quotes, dashes and spaces, and the mapping back to the original."""

    def __init__(self, text: str) -> None:
        self.text = _TRAILING.sub("", text).translate(_TYPOGRAPHY)
        self._places: list[int] = []
        self._removed = [0]
        for match in _TRAILING.finditer(text):
            self._places.append(match.start() - self._removed[-1])
            self._removed.append(self._removed[-1] + len(match[0]))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the same place in the original; spaces removed at either end stay outside."""
        return (
            start + self._removed[bisect_right(self._places, start)],
            end + self._removed[bisect_left(self._places, end)],
        )


class _Shift(Struct, frozen=True):
    """Indentation that the file has in addition to, or less than, the requested text."""

    more: str
    less: str

    def applied(self, line: str) -> str:
        return self.more + line.removeprefix(self.less) if line.strip() else line


def _shift(wanted: Sequence[str], here: Sequence[str]) -> _Shift | None:
    """Return the one shift that turns every requested line into the line in the file."""
    if len(wanted) != len(here):
        return None
    found: _Shift | None = None
    for asked, actual in zip(wanted, here, strict=True):
        if not asked and not actual:
            continue
        if actual.endswith(asked):
            shift = _Shift(actual[: len(actual) - len(asked)], "")
        elif asked.endswith(actual):
            shift = _Shift("", asked[: len(asked) - len(actual)])
        else:
            return None
        if (shift.more + shift.less).strip() or not actual or not asked or (found is not None and found != shift):
            return None
        found = shift
    return found


def _carried(file: FileText, span: tuple[int, int], texts: tuple[str, str], shift: _Shift | None = None) -> Hit:
    """Return a hit whose new text keeps the file's form of every line that the edit does not change."""
    old, new = (_line_feeds(text).split("\n") for text in texts)
    here = file.text[span[0] : span[1]].split("\n")
    wanted = [shift.applied(line) for line in new] if shift else new
    if len(here) != len(old) or len(old) + len(new) > _COMPARED_LINES:
        return Hit(*span, "\n".join(wanted))
    lines: list[str] = []
    for tag, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        lines += here[old_start:old_end] if tag == "equal" else wanted[new_start:new_end]
    return Hit(*span, "\n".join(lines))


def _line_bounds(text: str) -> list[tuple[int, int]]:
    bounds: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        bounds.append((start, start + len(line)))
        start += len(line) + 1
    return bounds


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


class Nearest(Struct, frozen=True):
    """Lines from number `first` on; `reason` describes the first difference in one line."""

    first: int
    lines: tuple[str, ...]
    reason: str


def nearest_block(text: str, wanted: str) -> Nearest | None:
    """Return the block of lines most similar to `wanted`, if any is similar enough."""
    lines = text.split("\n")
    asked = wanted.strip("\n").split("\n")
    start = _voted(lines, asked)
    if start is None:
        start = _alike(lines, asked)
    if start is None:
        return None
    start = max(start, 0)
    here = lines[start : start + len(asked)]
    return Nearest(start + 1, tuple(here), _reason(here, asked, start))


def _voted(lines: Sequence[str], asked: Sequence[str]) -> int | None:
    """Return the line at which most requested lines match, ignoring indentation; rare lines count more."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        places[line.strip()].append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(asked):
        found = places.get(line.strip(), []) if line.strip() else []
        if len(found) <= _COMMON:
            for number in found:
                votes[number - offset] += 60 // len(found)
    return max(votes, key=lambda start: (votes[start], -start)) if votes else None


def _alike(lines: Sequence[str], asked: Sequence[str]) -> int | None:
    """Return the position at which the longest requested line has its best match."""
    offset, anchor = max(enumerate(asked), key=lambda each: len(each[1].strip()))
    words = set(_WORD.findall(anchor.lower()))
    shared = Counter(
        {
            number: count
            for number, line in enumerate(lines)
            if (count := len(words.intersection(_WORD.findall(line[:500].lower()))))
        }
    )
    best, best_ratio = None, _ALIKE
    for number, _ in shared.most_common(_RATED):
        ratio = SequenceMatcher(None, lines[number].strip()[:500], anchor.strip()[:500]).ratio()
        if ratio > best_ratio:
            best, best_ratio = number - offset, ratio
    return best


def _reason(here: Sequence[str], asked: Sequence[str], start: int) -> str:
    for offset, line in enumerate(asked):
        actual = here[offset] if offset < len(here) else None
        if actual is None:
            return f"the file ends after line {start + offset}, {len(asked) - offset} lines before old_string does"
        if actual != line:
            return f"line {start + offset + 1} {_difference(actual, line)}"
    return "only the lines' borders differ"


def _difference(actual: str, asked: str) -> str:
    if actual.strip() == asked.strip():
        if actual.rstrip() == asked.rstrip():
            return "differs in spaces at its end"
        return f"differs in indentation: the file has {_indent(actual)}, old_string has {_indent(asked)}"
    if actual.lower() == asked.lower():
        return "differs in upper and lower case"
    if "".join(actual.split()) == "".join(asked.split()):
        return "differs in spaces inside the line"
    return f"differs: the file has {_quoted(actual)}, old_string has {_quoted(asked)}"


def _indent(line: str) -> str:
    space = line[: len(line) - len(line.lstrip())]
    tabs, spaces = space.count("\t"), space.count(" ")
    parts = [f"{count} {name}{'s' if count > 1 else ''}" for count, name in ((tabs, "tab"), (spaces, "space")) if count]
    return " and ".join(parts) or "none"


def _quoted(line: str) -> str:
    line = line.strip()
    return repr(line if len(line) <= _QUOTED else line[: _QUOTED - 1] + "…")
