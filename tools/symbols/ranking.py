"""Ranking of files and definitions by their references: PageRank over the graph of files.

A file refers to another by each word in it that the other defines. A word counts for less the more files contain it
and the more files define it. Source: Page et al., The PageRank Citation Ranking (1999); personalized by the focus.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from heapq import nsmallest
from itertools import chain
from math import log, sqrt

from msgspec import Struct

from tools.symbols.definitions import Definition
from tools.symbols.languages import is_test
from tools.symbols.references import SHORTEST_WORD

_DAMPING = 0.85
_MOST_ITERATIONS = 15
_SMALL_CHANGE = 0.01
"""Sum of the changes of all ranks, of 1, below which they are final."""
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


_Definers = dict[str, list[tuple[int, float]]]
_Use = tuple[str, int, float]


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
    edges, uses = _graph(files, _definers(files), focus)
    focused = {number for number, file in enumerate(files) if _is_focused(file, focus)}
    ranks = _page_ranks(edges, focused)
    # What a file passes on to the file it refers to, for a weight of 1.
    given = [rank / (sum(targets.values()) or 1.0) for rank, targets in zip(ranks, edges, strict=True)]
    ranked: list[tuple[float, str, str]] = []
    for number, file in enumerate(files):
        own = ranks[number] * (1 if number in focused else _OWN_SHARE) / max(len(file.defined), 1)
        scores = dict.fromkeys(file.defined, own)
        for name, user, weight in uses[number]:
            scores[name] += given[user] * weight
        ranked += [(-score, file.path, name) for name, score in scores.items()]
    return [RankedName(path, name, -score) for score, path, name in nsmallest(most, ranked)]


def _definers(files: Sequence[FileWords]) -> _Definers:
    """Return the files that define each word, with the weights they give it."""
    found: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, file in enumerate(files):
        for name, weight in file.defined.items():
            found[name].append((number, weight))
    return {
        name: numbers
        for name, numbers in found.items()
        if len(name) >= SHORTEST_WORD and len(numbers) <= _MOST_DEFINERS and not name.startswith("__")
    }


def _graph(
    files: Sequence[FileWords], definers: _Definers, focus: Set[str]
) -> tuple[list[dict[int, float]], list[list[_Use]]]:
    """Return the weights of the references to other files, and the uses of the names that each file defines."""
    known = definers.keys()
    # A file refers to its own definition of a word, if it has one.
    used = [(file.words.keys() & known) - file.defined.keys() for file in files]
    spread = Counter(chain.from_iterable(used))
    weights = {
        word: log(1 + len(files) / count) / len(definers[word]) * (_FOCUS if word in focus else 1)
        for word, count in spread.items()
    }
    edges: list[dict[int, float]] = []
    uses: list[list[_Use]] = [[] for _ in files]
    for number, words in enumerate(used):
        targets: dict[int, float] = {}
        counts = files[number].words
        for word in words:
            factor = weights[word] * sqrt(counts[word])
            for definer, defined in definers[word]:
                weight = factor * defined
                targets[definer] = targets.get(definer, 0.0) + weight
                uses[definer].append((word, number, weight))
        edges.append(targets)
    return edges, uses


def _is_focused(file: FileWords, focus: Set[str]) -> bool:
    if not focus:
        return False
    name = file.path.rpartition("/")[2]
    return not focus.isdisjoint((file.path, name, name.partition(".")[0])) or not focus.isdisjoint(file.defined)


def _page_ranks(edges: Sequence[Mapping[int, float]], focused: Set[int]) -> list[float]:
    count = len(edges)
    start = [1 / len(focused) if number in focused else 0.0 for number in range(count)] if focused else []
    start = start or [1 / count] * count
    shares = [_shares(targets) for targets in edges]
    ranks = start
    for _ in range(_MOST_ITERATIONS):
        lost = sum(rank for rank, targets in zip(ranks, shares, strict=True) if not targets)
        restart = 1 - _DAMPING + _DAMPING * lost
        following = [restart * each for each in start]
        for rank, targets in zip(ranks, shares, strict=True):
            if rank:
                for target, share in targets:
                    following[target] += rank * share
        change = sum(abs(after - before) for before, after in zip(ranks, following, strict=True))
        ranks = following
        if change < _SMALL_CHANGE:
            break
    return ranks


def _shares(targets: Mapping[int, float]) -> list[tuple[int, float]]:
    """Return the parts of a file's rank that others get, damped."""
    total = sum(targets.values()) / _DAMPING
    return [(target, weight / total) for target, weight in targets.items()]
