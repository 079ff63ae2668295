"""Relation of a run to the previous one, and triggers of turns."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from harness.lazy_dataclass import dataclass

TurnTrigger: TypeAlias = Literal["user", "subagent", "continuation", "branch"]
"""What started a turn: a prompt, a parent agent, the previous run, or another branch from an earlier message."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """Relation of a run without a prompt to the previous run."""

    kind: Literal["default", "rerun", "branch"] = "default"
    """Continue, repeat the last step, or take another branch."""
    tag: str = ""
    """Distinguishes continuations of the same kind; empty: the time of the request (RFC 3339, UTC)."""

    def tagged(self) -> Continuation:
        """Return a copy with a tag."""
        return replace(self, tag=self.tag or datetime.now(UTC).isoformat(timespec="milliseconds"))
