"""Queue of a cassette's exchanges, matched to requests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from harness.errors import RequestRejected
from harness.messages import JsonValue
from providers.cassette.file import Exchange
from providers.cassette.secrets import REMOVED

# Different in each run, and without meaning for the model.
RUN_FIELDS = frozenset(("prompt_cache_key", "metadata", "user", "session_id", "timestamp", "safety_identifier"))
# Concurrent requests may come in a slightly different order.
AHEAD = 16

logger = logging.getLogger(__name__)


class ReplayQueue:
    """Plays each exchange once. `on_mismatch` is called with requests that differ from the recording, once for each
    field."""

    def __init__(self, name: str, exchanges: Sequence[Exchange]) -> None:
        self.name = name
        self.on_mismatch: Callable[[str], object] = logger.warning
        self._exchanges = exchanges
        self._waiting = list(exchanges)
        self._reported: dict[str, None] = {}

    def next(self) -> Exchange:
        """Return the first exchange that was not played yet.

        Raises:
            RequestRejected: Every exchange has been played.
        """
        if not self._waiting:
            raise RequestRejected(self._exhausted())
        return self._waiting[0]

    def take(self, method: str, url: str, body: JsonValue) -> Exchange:
        """Return the exchange for a request: the identical one, otherwise the first with the same method and path.

        Raises:
            RequestRejected: No unplayed exchange matches the request.
        """
        path = urlsplit(url).path
        same_path = [each for each in self._waiting if (each.method, urlsplit(each.url).path) == (method, path)]
        candidates = same_path or [each for each in self._waiting if each.method == method == "POST"]
        if not candidates:
            raise RequestRejected(self._exhausted())
        exact = (each for each in same_path[:AHEAD] if difference(each.body, body) is None)
        chosen = next(exact, candidates[0])
        self._compare(chosen, url, body)
        self._waiting.remove(chosen)
        return chosen

    def _compare(self, exchange: Exchange, url: str, body: JsonValue) -> None:
        number = self._exchanges.index(exchange) + 1
        if urlsplit(exchange.url).path != urlsplit(url).path:
            self._note("the address", number)
        elif (place := difference(exchange.body, body)) is not None:
            self._note(place, number)

    def _note(self, place: str, number: int) -> None:
        head = place.partition(".")[0].partition("[")[0]
        if head not in self._reported:
            self._reported[head] = None
            self.on_mismatch(f"replay: request {number} differs from the recorded one in {place}")

    def _exhausted(self) -> str:
        count = len(self._exchanges)
        played = count - len(self._waiting)
        differing = (
            f"; requests differed from the recorded ones in {', '.join(self._reported)}" if self._reported else ""
        )
        return f"the cassette {self.name} has no matching exchange left: {played} of {count} were played{differing}"


def difference(recorded: JsonValue, asked: JsonValue) -> str | None:
    """Return the first place in which two bodies differ, as in `messages[2].content`; None if they are equivalent."""
    place = next(_differences(recorded, asked, ""), None)
    return place if place is None else place.lstrip(".") or "the body"


def _differences(recorded: JsonValue, asked: JsonValue, place: str) -> Iterator[str]:
    match recorded, asked:
        case dict(), dict():
            for name in sorted((recorded.keys() | asked.keys()) - RUN_FIELDS):
                yield from _differences(recorded.get(name), asked.get(name), f"{place}.{name}")
        case list(), list():
            for index, (before, now) in enumerate(zip(recorded, asked, strict=False)):
                yield from _differences(before, now, f"{place}[{index}]")
            if len(recorded) != len(asked):
                yield f"{place}[{min(len(recorded), len(asked))}]"
        case str(), _ if REMOVED in recorded:
            return
        case _:
            if recorded != asked:
                yield place
