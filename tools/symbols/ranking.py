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

from tools.symbols.definitions import MEMBERS, Definition, Kind
from tools.symbols.languages import is_test, language_of
from tools.symbols.words import SHORTEST_WORD

_DAMPING = 0.85
_MOST_ITERATIONS = 15
_SMALL_CHANGE = 0.01
"""Sum of the changes of all ranks, of 1, below which they are final."""
_MOST_DEFINERS = 10
"""A word that more files define, such as `main`, refers to none of them in particular."""
_WHOLE = 5.0
"""Weight of two or three good references: files with less pass on only a part of their rank."""
_FOCUS = 10.0
"""Factor of references to a word in the focus."""
_OWN_SHARE = 0.02
"""Part of a file's rank that its definitions have without references, so that every file has an order."""


_SEVERAL_WORDS = re.compile(r"[^_]_[^_]|[^A-Z_][A-Z]")
_TYPES = frozenset({"class", "enum", "interface", "struct", "trait", "type"})
_LEAST_DECLARED = 0.1
_FAMILIES = {"c": "cpp", "tsx": "javascript", "typescript": "javascript"}


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
    """Return the weights of the names that other files can refer to."""
    found: dict[str, float] = {}
    open_: list[Definition] = []
    factor = _factor(path)
    for each in defined:
        del open_[each.depth :]
        if not any(outer.kind in ("function", "method") for outer in open_):
            found[each.name] = max(factor * _weight(path, each.name, each.kind), found.get(each.name, 0.0))
        open_.append(each)
    return found


def declared_weights(path: str, declared: Mapping[str, Kind]) -> dict[str, float]:
    """Return the weights of the names that a file seems to declare, before it is parsed; minor ones are left out."""
    factor = _factor(path)
    weights = ((name, _weight(path, name, kind)) for name, kind in declared.items())
    return {name: factor * weight for name, weight in weights if weight >= _LEAST_DECLARED}


def _factor(path: str) -> float:
    return 0.1 if is_test(path) else 1.0


def _weight(path: str, name: str, kind: Kind) -> float:
    """Return the weight of a reference to a name.

    A word in another file is rather a reference to a name of several words than to one that is an ordinary word, and
    rather to a class or function than to a method or property.
    """
    # Few ordinary words begin with a capital.
    one_word = 0.5 if name[:1].isupper() and kind in _TYPES else 0.1
    weight = 1.0 if _SEVERAL_WORDS.search(name) else one_word
    if kind in MEMBERS:
        weight *= 0.3
    if name.startswith("_") or (path.endswith(".go") and not name[:1].isupper()):
        weight *= 0.1
    return weight


def rank(files: Sequence[FileWords], focus: Set[str], most: int) -> list[RankedName]:
    """Rank the names that files define, highest first.

    Args:
        files: The files of the project.
        focus: Paths of files, and names, that matter most: files with them, and what they refer to, rank higher.
        most: Number of names to return.
    """
    if not files:
        return []
    edges, uses = _graph(files, focus)
    focused = {number for number, file in enumerate(files) if _is_focused(file, focus)}
    ranks = _page_ranks(edges, focused)
    # What a file passes on to the file it refers to, for a weight of 1.
    given = [rank / _total(targets) for rank, targets in zip(ranks, edges, strict=True)]
    ranked: list[tuple[float, str, str]] = []
    for number, file in enumerate(files):
        own = ranks[number] * (1 if number in focused else _OWN_SHARE) / max(len(file.defined), 1)
        scores = dict.fromkeys(file.defined, own)
        for name, user, weight in uses[number]:
            scores[name] += given[user] * weight
        ranked += [(-score, file.path, name) for name, score in scores.items()]
    return [RankedName(path, name, -score) for score, path, name in nsmallest(most, ranked)]


def _graph(files: Sequence[FileWords], focus: Set[str]) -> tuple[list[dict[int, float]], list[list[_Use]]]:
    """Return the weights of the references to other files, and the uses of the names that each file defines."""
    edges: list[dict[int, float]] = [{} for _ in files]
    uses: list[list[_Use]] = [[] for _ in files]
    for numbers in _families(files):
        definers = _definers(files, numbers)
        # A file refers to its own definition of a word, if it has one.
        used = [(files[number].words.keys() & definers.keys()) - files[number].defined.keys() for number in numbers]
        spread = Counter(chain.from_iterable(used))
        weights: _Definers = {}
        for word, count in spread.items():
            factor = log(1 + len(numbers) / count) / len(definers[word]) * (_FOCUS if word in focus else 1)
            weights[word] = [(definer, factor * weight) for definer, weight in definers[word]]
        for number, words in zip(numbers, used, strict=True):
            targets = edges[number]
            counts = files[number].words
            for word in words:
                factor = sqrt(counts[word])
                for definer, one in weights[word]:
                    weight = factor * one
                    targets[definer] = targets.get(definer, 0.0) + weight
                    uses[definer].append((word, number, weight))
    return edges, uses


def _families(files: Sequence[FileWords]) -> Iterable[list[int]]:
    """Group files by languages: only within a group do they refer to each other."""
    found: defaultdict[str | None, list[int]] = defaultdict(list)
    for number, file in enumerate(files):
        language = language_of(file.path)
        found[_FAMILIES.get(language or "", language)].append(number)
    return found.values()


def _definers(files: Sequence[FileWords], numbers: Iterable[int]) -> _Definers:
    """Return the files that define each word, with the weights they give it, without those of far less weight."""
    found: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for number in numbers:
        for name, weight in files[number].defined.items():
            found[name].append((number, weight))
    chosen: _Definers = {}
    for name, definers in found.items():
        if len(definers) > 1:
            least = max(weight for _, weight in definers) / 2
            definers = [each for each in definers if each[1] >= least]
        if len(name) >= SHORTEST_WORD and len(definers) <= _MOST_DEFINERS and not name.startswith("__"):
            chosen[name] = definers
    return chosen


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
        following = [0.0] * count
        for rank, targets in zip(ranks, shares, strict=True):
            if rank:
                for target, share in targets:
                    following[target] += rank * share
        left = 1 - sum(following)
        following = [each + left * first for each, first in zip(following, start, strict=True)]
        change = sum(abs(after - before) for before, after in zip(ranks, following, strict=True))
        ranks = following
        if change < _SMALL_CHANGE:
            break
    return ranks


def _shares(targets: Mapping[int, float]) -> list[tuple[int, float]]:
    """Return the parts of a file's rank that others get, damped."""
    total = _total(targets) / _DAMPING
    return [(target, weight / total) for target, weight in targets.items()]


def _total(targets: Mapping[int, float]) -> float:
    """Return the weight of the references that share a file's rank; weak ones do not get all of it."""
    return max(sum(targets.values()), _WHOLE)
