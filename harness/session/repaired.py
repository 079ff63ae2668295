"""Messages of a resumed session, repaired for the next request.

One pass reads every message. Of a long session only short messages and the end stay in memory; long messages before it
are read again on access.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from threading import Lock
from typing import overload

from harness.context.history import StoredMessages, call_ids_of, usage_of
from harness.context.normalize import normalize
from harness.messages import CustomMessage, Message, Usage
from harness.session.outline import beginning_of, is_intact
from harness.session.resume import LoadedSession
from harness.session.session_messages import LONG, SessionMessages

KEPT = 2 << 20
"""Bytes at the end of a session whose messages stay in memory."""


class RepairedMessages(StoredMessages):
    """Messages as the next request contains them. Thread-safe.

    Args:
        session: The messages in the file.
        outline: The repaired messages, those on disk truncated.
        places: Indexes in `session` of the messages on disk, by their index in `outline`.
    """

    def __init__(self, session: SessionMessages, outline: list[Message], places: dict[int, int]) -> None:
        self._session = session
        self._outline = outline
        self._places = places
        self._last: tuple[int, Message] | None = None
        self._loading = Lock()
        self._call_ids = call_ids_of(outline)
        self._usage = _sums(usage_of(outline))

    @property
    def outline(self) -> Sequence[Message]:
        return self._outline

    @property
    def on_disk(self) -> Set[int]:
        return self._places.keys()

    @property
    def call_ids(self) -> Set[str]:
        return self._call_ids

    @property
    def usage(self) -> Sequence[tuple[str, Usage]]:
        return self._usage

    def __len__(self) -> int:
        return len(self._outline)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(*index.indices(len(self))))
        index = index % len(self) if index < 0 else index
        place = self._places.get(index)
        if place is None:
            return self._outline[index]
        # Drawing a block accesses its message several times.
        if (last := self._last) is None or last[0] != index:
            last = self._last = index, _intact(self._session.read(place), self._outline[index])
        return last[1]

    def size(self, index: int) -> int:
        return self._session.size(self._places[index]) if index in self._places else 0

    def load(self) -> list[Message]:
        with self._loading:
            for index, place in self._places.items():
                self._outline[index] = _intact(self._session[place], self._outline[index])
            self._places = {}
            self._last = None
        return self._outline


def repaired_messages(loaded: LoadedSession, kept: int = KEPT) -> RepairedMessages:
    """Return the messages of a session, repaired once instead of before every request.

    The application's own messages stay after the message they followed.
    """
    session = loaded.messages
    long = _long_messages(session, kept)
    read = session.outlined(long)
    repaired = _repaired(session.completed(read))
    places = {id(read[at]): at for at in long}
    session.outlines = {at: each for at in long if not isinstance(each := read[at], CustomMessage)}
    on_disk = {index: places[id(each)] for index, each in enumerate(repaired) if id(each) in places}
    ids = {read[at].id for at in long}
    if any(each.id in ids and index not in on_disk for index, each in enumerate(repaired)):
        # The repair changed a truncated message, such as one of two calls with the same id.
        return RepairedMessages(session, _repaired(session.completed(session)), {})
    return RepairedMessages(session, repaired, on_disk)


def _intact(message: Message, outline: Message) -> Message:
    """Return a message as read from disk; if its lines have been changed there, what is left of it in memory."""
    if isinstance(outline, CustomMessage) or is_intact(message, outline):
        return message
    return beginning_of(outline)


def _sums(usage: Sequence[tuple[str, Usage]]) -> list[tuple[str, Usage]]:
    """Return the sums by model, of usage with and without a known cost."""
    sums: dict[tuple[str, bool], Usage] = {}
    for model, each in usage:
        key = model, each.cost is None
        sums[key] = sums[key] + each if key in sums else each
    return [(model, total) for (model, _), total in sums.items()]


def _long_messages(session: SessionMessages, kept: int) -> set[int]:
    long: set[int] = set()
    for index in reversed(range(len(session))):
        size = session.size(index)
        kept -= size
        if kept < 0 and size > LONG:
            long.add(index)
    return long


def _repaired(complete: Sequence[Message]) -> list[Message]:
    if not any(type(message) is CustomMessage for message in complete):
        return list(normalize(complete))
    custom: dict[str, list[Message]] = {}
    before = ""
    for message in complete:
        if type(message) is CustomMessage:
            custom.setdefault(before, []).append(message)
        else:
            before = message.id
    repaired = custom.pop("", [])
    for message in normalize(complete):
        repaired += [message, *custom.pop(message.id, ())]
    return repaired + [message for rest in custom.values() for message in rest]
