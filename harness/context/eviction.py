"""Eviction: the choice of old tool output that stubs replace. Pure.

One batch frees enough for several turns, because each batch makes the provider's cache unusable from its first stub on.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence, Set
from math import log

import msgspec
from msgspec import Struct

from harness.context.call_description import LOOKING_TOOLS, changed_paths, read_paths
from harness.context.overlay import UNCHANGED_SINCE, is_reference, stub_text
from harness.context.policy import ContextPolicy
from harness.context.tokens import estimate_message, estimate_text
from harness.messages import AssistantMessage, Message, ToolCall, ToolResult

LOOKING_WEIGHT = 1.5
"""Factor of the priority of output that can be had again without side effects."""
SMALLEST_BATCH = 0.10
"""Smallest share of the usable window that an eviction frees, unless it reaches its goal."""


class Candidate(Struct, frozen=True):
    """Tool output that may be evicted."""

    id: str
    """Id of the message."""
    freed: int
    """Tokens that its eviction frees."""
    rank: tuple[bool, float]
    """Sort key; the highest is evicted first. The first item is True if later output supersedes it: its file was read
    again or edited, or the same call was made again. The second one is high for old, long output of tools that only
    look."""


class EvictionGoal(Struct, frozen=True):
    """Amount to evict, in estimated tokens."""

    wanted: int
    """Tokens to free."""
    least: int
    """Tokens below which nothing is evicted, because the next eviction would soon follow."""


def choose_evictions(
    messages: Sequence[Message], goal: EvictionGoal, policy: ContextPolicy, kept: Set[str]
) -> list[str]:
    """Return the ids of the messages to evict in one batch, superseded ones first; empty if too little can be freed.

    Args:
        messages: The context.
        goal: Tokens to free.
        policy: The policy.
        kept: Ids of the messages that are pinned, or stubs already.
    """
    candidates = sorted(candidates_for_eviction(messages, policy, kept), key=lambda each: each.rank, reverse=True)
    chosen: list[str] = []
    freed = 0
    for candidate in candidates:
        if freed >= goal.wanted:
            break
        chosen.append(candidate.id)
        freed += candidate.freed
    return chosen if freed >= min(goal.wanted, goal.least) else []


def candidates_for_eviction(messages: Sequence[Message], policy: ContextPolicy, kept: Set[str]) -> Iterator[Candidate]:
    """Yield the tool output that may be evicted, latest first."""
    age, later, calls = 0, _LaterCalls(), _calls_by_result(messages)
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, AssistantMessage):
            age += 1
            later.add(message)
        elif isinstance(message, ToolResult):
            call = calls.get(index)
            is_superseded = call is not None and later.supersedes(call, message)
            later.add_result(message, call, age)
            unused = later.age_of(message, age)
            if unused >= policy.evict_min_age and message.id not in kept:
                candidate = _candidate(message, call, unused, is_superseded=is_superseded)
                if candidate.freed > 0:
                    yield candidate


def _calls_by_result(messages: Sequence[Message]) -> dict[int, ToolCall]:
    """Return the call of each result, by the index of the result; call ids may repeat in imported conversations."""
    due: dict[str, ToolCall] = {}
    calls: dict[int, ToolCall] = {}
    for index, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            due = {call.id: call for call in message.tool_calls}
        elif isinstance(message, ToolResult) and message.call_id in due:
            calls[index] = due[message.call_id]
    return calls


def _candidate(result: ToolResult, call: ToolCall | None, age: int, *, is_superseded: bool) -> Candidate:
    tokens = estimate_message(result)
    stub = estimate_text(stub_text(result, call, can_recall=True))
    weight = LOOKING_WEIGHT if result.tool_name in LOOKING_TOOLS else 1.0
    return Candidate(result.id, tokens - stub, (is_superseded, age * log(max(tokens, 2)) * weight))


class _Paths:
    """Files whose content is known better from later calls."""

    def __init__(self) -> None:
        self.changed: set[str] = set()
        """Files and folders that were changed, moved or removed."""
        self.read: set[str] = set()
        """Files that were read in full."""

    def __contains__(self, path: str) -> bool:
        if path in self.read or path in self.changed:
            return True
        folders = (path[:at] for at, sign in enumerate(path) if sign == "/" and at)
        return any(folder in self.changed for folder in folders)


class _LaterCalls:
    """Successful calls after a place in the conversation, which is walked backwards."""

    def __init__(self) -> None:
        self._not_superseding: set[str] = set()
        """Ids of the calls of the reply before the place whose results replace no earlier ones."""
        self._referred: dict[str, int] = {}
        """Age of the latest reference to a result, by the id of its call."""
        self._same: set[tuple[str, bytes]] = set()
        self._outdated = _Paths()
        self._pending = _Paths()
        """Paths of the calls of the reply before the place."""

    def add(self, reply: AssistantMessage) -> None:
        """Add the calls of the reply before the results seen so far."""
        for call in reply.tool_calls:
            if call.id not in self._not_superseding:
                self._same.add(_key(call))
        self._outdated.changed |= self._pending.changed
        self._outdated.read |= self._pending.read
        self._not_superseding.clear()
        self._pending = _Paths()

    def add_result(self, result: ToolResult, call: ToolCall | None, age: int) -> None:
        """Add a result, which may refer to an earlier one."""
        if call is not None:
            self._pending.changed.update(map(posixpath.normpath, changed_paths(call, result)))
            if call.arguments.keys() <= {"path"} and not is_reference(result):
                self._pending.read.update(map(posixpath.normpath, read_paths(call, result)))
        if result.is_error or is_reference(result):
            self._not_superseding.add(result.call_id)
        if is_reference(result) and result.details:
            self._referred.setdefault(str(result.details[UNCHANGED_SINCE]), age)

    def age_of(self, result: ToolResult, age: int) -> int:
        """Return the age of a result, counted from the latest reference to it."""
        return self._referred.get(result.call_id, age)

    def supersedes(self, call: ToolCall, result: ToolResult) -> bool:
        """Return True if the output of an earlier call is out of date."""
        if _key(call) in self._same:
            return True
        return any(posixpath.normpath(path) in self._outdated for path in read_paths(call, result))


def _key(call: ToolCall) -> tuple[str, bytes]:
    try:
        return call.name, msgspec.json.encode(call.arguments, order="deterministic")
    except UnicodeEncodeError:  # half of a surrogate pair
        return call.name, repr(call.arguments).encode("utf-8", "surrogatepass")
