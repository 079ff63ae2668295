"""Header that all events share."""

from __future__ import annotations

from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHeader:
    """Base class of events; the bus fills it in."""

    seq: int = 0
    """Sequence number, from 1 per agent."""
    time: float = 0.0
    """Seconds since the epoch."""
    session_id: str = ""
    """Session of the agent."""
    run_id: str = ""
    """Run that published the event; empty outside a run."""
    turn: int = 0
    """Turn of the run, from 1; 0 before the first."""
