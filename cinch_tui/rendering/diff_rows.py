"""Diffs without styles: rows paired for the side-by-side view.

The rows of the pairs in order are a unified diff.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, groupby, zip_longest
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.rendering.code import shown_line
from cinch_tui.rendering.safe_text import shorten_blanks
from harness.workspace.hunks import Hunk, Sides, changed_lines

RowKind: TypeAlias = Literal["added", "removed", "context", "gap", "note", "head"]
Span: TypeAlias = tuple[int, int]

MAX_WORDS = 400
MAX_ALIGNED_ROWS = 60
LONGEST_CHANGED = 100_000
"""Maximum number of characters shown of a changed line."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


class DiffRow(Struct, frozen=True):
    """One line of a diff."""

    kind: RowKind
    text: str
    old: int | None = None
    """Line number in the old file, from 1."""
    new: int | None = None
    """Line number in the new file, from 1."""
    words: tuple[Span, ...] = ()
    """Spans of `text` that differ from its counterpart."""
    hunk: int | None = None
    """Number of its hunk from 0, if hunks are separated; each hunk has a `head` row then."""


class Pair(Struct, frozen=True):
    """Left and right row of the side-by-side view; the same row twice if it belongs to both sides."""

    left: DiffRow | None
    right: DiffRow | None


def diff_rows(sides: Sides, *, context: int = 3, hunks: Sequence[Hunk] = ()) -> list[DiffRow]:
    """Return the rows of a diff; a `gap` row replaces omitted unchanged lines between hunks."""
    rows: list[DiffRow] = []
    for is_shared, group in groupby(
        diff_pairs(sides, context=context, hunks=hunks), lambda pair: pair.left is pair.right
    ):
        pairs = list(group)
        rows.extend(pair.left for pair in pairs if pair.left)
        rows.extend(pair.right for pair in pairs if pair.right and not is_shared)
    return rows


def diff_pairs(sides: Sides, *, context: int = 3, hunks: Sequence[Hunk] = ()) -> list[Pair]:
    """Return the rows as pairs; with `hunks`, a `head` row precedes the changes of each hunk."""
    changes = changed_lines(sides)
    starts = {hunk.old_from: number for number, hunk in enumerate(hunks)}
    pairs: list[Pair] = []
    done = 0
    number: int | None = None
    for index, change in enumerate(changes):
        before = max(done, change.old_from - context)
        if pairs and before > done:
            count = before - done
            pairs.append(_both(DiffRow("gap", f"{count:,} unchanged line{'' if count == 1 else 's'}")))
        shift = change.new_from - change.old_from
        pairs.extend(_kept(sides, range(before, change.old_from), shift))
        if change.old_from in starts:
            number = starts[change.old_from]
            pairs.append(_both(DiffRow("head", "", hunk=number)))
        pairs.extend(_changed(sides, change, number))
        following = changes[index + 1].old_from if index + 1 < len(changes) else len(sides.old)
        done = min(change.old_to + context, following)
        pairs.extend(_kept(sides, range(change.old_to, done), change.new_to - change.old_to))
    return pairs


def _both(row: DiffRow) -> Pair:
    return Pair(row, row)


def _kept(sides: Sides, lines: range, shift: int) -> Iterator[Pair]:
    for index in lines:
        yield _both(DiffRow("context", _shown(sides.old[index]), index + 1, index + shift + 1))


def _changed(sides: Sides, change: Hunk, number: int | None) -> Iterator[Pair]:
    left = [
        DiffRow("removed", _shown_completely(sides.old[at]), old=at + 1, hunk=number)
        for at in range(change.old_from, change.old_to)
    ]
    right = [
        DiffRow("added", _shown_completely(sides.new[at]), new=at + 1, hunk=number)
        for at in range(change.new_from, change.new_to)
    ]
    yield from _aligned(left, right)
    notes = _newline_note(sides.old, left), _newline_note(sides.new, right)
    if any(notes):
        yield Pair(*notes)


def _aligned(left: Sequence[DiffRow], right: Sequence[DiffRow]) -> list[Pair]:
    """Pair the rows from the start or from the end, whichever side has more in common."""
    few = min(len(left), len(right))
    if not few or (len(left) != len(right) and max(len(left), len(right)) > MAX_ALIGNED_ROWS):
        return [Pair(*pair) for pair in zip_longest(left, right)]
    from_start = _marked(left[:few], right[:few])
    if len(left) == len(right):
        return from_start
    from_end = _marked(left[-few:], right[-few:])
    if _alike(from_end) > _alike(from_start):
        return [*_alone(left[:-few], right[:-few]), *from_end]
    return [*from_start, *_alone(left[few:], right[few:])]


def _alone(left: Sequence[DiffRow], right: Sequence[DiffRow]) -> list[Pair]:
    return [*(Pair(row, None) for row in left), *(Pair(None, row) for row in right)]


def _marked(left: Sequence[DiffRow], right: Sequence[DiffRow]) -> list[Pair]:
    pairs: list[Pair] = []
    for old, new in zip(left, right, strict=True):
        removed, added = changed_words(old.text, new.text)
        pairs.append(Pair(replace(old, words=removed), replace(new, words=added)))
    return pairs


def _alike(pairs: Sequence[Pair]) -> int:
    """Count the unchanged characters of marked lines."""
    rows = [pair.left for pair in pairs if pair.left and pair.right and (pair.left.words or pair.right.words)]
    return sum(len(row.text) - sum(end - start for start, end in row.words) for row in rows)


def _newline_note(lines: Sequence[str], rows: Sequence[DiffRow]) -> DiffRow | None:
    """Return a note for a changed side whose last line has no newline."""
    is_open = bool(rows) and (rows[-1].old or rows[-1].new) == len(lines) and not lines[-1].endswith("\n")
    return DiffRow("note", "no newline at the end of the file", hunk=rows[-1].hunk) if is_open else None


def _shown(line: str) -> str:
    return shown_line(line.removesuffix("\n"))


def _shown_completely(line: str) -> str:
    """Return a changed line completely: nothing may be hidden in an approval."""
    return shown_line(shorten_blanks(line.removesuffix("\n")), LONGEST_CHANGED)


def changed_words(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the differing spans of two lines; none if the lines have too little in common."""
    old_words, new_words = _WORD.findall(old), _WORD.findall(new)
    if len(old_words) > MAX_WORDS or len(new_words) > MAX_WORDS:
        return (), ()
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    if matcher.quick_ratio() < 0.5 or matcher.ratio() < 0.5:
        return (), ()
    old_starts, new_starts = ([0, *accumulate(map(len, words))] for words in (old_words, new_words))
    changes = [places for tag, *places in matcher.get_opcodes() if tag != "equal"]
    removed = tuple((old_starts[start], old_starts[end]) for start, end, _, _ in changes if end > start)
    added = tuple((new_starts[start], new_starts[end]) for _, _, start, end in changes if end > start)
    return removed, added
