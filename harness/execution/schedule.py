"""Scheduling of the calls of a reply: groups, and locks between calls that conflict."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import groupby
from pathlib import Path, PurePath

from msgspec import Struct

from harness.approval.assessment import Allowed
from harness.execution.context import Execution
from harness.execution.dependencies import Dependencies
from harness.messages import ToolCall
from harness.risk import Risk
from harness.workspace.path_policy import real_paths

logger = logging.getLogger(__name__)


def groups_of(
    calls: Sequence[Allowed], execution: Execution, dependencies: Dependencies | None = None
) -> list[Sequence[Allowed]]:
    """Return the calls in groups that run one after another: by priority, then in the order given.

    Source of the priorities: swink-agent, `src/tool_execution_policy.rs`.
    """
    sizes = {"parallel": len(calls), "sequential": 1}
    concurrency = execution.concurrency
    size = max(1, concurrency if isinstance(concurrency, int) else sizes[concurrency])
    groups: list[Sequence[Allowed]] = []
    for alike in _by_priority(calls, execution.priority, dependencies):
        groups += [alike[start : start + size] for start in range(0, len(alike), size)]
    return groups


def _by_priority(
    calls: Sequence[Allowed], priority_of: Callable[[ToolCall], int] | None, dependencies: Dependencies | None
) -> list[Sequence[Allowed]]:
    """Return the calls by priority, highest first; a call that others wait for has at least their priority."""
    if priority_of is None:
        return [calls]
    priorities = {each.call.id: _priority(priority_of, each.call) for each in calls}
    # Each call precedes those that wait for it.
    for each in reversed(calls):
        for name in dependencies.of(each.call) if dependencies else ():
            if name in priorities:
                priorities[name] = max(priorities[name], priorities[each.call.id])
    ordered = sorted(calls, key=lambda each: -priorities[each.call.id])
    return [list(alike) for _, alike in groupby(ordered, key=lambda each: priorities[each.call.id])]


def _priority(priority_of: Callable[[ToolCall], int], call: ToolCall) -> int:
    try:
        return priority_of(call)
    except Exception:  # user-supplied callback
        logger.exception("the priority of a call of %s could not be determined", call.name)
        return 0


class Claim(Struct, frozen=True):
    """Resources of a call, by real path."""

    is_free: bool
    """True if the call uses nothing."""
    changes: bool
    """True if the call changes files."""
    paths: tuple[str, ...]
    """Files it uses; empty if unknown."""
    is_exclusive: bool = False
    """True if no other call may run at the same time."""
    is_ordered: bool = False
    """True if the model has declared which calls it waits for: it waits for no other because of unknown effects."""

    def conflicts(self, other: Claim) -> bool:
        """Return True if this call has to wait for an earlier one.

        One of them changes what the other uses, or cannot name what it changes.
        """
        if self.is_exclusive or other.is_exclusive:
            return True
        if self.is_free or other.is_free or not (self.changes or other.changes):
            return False
        if any(claim.changes and not claim.paths for claim in (self, other)):
            return not self.is_ordered
        return any(_overlap(mine, theirs) for mine in self.paths for theirs in other.paths)


def claim_of(risk: Risk, root: Path, *, is_ordered: bool = False) -> Claim:
    """Return the resources of a call; `is_ordered` if the model has declared which calls it waits for."""
    match risk.access:
        case "exclusive":
            return Claim(is_free=False, changes=True, paths=(), is_exclusive=True)
        case "shared":
            return Claim(is_free=True, changes=False, paths=())
        case "read":
            # A call that does not name its files may read any.
            paths = real_paths(risk.paths, root) or (os.sep,)
            return Claim(is_free=False, changes=False, paths=paths, is_ordered=is_ordered)
        case "by_level":
            # A search names the folder that it reads as an access.
            searched = () if risk.changes else tuple(str(PurePath(each.cwd, each.path)) for each in risk.accesses)
            paths = real_paths((*risk.paths, *searched), root) or ()
            return Claim(risk.level == "none", risk.changes, paths, is_ordered=is_ordered)


def _overlap(one: str, other: str) -> bool:
    """Return True if two paths are equal or one contains the other."""
    shorter, longer = sorted((one, other), key=len)
    return longer == shorter or longer.startswith(shorter.rstrip("/") + "/")


class ResourceLocks:
    """Locks of a group of calls: each call waits for the earlier ones that it conflicts with.

    No call waits for a later one, which rules out a deadlock.
    """

    def __init__(self, claims: Sequence[Claim], dependencies: Mapping[int, Set[int]] = {}) -> None:
        """Create the locks.

        Args:
            claims: Resources of the calls, in the order in which they begin.
            dependencies: Places of the calls that a call waits for, by its own place.
        """
        self._claims = dict(enumerate(claims))
        self._dependencies = dependencies
        self._next = len(claims)
        self._changed = asyncio.Event()

    def add(self, claim: Claim) -> int:
        """Add a call that begins after the others, and return its place."""
        place, self._next = self._next, self._next + 1
        self._claims[place] = claim
        return place

    async def acquire(self, place: int) -> None:
        while self._is_blocked(place):
            await self._changed.wait()

    def release(self, place: int) -> None:
        self._claims.pop(place, None)
        self._notify()

    def _is_blocked(self, place: int) -> bool:
        claim = self._claims.get(place)
        if claim is None:
            return False
        required = self._dependencies.get(place, frozenset())
        return any(
            other in required or (other < place and claim.conflicts(theirs)) for other, theirs in self._claims.items()
        )

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def locks_for(group: Sequence[Allowed], root: Path, dependencies: Dependencies | None = None) -> ResourceLocks:
    """Return the locks of a group; a single call needs none."""
    if len(group) == 1:
        return ResourceLocks(())
    claims = [claim_of(each.risk, root, is_ordered=each.is_ordered) for each in group]
    if dependencies is None:
        return ResourceLocks(claims)
    places = {each.call.id: place for place, each in enumerate(group)}
    required = {
        place: {places[name] for name in dependencies.of(each.call) if name in places}
        for place, each in enumerate(group)
    }
    return ResourceLocks(claims, required)
