"""Which calls of a reply run together, and which wait for which."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from harness.agent.options import Concurrency
from harness.approval.assessment import Allowed
from harness.lazy_dataclass import dataclass
from harness.ports.tool import Risk


def groups_of(calls: Sequence[Allowed], concurrency: Concurrency) -> list[Sequence[Allowed]]:
    """The calls in groups that run one after another, in call order."""
    match concurrency:
        case "parallel":
            size = len(calls)
        case "sequential":
            size = 1
        case int():
            size = concurrency
    size = max(1, size)
    return [calls[start : start + size] for start in range(0, len(calls), size)]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a call uses, by its real paths. `is_free`: nothing. `is_exclusive`: no other call may run meanwhile."""

    is_free: bool
    changes: bool
    paths: tuple[str, ...]
    is_exclusive: bool = False

    def conflicts(self, other: Claim) -> bool:
        """Whether the two must not run at once: one changes what the other uses, or cannot say what it changes."""
        if self.is_exclusive or other.is_exclusive:
            return True
        if self.is_free or other.is_free or not (self.changes or other.changes):
            return False
        if any(claim.changes and not claim.paths for claim in (self, other)):
            return True
        return any(_meet(mine, theirs) for mine in self.paths for theirs in other.paths)


def claim_of(risk: Risk, root: Path) -> Claim:
    match risk.access:
        case "exclusive":
            return Claim(is_free=False, changes=True, paths=(), is_exclusive=True)
        case "shared":
            return Claim(is_free=True, changes=False, paths=())
        case "read":
            # What does not name its files may read any of them.
            return Claim(is_free=False, changes=False, paths=real_paths(risk.paths, root) or (os.sep,))
        case "by_level":
            return Claim(risk.level == "none", risk.changes, real_paths(risk.paths, root) or ())


def real_paths(paths: Sequence[str], root: Path) -> tuple[str, ...] | None:
    """Where paths really lead, relative ones from `root`; None when one of them is no path."""
    try:
        return tuple(os.path.realpath(os.path.join(root, os.path.expanduser(path))) for path in paths)  # noqa: PTH111, PTH118  on the way of every call, and three times as fast
    except (ValueError, TypeError, OSError):
        return None


def _meet(one: str, other: str) -> bool:
    """Whether two paths are the same, or one is inside the other."""
    shorter, longer = sorted((one, other), key=len)
    return longer == shorter or longer.startswith(shorter.rstrip("/") + "/")


class ResourceLocks:
    """Lets the calls of a group begin: each waits for those before it that it conflicts with.

    A call whose claim changes after it was let in also waits for what has begun meanwhile. Nobody waits for one that
    waits and came later, so that there is always one that can go on.
    """

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._claims = dict(enumerate(claims))
        self._inside: set[int] = set()
        self._stirred = asyncio.Event()

    async def acquire(self, place: int) -> None:
        while self._is_blocked(place):
            await self._stirred.wait()
        self._inside.add(place)

    async def reacquire(self, place: int, claim: Claim) -> None:
        """Step back, and come in again with another claim."""
        self._inside.discard(place)
        self._claims[place] = claim
        self._stir()
        await self.acquire(place)

    def release(self, place: int) -> None:
        self._claims.pop(place, None)
        self._inside.discard(place)
        self._stir()

    def _is_blocked(self, place: int) -> bool:
        claim = self._claims.get(place)
        return claim is not None and any(
            (other < place or other in self._inside) and claim.conflicts(theirs)
            for other, theirs in self._claims.items()
            if other != place
        )

    def _stir(self) -> None:
        self._stirred.set()
        self._stirred = asyncio.Event()


def locks_for(group: Sequence[Allowed], root: Path) -> ResourceLocks:
    """Who is alone is in nobody's way: nothing is looked up."""
    return ResourceLocks([claim_of(each.risk, root) for each in group] if len(group) > 1 else ())
