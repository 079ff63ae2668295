"""Who an agent is, which session it is in, and how its runs are numbered.

A run's id is `{session}.{configuration}.{n}`, as in phi-core: `n` counts from 1 per session and configuration.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import field

from harness.continuation import TurnTrigger
from harness.lazy_dataclass import dataclass
from harness.messages import ModelSpec, new_id


@dataclass(slots=True)
class Identity:
    """`config_id` names the configuration; empty derives it from the model. `parent_run_id` is the run of another
    agent that this one works for, `origin` what begins its prompts."""

    agent_id: str = field(default_factory=new_id)
    session_id: str = field(default_factory=new_id)
    config_id: str = ""
    parent_run_id: str = ""
    origin: TurnTrigger = "user"
    last_run_id: str = ""
    last_active: float | None = None
    loops: int = 0
    counters: dict[str, int] = field(default_factory=dict[str, int])

    def next_loop(self, spec: ModelSpec) -> str:
        """The id of the run that begins now."""
        segment = _without_dots(self.config_id) or segment_of(spec)
        self.counters[segment] = self.counters.get(segment, 0) + 1
        self.loops += 1
        self.last_run_id = f"{self.session_id}.{segment}.{self.counters[segment]}"
        self.last_active = time.monotonic()
        return self.last_run_id

    def beside(self, config_id: str = "") -> Identity:
        """Another agent's, for one run that belongs to the one that is on and is counted with this agent's."""
        self.loops += 1
        return Identity(
            session_id=self.session_id,
            config_id=config_id,
            parent_run_id=self.last_run_id,
            origin=self.origin,
            loops=self.loops - 1,
            counters=self.counters,
        )

    def rotate(self, session_id: str = "") -> str:
        """Begin another session; the agent stays who it is."""
        self.session_id = session_id or new_id()
        self.counters.clear()
        self.loops = 0
        self.last_run_id = ""
        return self.session_id

    def recall(self, run_ids: Iterable[str]) -> None:
        """Go on counting from the runs that this session had before, in their order."""
        for run_id in run_ids:
            session_id, _, rest = run_id.partition(".")
            segment, _, number = rest.rpartition(".")
            if session_id == self.session_id and segment and number.isdecimal():
                self.counters[segment] = max(self.counters.get(segment, 0), int(number))
                self.loops += 1
                self.last_run_id = run_id

    def idle_for(self) -> float | None:
        """Seconds since the last run began; None when there was none."""
        return None if self.last_active is None else time.monotonic() - self.last_active


def segment_of(spec: ModelSpec) -> str:
    """A configuration without a name, by what it is."""
    return _without_dots(f"{spec.provider}/{spec.model_id}/{spec.thinking}")


def _without_dots(segment: str) -> str:
    """Dots separate the parts of a run's id."""
    return segment.replace(".", "_")
