"""In-memory index of up to a million paths, searched in time slices."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable
from itertools import islice

from cinch_tui.widgets.prompt.completion import MAX_CANDIDATES, rank

_PIECE = 1 << 17
# Short queries match everything; ranking all paths of a large project would delay every key.
_MAX_HITS = 2_000


class FileIndex:
    """Index of `paths` in the order used for equally good matches."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self.text = "\n".join(("", *paths, "")).encode()
        # Only ASCII is lowered: offsets in both texts must be equal.
        self.lower = self.text.lower()

    def first(self, count: int) -> list[str]:
        ends = (match.start() for match in re.finditer(b"\n", self.text))
        end = next(islice(ends, count, None), len(self.text))
        return self.text[1:end].decode().splitlines()


class FileSearch:
    """Paths that contain the query, else those with its letters in order. Smart case."""

    def __init__(self, index: FileIndex, query: str) -> None:
        self.query = query
        self.is_done = False
        self._index = index
        self._within = index.text if query.lower() != query else index.lower
        self._wanted = query.encode()
        self._place = 0
        self._hits: list[str] = []
        self._letters: re.Pattern[bytes] | None = None

    def go_on(self, seconds: float) -> None:
        """Continue the search for about `seconds`."""
        deadline = time.perf_counter() + seconds
        while not self.is_done and time.perf_counter() < deadline:
            stop = self._within.find(b"\n", min(self._place + _PIECE, len(self._within) - 1))
            stop = len(self._within) if stop < 0 else stop + 1
            (self._find_letters if self._letters else self._find_words)(self._place, stop)
            self._place = stop
            if stop == len(self._within) or len(self._hits) >= _MAX_HITS:
                self._turn()

    def best(self, favoured: Collection[str]) -> list[str]:
        """Return the results so far, best first; ties: favored paths in their order, then nearer ones."""
        places = {path: place for place, path in enumerate(favoured)}
        wanted = self.query.lower()
        # Favored paths may be missing in the limited hits.
        also = [path for path in places if wanted in path.lower()]
        hits = dict.fromkeys((*also, *self._hits))

        def order(path: str) -> tuple[int, int]:
            return rank(wanted, path.lower().removesuffix("/")), places.get(path, len(places))

        return sorted(hits, key=order)[:MAX_CANDIDATES]

    def _turn(self) -> None:
        """Finish, or start a second pass for scattered letters if there were no hits."""
        if self._hits or self._letters or len(self._wanted) < 2:
            self.is_done = True
            return
        each = (re.escape(bytes([byte])) for byte in self._wanted)
        self._letters = re.compile(b"(?m)^" + b"".join(b"[^%s\n]*%s" % (byte, byte) for byte in each))
        self._place = 0

    def _find_words(self, place: int, stop: int) -> None:
        while len(self._hits) < _MAX_HITS:
            place = self._within.find(self._wanted, place, stop)
            if place < 0:
                return
            place = self._keep(place)

    def _find_letters(self, place: int, stop: int) -> None:
        assert self._letters is not None
        for found in self._letters.finditer(self._within, place, stop):
            self._keep(found.start())
            if len(self._hits) >= _MAX_HITS:
                return

    def _keep(self, place: int) -> int:
        """Add the line around the position; return its end."""
        end = self._within.find(b"\n", place)
        start = self._within.rfind(b"\n", 0, place) + 1
        self._hits.append(self._index.text[start:end].decode())
        return end
