"""Scheduling of the calls of a reply: groups, and locks between calls that conflict."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from harness.approval.assessment import Allowed
from harness.execution.context import Concurrency
from harness.risk import Risk
from harness.workspace.path_policy import real_paths


def groups_of(calls: Sequence[Allowed], concurrency: Concurrency) -> list[Sequence[Allowed]]:
    """Return the calls in groups that run one after another, in call order."""
    sizes = {"parallel": len(calls), "sequential": 1}
    size = max(1, concurrency if isinstance(concurrency, int) else sizes[concurrency])
    return [calls[start : start + size] for start in range(0, len(calls), size)]


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

    def conflicts(self, other: Claim) -> bool:
        """Return True if one call changes what the other uses, or cannot name what it changes."""
        if self.is_exclusive or other.is_exclusive:
            return True
        if self.is_free or other.is_free or not (self.changes or other.changes):
            return False
        if any(claim.changes and not claim.paths for claim in (self, other)):
            return True
        return any(_overlap(mine, theirs) for mine in self.paths for theirs in other.paths)


def claim_of(risk: Risk, root: Path) -> Claim:
    match risk.access:
        case "exclusive":
            return Claim(is_free=False, changes=True, paths=(), is_exclusive=True)
        case "shared":
            return Claim(is_free=True, changes=False, paths=())
        case "read":
            # A call that does not name its files may read any.
            return Claim(is_free=False, changes=False, paths=real_paths(risk.paths, root) or (os.sep,))
        case "by_level":
            return Claim(risk.level == "none", risk.changes, real_paths(risk.paths, root) or ())


def _overlap(one: str, other: str) -> bool:
    """Return True if two paths are equal or one contains the other."""
    shorter, longer = sorted((one, other), key=len)
    return longer == shorter or longer.startswith(shorter.rstrip("/") + "/")


class ResourceLocks:
    """Locks of a group of calls: each call waits for the earlier ones that it conflicts with.

    No call waits for a later one, which rules out a deadlock.
    """

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._claims = dict(enumerate(claims))
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
        return claim is not None and any(
            other < place and claim.conflicts(theirs) for other, theirs in self._claims.items()
        )

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def locks_for(group: Sequence[Allowed], root: Path) -> ResourceLocks:
    """Return the locks of a group; a single call needs none."""
    return ResourceLocks([claim_of(each.risk, root) for each in group] if len(group) > 1 else ())
