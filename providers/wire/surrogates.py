"""Letters that a service cut in two: it counts in halves, as JavaScript and Java do, and some cut between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from harness.ports.provider import BlockDelta, BlockEnd, Delta

LOST = "\ufffd"


class SurrogateBuffer:
    """Joins the halves of letters that came in two pieces of one block; of a half that stays alone, a mark is left."""

    def __init__(self) -> None:
        self._held: dict[int, str] = {}

    def joined(self, deltas: Iterable[Delta]) -> Iterator[Delta]:
        for delta in deltas:
            match delta:
                case BlockDelta(_, text) if self._held or "\ud800" <= text[-1:] <= "\udbff":
                    yield from self._whole(delta)
                    continue
                case BlockEnd(index) if index in self._held:
                    del self._held[index]
                    yield BlockDelta(index, LOST)
                case _:
                    pass
            yield delta

    def _whole(self, delta: BlockDelta) -> Iterator[Delta]:
        text = self._held.pop(delta.index, "") + delta.text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._held[delta.index] = text[-1]
            text = text[:-1]
        if text:
            # UTF-16 is made of such halves; what is left alone in it cannot be read.
            yield replace(delta, text=text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
