"""What happens to jobs in the background: events like the others, whose list is in `harness.events`."""

from __future__ import annotations

from typing import Literal

from harness.event_header import EventHeader
from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarted(EventHeader):
    """What a call began goes on in the background, whether the model wanted that or a person moved it there."""

    job_id: str
    call_id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded(EventHeader):
    """A job in the background is over, perhaps when no run is on. `exit_code` is None unless it ended by itself."""

    job_id: str
    state: Literal["running", "ended", "killed", "failed"]
    exit_code: int | None = None
    duration: float = 0.0
