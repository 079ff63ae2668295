"""Dependencies between the calls of one reply: a call may name those it waits for in an argument `depends_on`.

Source: cinch-rs (https://github.com/tacryt-socryp/cinch-rs, `tools/dag.rs`), where it is the id of another call of the
reply. A list is accepted as well, and the numbers of calls, counted from 1, since models do not know the ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from harness.approval.assessment import DEPENDS_ON, Allowed, without_dependencies
from harness.messages import JsonObject, JsonValue, ToolCall

INSTRUCTIONS = """\
# Order of calls

Calls of one reply run at the same time unless they change the same files; commands that do more than read run one \
after another. Any call may have an argument `depends_on`: the numbers of the calls of the same reply that must \
succeed before it begins, counted from 1, such as [1, 2]. An empty list runs a command beside other commands."""
"""Instructions for the model."""


class Dependencies:
    """The calls that each call of a reply waits for."""

    def __init__(self, calls: Sequence[ToolCall], schemas: Mapping[str, JsonObject]) -> None:
        """Read the dependencies of `calls`; `schemas` has the parameters of the tools by name."""
        self._calls = calls
        self._found: dict[str, list[str]] = {}
        self._problems: dict[str, str] = {}
        for call in calls:
            if without_dependencies(call.arguments, schemas.get(call.name, {}))[1]:
                self._read(call, call.arguments[DEPENDS_ON])
        self._order = self._sorted() if self._found else {call.id: place for place, call in enumerate(calls)}

    def problem(self, call: ToolCall) -> str:
        """Return why the dependencies of a call are invalid; empty if they are valid."""
        return self._problems.get(call.id, "")

    def of(self, call: ToolCall) -> Sequence[str]:
        """Return the ids of the calls that a call waits for."""
        return self._found.get(call.id, ())

    def ordered(self, calls: Iterable[Allowed]) -> list[Allowed]:
        """Return the calls in an order in which each follows those that it waits for."""
        return sorted(calls, key=lambda each: self._order[each.call.id])

    def _read(self, call: ToolCall, value: JsonValue) -> None:
        ids = {str(number): each.id for number, each in enumerate(self._calls, 1)} | {
            each.id: each.id for each in self._calls
        }
        names = value if isinstance(value, list) else [] if value is None else [value]
        unknown = [name for name in names if str(name) not in ids or isinstance(name, bool)]
        if unknown:
            self._problems[call.id] = (
                f"depends_on names {unknown[0]!r:.80}, which is no call of this reply: give the numbers of calls, "
                "counted from 1, or their ids"
            )
        else:
            self._found[call.id] = [ids[str(name)] for name in names]

    def _sorted(self) -> dict[str, int]:
        """Return the place of each call by its id; calls that wait for each other get a problem instead."""
        # Imported here because few replies have dependencies.
        from graphlib import CycleError, TopologicalSorter
        from heapq import heappop, heappush

        given = {call.id: place for place, call in enumerate(self._calls)}
        sorter = TopologicalSorter({call.id: self.of(call) for call in self._calls})
        try:
            sorter.prepare()
        except CycleError:
            self._problems |= dict.fromkeys(self._found, "depends_on makes calls wait for each other")
            return given
        order: dict[str, int] = {}
        ready: list[tuple[int, str]] = []
        while sorter.is_active():
            for name in sorter.get_ready():
                heappush(ready, (given[name], name))
            # The earliest one, so that only calls that wait leave their place: others may rely on the order of calls.
            _, name = heappop(ready)
            order[name] = len(order)
            sorter.done(name)
        return order
