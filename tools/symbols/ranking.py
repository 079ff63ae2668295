"""Ranking of files and definitions by their references: PageRank over the graph of files.

A file refers to another by each word in it that the other defines. A word counts for less the more files contain it
and the more files define it. Source: Page et al., The PageRank Citation Ranking (1999); personalized by the focus.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from heapq import nsmallest
from math import log, sqrt

from msgspec import Struct

from tools.symbols.definitions import Definition
from tools.symbols.languages import is_test
from tools.symbols.references import SHORTEST_WORD

_DAMPING = 0.85
_ITERATIONS = 15
_MOST_DEFINERS = 10
"""A word that more files define, such as `main`, refers to none of them in particular."""
_FOCUS = 10.0
"""Factor of references to a word in the focus."""
_OWN_SHARE = 0.02
"""Part of a file's rank that its definitions have without references, so that every file has an order."""


_SEVERAL_WORDS = re.compile(r"[^_]_[^_]|[^A-Z_][A-Z]")
_ONE_WORD: dict[str, float] = dict.fromkeys(("class", "enum", "interface", "struct", "trait", "type"), 0.5)
_MINOR: dict[str, float] = dict.fromkeys(("constant", "method", "variable"), 0.3)
_TEST = 0.1


class FileWords(Struct, frozen=True):
    """Names that a file defines, and the words in it with their numbers."""

    path: str
    defined: Mapping[str, float]
    """Names with their weights."""

    words: Mapping[str, int]


class RankedName(Struct, frozen=True, array_like=True):
    """A name that a file defines, with its score."""

    path: str
    name: str
    score: float


_Edges = list[dict[int, float]]
_Uses = dict[tuple[int, str], list[tuple[int, float]]]


def name_weights(path: str, defined: Iterable[Definition]) -> dict[str, float]:
    """Return the weights of the names that other files can refer to.

    A word in another file is rather a reference to a name of several words than to one that is an ordinary word, and
    rather to a class or function than to a method or property.
    """
    found: dict[str, float] = {}
    open_: list[Definition] = []
    in_test = _TEST if is_test(path) else 1.0
    for each in defined:
        del open_[each.depth :]
        if not any(outer.kind in ("function", "method") for outer in open_):
            weight = 1.0 if _SEVERAL_WORDS.search(each.name) else _ONE_WORD.get(each.kind, 0.1)
            found[each.name] = max(in_test * weight * _MINOR.get(each.kind, 1.0), found.get(each.name, 0.0))
        open_.append(each)
    return found


def rank(files: Sequence[FileWords], focus: Set[str], most: int) -> list[RankedName]:
    """Rank the names that files define, highest first.

    Args:
        files: The files of the project.
        focus: Paths of files, and names, that matter most: files with them, and what they refer to, rank higher.
        most: Number of names to return.
    """
    if not files:
        return []
    definers = _definers(files)
    edges, uses = _graph(files, definers, focus)
    focused = {number for number, file in enumerate(files) if _is_focused(file, focus)}
    ranks = _page_ranks(edges, focused)
    scores: list[dict[str, float]] = [
        dict.fromkeys(
            file.defined, ranks[number] * (1 if number in focused else _OWN_SHARE) / max(len(file.defined), 1)
        )
        for number, file in enumerate(files)
    ]
    totals = [sum(targets.values()) for targets in edges]
    for (number, name), by in uses.items():
        scores[number][name] += sum(ranks[user] * weight / totals[user] for user, weight in by)
    ranked = (
        RankedName(file.path, name, score)
        for file, names in zip(files, scores, strict=True)
        for name, score in names.items()
    )
    return nsmallest(most, ranked, key=lambda each: (-each.score, each.path, each.name))


def _definers(files: Sequence[FileWords]) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, file in enumerate(files):
        for name in file.defined:
            found[name].append(number)
    return {
        name: numbers
        for name, numbers in found.items()
        if len(name) >= SHORTEST_WORD and len(numbers) <= _MOST_DEFINERS and not name.startswith("__")
    }


def _graph(files: Sequence[FileWords], definers: Mapping[str, list[int]], focus: Set[str]) -> tuple[_Edges, _Uses]:
    """Return the weights of the references between files, and the users of each definition."""
    known = definers.keys()
    # A file refers to its own definition of a word, if it has one.
    used = [(file.words.keys() & known) - file.defined.keys() for file in files]
    spread = Counter(word for words in used for word in words)
    weights = {
        word: log(1 + len(files) / count) / len(definers[word]) * (_FOCUS if word in focus else 1)
        for word, count in spread.items()
    }
    edges: _Edges = [{} for _ in files]
    uses: _Uses = {}
    for number, words in enumerate(used):
        targets, counts = edges[number], files[number].words
        for word in words:
            count = sqrt(counts[word])
            for definer in definers[word]:
                weight = weights[word] * files[definer].defined[word] * count
                targets[definer] = targets.get(definer, 0.0) + weight
                uses.setdefault((definer, word), []).append((number, weight))
    return edges, uses


def _is_focused(file: FileWords, focus: Set[str]) -> bool:
    if not focus:
        return False
    name = file.path.rpartition("/")[2]
    return not focus.isdisjoint((file.path, name, name.partition(".")[0])) or any(
        name in file.defined for name in focus
    )


def _page_ranks(edges: _Edges, focused: Set[int]) -> list[float]:
    count = len(edges)
    start = [1 / len(focused) if number in focused else 0.0 for number in range(count)] if focused else []
    start = start or [1 / count] * count
    shares = [_shares(targets) for targets in edges]
    ranks = start
    for _ in range(_ITERATIONS):
        lost = sum(rank for rank, targets in zip(ranks, shares, strict=True) if not targets)
        following = [(1 - _DAMPING + _DAMPING * lost) * each for each in start]
        for rank, targets in zip(ranks, shares, strict=True):
            if rank:
                for target, share in targets:
                    following[target] += _DAMPING * rank * share
        ranks = following
    return ranks


def _shares(targets: Mapping[int, float]) -> list[tuple[int, float]]:
    total = sum(targets.values())
    return [(target, weight / total) for target, weight in targets.items()]
