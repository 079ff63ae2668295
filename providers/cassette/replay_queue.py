"""The exchanges of a cassette, handed out one after the other to what is asked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from harness.errors import RequestRejected
from harness.messages import JsonValue
from providers.cassette.file import Exchange
from providers.cassette.secrets import REMOVED

# Of each run its own, and of no meaning to the model.
OF_THE_RUN = frozenset(("prompt_cache_key", "metadata", "user", "session_id", "timestamp", "safety_identifier"))
# Requests that ran side by side may come in another order, but not in quite another one.
AHEAD = 16

logger = logging.getLogger(__name__)


class ReplayQueue:
    """Plays each exchange once. `tell` hears of requests that are not as they were recorded, once for each place."""

    def __init__(self, name: str, exchanges: Sequence[Exchange]) -> None:
        self.name = name
        self.on_mismatch: Callable[[str], object] = logger.warning
        self._exchanges = exchanges
        self._waiting = list(exchanges)
        self._told: dict[str, None] = {}

    def next(self) -> Exchange:
        """The first exchange that was not played yet.

        Raises:
            RequestRejected: there is none.
        """
        if not self._waiting:
            raise RequestRejected(self._used_up())
        return self._waiting[0]

    def take(self, method: str, url: str, body: JsonValue) -> Exchange:
        """The answer to a request: that of the same request, else of the first one that went the same way.

        Raises:
            RequestRejected: there is none left.
        """
        path = urlsplit(url).path
        same_way = [each for each in self._waiting if (each.method, urlsplit(each.url).path) == (method, path)]
        fitting = same_way or [each for each in self._waiting if each.method == method == "POST"]
        if not fitting:
            raise RequestRejected(self._used_up())
        exact = (each for each in same_way[:AHEAD] if difference(each.body, body) is None)
        chosen = next(exact, fitting[0])
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
        if head not in self._told:
            self._told[head] = None
            self.on_mismatch(f"replay: request {number} is not the recorded one; it differs in {place}")

    def _used_up(self) -> str:
        count = len(self._exchanges)
        played = count - len(self._waiting)
        said = f"the cassette {self.name} has no answer left to this: {played} of its {count} exchanges were played"
        return f"{said}; requests differed from the recorded ones in {', '.join(self._told)}" if self._told else said


def difference(recorded: JsonValue, asked: JsonValue) -> str | None:
    """Where two bodies differ first, as in `messages[2].content`; None where they mean the same."""
    place = next(_differences(recorded, asked, ""), None)
    return place if place is None else place.lstrip(".") or "the body"


def _differences(recorded: JsonValue, asked: JsonValue, place: str) -> Iterator[str]:
    match recorded, asked:
        case dict(), dict():
            for name in sorted((recorded.keys() | asked.keys()) - OF_THE_RUN):
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
