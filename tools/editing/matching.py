"""Search for an edit's old text in a file: exact, then ignoring differences without meaning.

Five strategies, each used only if the one before found nothing. None of them scores similarity: a place matches up to
line endings, trailing spaces and typographic characters, or indentation, or it does not match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from harness.workspace.file_text import FileText, occurrences
from harness.workspace.hunks import Sides, changed_lines
from tools.editing.indentation import indent_of, reindented
from tools.editing.text_view import TextView, comparable, line_bounds, line_feeds, typography_of


class Hit(Struct, frozen=True):
    """Replacement of `start:end` of the file's text with `new`."""

    start: int
    end: int
    new: str


class TextMatches(Struct, frozen=True):
    """Hits, and what was ignored to find them; empty for an exact match."""

    hits: tuple[Hit, ...] = ()
    ignoring: str = ""
    problem: str = ""
    """Reason why text that nearly matches was not replaced."""
    is_certain: bool = False
    """True if what surrounds it tells the only place, although its text may occur elsewhere as well."""


def find(file: FileText, old: str, new: str, *, accepts: Callable[[Hit], bool] = lambda _: True) -> TextMatches:
    """Return all places for an edit, from the first strategy that finds any that `accepts` allows."""
    for ignoring, strategy in _STRATEGIES:
        found = (hit for hit in strategy(file, old, new) if not _cuts_indentation(file, hit, old))
        hits = tuple(_separate(file, hit, old) for hit in found if accepts(hit))
        if hits:
            return TextMatches(hits, ignoring)
    return TextMatches()


def _cuts_indentation(file: FileText, hit: Hit, old: str) -> bool:
    """Return True if a single line has a part of its indentation, which tells how further new lines are shifted."""
    if "\n" in old or "\n" not in hit.new or old[0] not in " \t":
        return False
    before = file.text[: hit.start].rpartition("\n")[2]
    return bool(before) and not before.strip(" \t")


def _separate(file: FileText, hit: Hit, old: str) -> Hit:
    """Return a hit that joins no lines because only the old text begins or ends with a line feed.

    An edit that changes nothing else joins them on purpose.
    """
    text, new = file.text, hit.new
    if not new:
        return hit
    joins_start = old[0] == "\n" != new[0] and text[max(0, hit.start - 1)] != "\n" and old.lstrip() != new.lstrip()
    joins_end = old[-1] == "\n" != new[-1] and text[hit.end : hit.end + 1] not in ("", "\n")
    joins_end = joins_end and new.rstrip(" \t") != old.rstrip("\n")
    return Hit(hit.start + joins_start, hit.end - joins_end, new) if joins_start or joins_end else hit


def _exact(file: FileText, old: str, new: str) -> list[Hit]:
    return [Hit(*span, new) for span in file.exact_spans(old)]


def _any_line_ending(file: FileText, old: str, new: str) -> list[Hit]:
    wanted = line_feeds(old)
    text = file.text.replace("\r", "\n")
    return [Hit(at, at + len(wanted), new) for at in occurrences(text, wanted)]


def _any_trailing_space(file: FileText, old: str, new: str) -> list[Hit]:
    view = TextView(file.text)
    wanted = comparable(line_feeds(old))
    # Text with trailing spaces was meant to extend to the end of a line.
    whole_line = old.endswith((" ", "\t"))
    spans = [(at, at + len(wanted)) for at in occurrences(view.text, wanted)]
    return [
        carried(file, view.span(start, end), (old, new))
        for start, end in spans
        if not whole_line or view.text[end : end + 1] in ("", "\n")
    ]


def _any_indentation(file: FileText, old: str, new: str) -> list[Hit]:
    wanted = comparable(line_feeds(old))
    ends_line = wanted.endswith("\n")
    asked = wanted.removesuffix("\n").split("\n")
    first = next((number for number, line in enumerate(asked) if line.strip()), None)
    if first is None:
        return []
    lines = comparable(file.text).split("\n")
    key = asked[first].lstrip()
    starts = [number - first for number, line in enumerate(lines) if line.endswith(key) and line.lstrip() == key]
    bounds = line_bounds(file.text) if starts else []
    known = {indent_of(line) for line in lines} if starts else set[str]()
    new_lines = line_feeds(new).split("\n")
    hits: list[Hit] = []
    for start in starts:
        if start < 0 or (hits and bounds[start][0] < hits[-1].end):
            continue
        indented = reindented(asked, lines[start : start + len(asked)], new_lines, known)
        last = start + len(asked) - 1
        if indented is None or (ends_line and last + 1 == len(lines)):
            continue
        end = bounds[last + 1][0] if ends_line else bounds[last][1]
        hits.append(carried(file, (bounds[start][0], end), (old, new), indented))
    return hits


_STRATEGIES: tuple[tuple[str, Callable[[FileText, str, str], list[Hit]]], ...] = (
    ("", _exact),
    ("line endings", _any_line_ending),
    ("trailing spaces and typographic characters", _any_trailing_space),
    ("indentation", _any_indentation),
)


def carried(file: FileText, span: tuple[int, int], texts: tuple[str, str], written: Sequence[str] | None = None) -> Hit:
    """Return a hit whose new text keeps the file's form of every line that the edit does not change.

    Args:
        file: The file.
        span: The place.
        texts: Old and new text.
        written: Lines of the new text as they are to be written; None for those of `texts`.
    """
    old, new = (line_feeds(text).split("\n") for text in texts)
    here = file.text[span[0] : span[1]].split("\n")
    wanted = list(written or new)
    if len(here) != len(old):
        return Hit(*span, "\n".join(wanted))
    typography = typography_of(here, old)
    lines: list[str] = []
    done = 0
    for change in changed_lines(Sides(old, new)):
        lines += here[done : change.old_from]
        lines += [line.translate(typography) for line in wanted[change.new_from : change.new_to]]
        done = change.old_to
    return Hit(*span, "\n".join([*lines, *here[done:]]))
