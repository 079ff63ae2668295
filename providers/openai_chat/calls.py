"""Assembly of tool calls from fragments, however a server numbers them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import field

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta
from harness.lazy_dataclass import dataclass
from harness.messages import new_id
from providers.openai_chat.wire_types import CallPart


@dataclass(slots=True)
class _Call:
    """A call in progress. It starts when its name is known; earlier fragments wait."""

    number: int | None
    id: str
    index: int | None = None
    waiting: list[str] = field(default_factory=list[str])


class CallAssembler:
    """Assembles tool calls. Fragments share an `index`; without one the id identifies them, otherwise the order.

    Some servers give every call the index 0: a new id together with a name starts a new call anyway.
    """

    def __init__(self, new_index: Callable[[], int]) -> None:
        self._new_index = new_index
        self._calls: list[_Call] = []

    def __bool__(self) -> bool:
        return any(call.index is not None for call in self._calls)

    def take(self, part: CallPart) -> Iterator[Delta]:
        function = part.get("function") or {}
        name = function.get("name") or ""
        call = self._call_of(part, name)
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if call.index is None:
            if arguments:
                call.waiting.append(arguments)
            if name:
                yield from self._begin(call, name)
        elif arguments:
            yield BlockDelta(call.index, arguments)

    def finish(self) -> Iterator[Delta]:
        """Yield the ends of all calls; one without a name is dropped."""
        for call in self._calls:
            if call.index is not None:
                yield BlockEnd(call.index)

    def _begin(self, call: _Call, name: str) -> Iterator[Delta]:
        call.index = self._new_index()
        yield BlockStart(call.index, "tool_call", call.id or f"call_{new_id()[:12]}", name)
        for arguments in call.waiting:
            yield BlockDelta(call.index, arguments)

    def _call_of(self, part: CallPart, name: str) -> _Call:
        number, call_id = part.get("index"), part.get("id") or ""
        known = self._known(number, call_id, name)
        if known is None:
            known = _Call(number, call_id)
            self._calls.append(known)
        known.id = known.id or call_id
        return known

    def _known(self, number: int | None, call_id: str, name: str) -> _Call | None:
        latest = reversed(self._calls)
        if number is not None:
            call = next((call for call in latest if call.number == number), None)
            is_another = call is not None and call.index is not None and call_id not in ("", call.id) and bool(name)
            return None if is_another else call
        if call_id:
            return next((call for call in latest if call.id == call_id), None)
        return None if name else next(latest, None)
