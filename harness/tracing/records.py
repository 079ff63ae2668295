"""Records of sessions and runs. Times are seconds since the epoch; all are serialized by `harness.codec`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import field

from harness.events import Continuation, Event, RunConfig
from harness.messages import JsonObject, JsonValue, Message, ModelSpec, StopReason, Usage
from harness.structs import Tagged

RunStatus: TypeAlias = Literal["pending", "running", "completed", "rejected", "aborted"]
"""Status of a run.

- `pending`: announced, not started
- `rejected`: a guardrail or hook kept it from starting
- `aborted`: aborted, or never ended
- `completed`: ended, also with an error; see `stop_reason`
"""

Formation: TypeAlias = Literal["first_loop", "explicit", "inactivity_timeout"]
"""Origin of a session: an agent's first run, an explicit change of session, or a period of inactivity."""


class SpawnRef(Tagged, frozen=True):
    """The call that started this session. Call and tool are empty if only the run is known."""

    parent_session_id: str
    """Session of the call."""
    parent_run_id: str
    """Run of the call."""
    call_id: str = ""
    """Id of the call."""
    tool_name: str = ""
    """Tool of the call."""


class ChildRunRef(Tagged, frozen=True):
    """A run in another session that a call of this run started."""

    call_id: str
    """Id of the call."""
    tool_name: str
    """Tool of the call."""
    child_run_id: str
    """Id of the run."""
    child_session_id: str
    """Session of the run."""


class ParallelGroup(Tagged, frozen=True):
    """The parallel runs of one prompt."""

    all_run_ids: tuple[str, ...]
    """Ids of the runs, in order."""
    selected_run_id: str = ""
    """Id of the selected run; empty if none was selected."""
    selected_index: int = -1
    """Index of the selected run; -1 if none was selected."""
    usage: Usage = Usage()
    """Usage of the selection itself."""
    is_selected: bool = False
    """True in the trace of the selected run."""


class RunTrace(Tagged, frozen=True, kw_only=True):
    """Record of one run."""

    run_id: str
    """Id of the run."""
    session_id: str
    """Session of the run."""
    agent_id: str = ""
    """Agent of the run."""
    parent_run_id: str = ""
    """Run that it continues or works for."""
    continuation: Continuation | None = None
    """Relation to the previous run; None for a run with a prompt."""
    started_at: float = 0.0
    """Start, in seconds since the epoch."""
    ended_at: float | None = None
    """End, in seconds since the epoch; None while the run is active."""
    status: RunStatus = "pending"
    """Status of the run."""
    rejection: str = ""
    """Reason the run did not start."""
    stop_reason: StopReason | None = None
    """Reason the run ended."""
    error: str | None = None
    """Description of an error or abort."""
    stop_message: str = ""
    """Explanation of a limit."""
    config: ModelSpec | None = None
    """Model at the start."""
    settings: RunConfig | None = None
    """Configuration at the start."""
    metadata: JsonObject = field(default_factory=dict[str, JsonValue])
    """Data the program passed with the prompt."""
    messages: tuple[Message, ...] = ()
    """Messages that the run added."""
    usage: Usage = Usage()
    """Tokens and cost of the run."""
    events: tuple[Event, ...] = ()
    """Recorded events."""
    children_run_ids: tuple[str, ...] = ()
    """Runs of this session that continue from it."""
    child_run_refs: tuple[ChildRunRef, ...] = ()
    """Runs of its subagents."""
    parallel_group: ParallelGroup | None = None
    """Parallel runs that it belongs to."""

    @property
    def is_open(self) -> bool:
        return self.status in ("pending", "running")


class SessionTrace(Tagged, frozen=True, kw_only=True):
    """Record of a session and its runs."""

    session_id: str
    """Id of the session."""
    agent_id: str = ""
    """Agent of the session."""
    created_at: float = 0.0
    """Start, in seconds since the epoch."""
    last_active_at: float = 0.0
    """Last activity, in seconds since the epoch."""
    formation: Formation = "first_loop"
    """Origin of the session."""
    parent_spawn_ref: SpawnRef | None = None
    """Call that started the session, for subagents."""
    runs: tuple[RunTrace, ...] = ()
    """Runs in the order they started."""

    def get_run(self, run_id: str) -> RunTrace | None:
        """Return a run of this session, or None."""
        return next((loop for loop in self.runs if loop.run_id == run_id), None)

    def root_loops(self) -> tuple[RunTrace, ...]:
        """Return the runs that continue no other run of this session."""
        known = {loop.run_id for loop in self.runs}
        return tuple(loop for loop in self.runs if loop.parent_run_id not in known)

    def children_of(self, run_id: str) -> tuple[RunTrace, ...]:
        """Return the runs that continue a run."""
        return tuple(loop for loop in self.runs if loop.parent_run_id == run_id)

    def parallel_siblings(self, run_id: str) -> tuple[RunTrace, ...]:
        """Return the other parallel runs of the same prompt."""
        loop = self.get_run(run_id)
        group = loop.parallel_group if loop else None
        others = [each for each in group.all_run_ids if each != run_id] if group else []
        return tuple(sibling for each in others if (sibling := self.get_run(each)))

    def history(self) -> tuple[Message, ...]:
        """Return the messages that all runs added, in order; of parallel runs only those of the selected one."""
        return tuple(message for loop in self.runs if not self._is_branch(loop) for message in loop.messages)

    def total_usage(self) -> Usage:
        """Return the usage of all runs and selections; that of subagents is part of their caller's."""
        total = Usage()
        for loop in self.runs:
            group = loop.parallel_group
            if self._is_branch(loop):
                continue  # counted, with the selection, by the run it is part of
            total += loop.usage
            if group and group.is_selected:
                total += group.usage
        return total

    def _is_branch(self, loop: RunTrace) -> bool:
        """Return True if the run is a parallel one whose parent run has adopted the selected one."""
        return loop.parallel_group is not None and self.get_run(loop.parent_run_id) is not None
