"""How a run relates to the one before it, and what began a turn."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from harness.lazy_dataclass import dataclass

TurnTrigger: TypeAlias = Literal["user", "subagent", "continuation", "branch"]
"""What began a turn: a prompt, a parent agent, what came before, or another path from an old place."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """How a run without a prompt relates to the one before: goes on, is tried again, or takes another path.

    `tag` tells several of a kind apart, by default the moment it was asked for (RFC 3339, UTC).
    """

    kind: Literal["default", "rerun", "branch"] = "default"
    tag: str = ""

    def tagged(self) -> Continuation:
        """With a tag that tells it from others."""
        return replace(self, tag=self.tag or datetime.now(UTC).isoformat(timespec="milliseconds"))
