"""A session as a tree of runs. Times are seconds since the epoch; everything here goes through `harness.codec`."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from harness.events import Continuation, Event, RunConfig
from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, JsonValue, Message, ModelSpec, StopReason, Usage

RunStatus: TypeAlias = Literal["pending", "running", "completed", "rejected", "aborted"]
"""pending: announced, not begun · rejected: a filter or hook did not let it begin · aborted: stopped, or never ended.
A run that failed is completed, and says so in `stop_reason`."""

Formation: TypeAlias = Literal["first_loop", "explicit", "inactivity_timeout"]
"""What began a session: an agent's first run, its own change of session, or a pause."""


@dataclass(frozen=True, slots=True)
class SpawnRef:
    """Which call of which run started this session. Call and tool are empty where only the run is known."""

    parent_session_id: str
    parent_run_id: str
    call_id: str = ""
    tool_name: str = ""


@dataclass(frozen=True, slots=True)
class ChildRunRef:
    """A run in another session that a call of this run started."""

    call_id: str
    tool_name: str
    child_run_id: str
    child_session_id: str


@dataclass(frozen=True, slots=True)
class ParallelGroup:
    """The runs of one prompt over several configurations. Until one is chosen, `selected_index` is -1.

    `usage` is what the choice itself cost.
    """

    all_run_ids: tuple[str, ...]
    selected_run_id: str = ""
    selected_index: int = -1
    usage: Usage = Usage()
    is_selected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTrace:
    """One run; times are seconds since the epoch. `messages` and `usage` are those of its `AgentEnd`; `config` is the
    model it began with, `settings` its configuration, `metadata` what the program gave with the prompt.

    `children_run_ids` are the runs of this session that go on from it, `child_run_refs` those of sub-agents.
    """

    run_id: str
    session_id: str
    agent_id: str = ""
    parent_run_id: str = ""
    continuation: Continuation | None = None
    started_at: float = 0.0
    ended_at: float | None = None
    status: RunStatus = "pending"
    rejection: str = ""
    stop_reason: StopReason | None = None
    error: str | None = None
    stop_message: str = ""
    config: ModelSpec | None = None
    settings: RunConfig | None = None
    metadata: JsonObject = field(default_factory=dict[str, JsonValue])
    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()
    events: tuple[Event, ...] = ()
    children_run_ids: tuple[str, ...] = ()
    child_run_refs: tuple[ChildRunRef, ...] = ()
    parallel_group: ParallelGroup | None = None

    @property
    def is_open(self) -> bool:
        return self.status in ("pending", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTrace:
    """A session and its runs, in the order they began."""

    session_id: str
    agent_id: str = ""
    created_at: float = 0.0
    last_active_at: float = 0.0
    formation: Formation = "first_loop"
    parent_spawn_ref: SpawnRef | None = None
    runs: tuple[RunTrace, ...] = ()

    def get_run(self, run_id: str) -> RunTrace | None:
        """A run of this session; None if it is none."""
        return next((loop for loop in self.runs if loop.run_id == run_id), None)

    def root_loops(self) -> tuple[RunTrace, ...]:
        """The runs that go on from none of this session."""
        known = {loop.run_id for loop in self.runs}
        return tuple(loop for loop in self.runs if loop.parent_run_id not in known)

    def children_of(self, run_id: str) -> tuple[RunTrace, ...]:
        """The runs that go on from a run."""
        return tuple(loop for loop in self.runs if loop.parent_run_id == run_id)

    def parallel_siblings(self, run_id: str) -> tuple[RunTrace, ...]:
        """The other runs of the same prompt."""
        loop = self.get_run(run_id)
        group = loop.parallel_group if loop else None
        others = [each for each in group.all_run_ids if each != run_id] if group else []
        return tuple(sibling for each in others if (sibling := self.get_run(each)))

    def history(self) -> tuple[Message, ...]:
        """Return the messages that all runs added, in their order; of parallel ones those of the chosen run."""
        return tuple(message for loop in self.runs if not self._is_branch(loop) for message in loop.messages)

    def total_usage(self) -> Usage:
        """What all runs used, and the choices between parallel ones. What sub-agents used is part of their caller's."""
        total = Usage()
        for loop in self.runs:
            group = loop.parallel_group
            if self._is_branch(loop):
                continue  # counted by the run it is part of, and the choice with it
            total += loop.usage
            if group and group.is_selected:
                total += group.usage
        return total

    def _is_branch(self, loop: RunTrace) -> bool:
        """Whether the run that it is part of has adopted what was chosen."""
        return loop.parallel_group is not None and self.get_run(loop.parent_run_id) is not None
