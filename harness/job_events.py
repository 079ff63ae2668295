"""Events of background jobs; `harness.events` lists all events."""

from __future__ import annotations

from typing import Literal

from harness.event_header import EventHeader
from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarted(EventHeader):
    """A tool call continues as a background job, by decision of the model or the user."""

    job_id: str
    """Id of the job."""
    call_id: str
    """Id of the tool call that started it."""
    title: str
    """Description for the user, such as the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded(EventHeader):
    """A background job ended, possibly while no run was active."""

    job_id: str
    """Id of the job."""
    state: Literal["running", "ended", "killed", "failed"]
    """Final state."""
    exit_code: int | None = None
    """Exit code; None if it was killed or failed."""
    duration: float = 0.0
    """Duration in seconds."""
