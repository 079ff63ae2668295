"""The changed places of a file as rows: which lines went, which came, and what stands around them.

A pure computation without looks. It stays quick on long files: common ends are trimmed, unique lines anchor the
middle, and only small gaps between anchors are compared line by line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from cinch_tui.rendering.code import shown_line
from harness.views import DiffView

RowKind: TypeAlias = Literal["added", "removed", "context", "gap", "note"]
Span: TypeAlias = tuple[int, int]

SMALL_GAP = 65_536
MOST_WORDS = 400
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a diff. Numbers count from 1; `words` are the parts of `text` that differ from its counterpart."""

    kind: RowKind
    text: str
    old: int | None = None
    new: int | None = None
    words: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `old_from` to `old_to` (exclusive, from 0) gave way to lines `new_from` to `new_to`."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int


@dataclass(frozen=True, slots=True)
class Sides:
    """A view's two texts in lines that keep their newline."""

    old: Sequence[str]
    new: Sequence[str]

    @classmethod
    def of(cls, view: DiffView) -> Sides:
        texts = [view.old or "", view.new or ""]
        # Where both sides end every line with CRLF, saying so on each line would only be noise.
        if all(text.count("\n") == text.count("\r\n") for text in texts):
            texts = [text.replace("\r\n", "\n") for text in texts]
        return cls(_lines(texts[0]), _lines(texts[1]))


def diff_rows(sides: Sides, *, context: int = 3) -> list[Row]:
    """The rows of a diff, hunk after hunk, with a `gap` row where unchanged lines are left out between two."""
    changes = changed_lines(sides)
    rows: list[Row] = []
    done = 0
    for index, change in enumerate(changes):
        before = max(done, change.old_from - context)
        if rows and before > done:
            rows.append(Row("gap", _unchanged(before - done)))
        shift = change.new_from - change.old_from
        rows.extend(_kept(sides, range(before, change.old_from), shift))
        rows.extend(_changed(sides, change))
        following = changes[index + 1].old_from if index + 1 < len(changes) else len(sides.old)
        done = min(change.old_to + context, following)
        rows.extend(_kept(sides, range(change.old_to, done), change.new_to - change.old_to))
    return rows


def changed_lines(sides: Sides) -> list[Change]:
    """Where the two sides differ, in order."""
    return list(_compare(sides, Change(0, len(sides.old), 0, len(sides.new))))


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _unchanged(count: int) -> str:
    return f"{count:,} unchanged line{'' if count == 1 else 's'}"


def _compare(sides: Sides, part: Change) -> Iterator[Change]:
    part = _trimmed(sides, part)
    old_size, new_size = part.old_to - part.old_from, part.new_to - part.new_from
    if not old_size and not new_size:
        return
    if not old_size or not new_size:
        yield part
    elif old_size * new_size <= SMALL_GAP:
        yield from _compare_closely(sides, part)
    else:
        anchors = _anchors(sides, part)
        if not anchors:
            yield part
            return
        old_from, new_from = part.old_from, part.new_from
        for old_at, new_at in [*anchors, (part.old_to, part.new_to)]:
            yield from _compare(sides, Change(old_from, old_at, new_from, new_at))
            old_from, new_from = old_at + 1, new_at + 1


def _trimmed(sides: Sides, part: Change) -> Change:
    old_from, old_to, new_from, new_to = part.old_from, part.old_to, part.new_from, part.new_to
    while old_from < old_to and new_from < new_to and sides.old[old_from] == sides.new[new_from]:
        old_from, new_from = old_from + 1, new_from + 1
    while old_from < old_to and new_from < new_to and sides.old[old_to - 1] == sides.new[new_to - 1]:
        old_to, new_to = old_to - 1, new_to - 1
    return Change(old_from, old_to, new_from, new_to)


def _compare_closely(sides: Sides, part: Change) -> Iterator[Change]:
    old, new = sides.old[part.old_from : part.old_to], sides.new[part.new_from : part.new_to]
    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Change(
                part.old_from + old_from, part.old_from + old_to, part.new_from + new_from, part.new_from + new_to
            )


def _anchors(sides: Sides, part: Change) -> list[tuple[int, int]]:
    """Lines that occur once on each side, in the longest order both sides share."""
    old, new = sides.old[part.old_from : part.old_to], sides.new[part.new_from : part.new_to]
    old_counts, new_counts = Counter(old), Counter(new)
    places = {line: index for index, line in enumerate(new) if new_counts[line] == 1}
    pairs = [(index, places[line]) for index, line in enumerate(old) if old_counts[line] == 1 and line in places]
    return [(part.old_from + old_at, part.new_from + new_at) for old_at, new_at in _longest_rising(pairs)]


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    ends: list[int] = []
    end_indices: list[int] = []
    previous: list[int] = []
    for index, (_, value) in enumerate(pairs):
        place = bisect_left(ends, value)
        previous.append(end_indices[place - 1] if place else -1)
        ends[place : place + 1] = [value]
        end_indices[place : place + 1] = [index]
    chain: list[tuple[int, int]] = []
    at = end_indices[-1] if end_indices else -1
    while at >= 0:
        chain.append(pairs[at])
        at = previous[at]
    return chain[::-1]


def _kept(sides: Sides, lines: range, shift: int) -> Iterator[Row]:
    for index in lines:
        yield Row("context", _shown(sides.old[index]), index + 1, index + shift + 1)


def _changed(sides: Sides, change: Change) -> Iterator[Row]:
    old = [_shown(line) for line in sides.old[change.old_from : change.old_to]]
    new = [_shown(line) for line in sides.new[change.new_from : change.new_to]]
    words = [changed_words(*pair) for pair in zip(old, new, strict=True)] if len(old) == len(new) else []
    for index, text in enumerate(old):
        at = change.old_from + index
        yield Row("removed", text, old=at + 1, words=words[index][0] if words else ())
        yield from _newline_note(sides.old[at])
    for index, text in enumerate(new):
        at = change.new_from + index
        yield Row("added", text, new=at + 1, words=words[index][1] if words else ())
        yield from _newline_note(sides.new[at])


def _newline_note(line: str) -> Iterator[Row]:
    if not line.endswith("\n"):
        yield Row("note", "no newline at the end of the file")


def _shown(line: str) -> str:
    return shown_line(line.removesuffix("\n"))


def changed_words(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """The parts of two lines that differ; none where the lines have too little in common to be read as one edit."""
    old_words, new_words = _WORD.findall(old), _WORD.findall(new)
    if len(old_words) > MOST_WORDS or len(new_words) > MOST_WORDS:
        return (), ()
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    if matcher.quick_ratio() < 0.5 or matcher.ratio() < 0.5:
        return (), ()
    removed: list[Span] = []
    added: list[Span] = []
    old_starts, new_starts = _starts(old_words), _starts(new_words)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            continue
        if old_to > old_from:
            removed.append((old_starts[old_from], old_starts[old_to]))
        if new_to > new_from:
            added.append((new_starts[new_from], new_starts[new_to]))
    return tuple(removed), tuple(added)


def _starts(words: Sequence[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts
