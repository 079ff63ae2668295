"""Identity of an agent: its id, its session, and the numbering of its runs.

A run's id is `{session}.{configuration}.{n}`, as in phi-core: `n` counts from 1 per session and configuration.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from msgspec import Struct, field

from harness.messages import ModelSpec, new_id


class Identity(Struct):
    """Ids of an agent, and counters of its runs."""

    agent_id: str = field(default_factory=new_id)
    """Id of the agent."""
    session_id: str = field(default_factory=new_id)
    """Id of the current session."""
    config_id: str = ""
    """Name of the configuration; empty derives it from the model."""
    parent_run_id: str = ""
    """Run of another agent that this agent works for."""
    last_run_id: str = ""
    """Id of the latest run in this session."""
    last_active: float | None = None
    """Monotonic time at which the latest run started."""
    run_count: int = 0
    """Number of runs in this session."""
    counters: dict[str, int] = {}
    """Number of runs per configuration."""

    def next_run(self, spec: ModelSpec) -> str:
        """Count a new run and return its id."""
        segment = _without_dots(self.config_id) or segment_of(spec)
        self.counters[segment] = self.counters.get(segment, 0) + 1
        self.run_count += 1
        self.last_run_id = f"{self.session_id}.{segment}.{self.counters[segment]}"
        self.last_active = time.monotonic()
        return self.last_run_id

    def parallel(self, config_id: str = "") -> Identity:
        """Return the identity of another agent for one parallel run, counted together with this agent's runs."""
        self.run_count += 1
        return Identity(
            session_id=self.session_id,
            config_id=config_id,
            parent_run_id=self.last_run_id,
            run_count=self.run_count - 1,
            counters=self.counters,
        )

    def rotate(self, session_id: str = "") -> str:
        """Start another session with the same agent."""
        self.session_id = session_id or new_id()
        self.counters.clear()
        self.run_count = 0
        self.last_run_id = ""
        return self.session_id

    def restore(self, run_ids: Iterable[str]) -> None:
        """Continue counting after the earlier runs of this session, given in order."""
        for run_id in run_ids:
            session_id, _, rest = run_id.partition(".")
            segment, _, number = rest.rpartition(".")
            if session_id == self.session_id and segment and number.isdecimal():
                self.counters[segment] = max(self.counters.get(segment, 0), int(number))
                self.run_count += 1
                self.last_run_id = run_id

    def idle_for(self) -> float | None:
        """Return the seconds since the latest run began, or None if there was none."""
        return None if self.last_active is None else time.monotonic() - self.last_active


def segment_of(spec: ModelSpec) -> str:
    """Return a configuration id derived from the model."""
    return _without_dots(f"{spec.provider}/{spec.model_id}/{spec.thinking}")


def _without_dots(segment: str) -> str:
    """Replace dots, which separate the parts of a run id."""
    return segment.replace(".", "_")
