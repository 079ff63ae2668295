"""The changed places of a file as rows: which lines went, which came, and what stands around them.

A pure computation without looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from cinch_tui.rendering.code import shown_line
from harness.hunks import Hunk, Sides, changed_lines

RowKind: TypeAlias = Literal["added", "removed", "context", "gap", "note"]
Span: TypeAlias = tuple[int, int]

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


def _unchanged(count: int) -> str:
    return f"{count:,} unchanged line{'' if count == 1 else 's'}"


def _kept(sides: Sides, lines: range, shift: int) -> Iterator[Row]:
    for index in lines:
        yield Row("context", _shown(sides.old[index]), index + 1, index + shift + 1)


def _changed(sides: Sides, change: Hunk) -> Iterator[Row]:
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
