"""When and where something happened."""

from __future__ import annotations

from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHeader:
    """Stamped by the bus: `seq` counts from 1 per agent, `time` is seconds since the epoch, `turn` counts from 1."""

    seq: int = 0
    time: float = 0.0
    session_id: str = ""
    run_id: str = ""
    turn: int = 0
