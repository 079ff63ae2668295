"""Trace recorder: builds the tree of sessions and runs from the events of one or more agents."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from harness.events import (
    AgentEnd,
    AgentStart,
    BranchEvent,
    Event,
    HookRan,
    InputRejected,
    MessageUpdate,
    ParallelEnd,
    ParallelStart,
    SubagentEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from harness.tracing.records import ChildRunRef, Formation, ParallelGroup, RunStatus, RunTrace, SessionTrace, SpawnRef


class TraceRecorder:
    """Records events as sessions and runs; subscribe with `agent.subscribe(recorder.on_event)`.

    Events of subagents and parallel runs are taken from the agent they belong to.

    Args:
        inactivity_timeout: Seconds without activity after which a run starts another session, whose id gets a number;
            None: each session id is one session.
        include_streaming_events: True to keep streamed deltas and progress updates, many times the size of the rest.
    """

    def __init__(self, inactivity_timeout: float | None = None, *, include_streaming_events: bool = False) -> None:
        self._timeout = inactivity_timeout
        self._left_out = () if include_streaming_events else (MessageUpdate, ToolExecutionUpdate)
        self._sessions: dict[str, _Session] = {}
        self._loops: dict[str, _Loop] = {}
        self._current: dict[str, _Session] = {}
        self._by_agent: dict[str, _Session] = {}
        self._count: dict[str, int] = {}

    def on_event(self, event: Event) -> None:
        """Record an event; events arrive in the order they were published."""
        match event:
            case SubagentEvent(event=inner):
                self.on_event(inner)
                if isinstance(inner, AgentStart):
                    self._link(event.run_id, event.call_id, inner.run_id)
            case BranchEvent(event=inner):
                self.on_event(inner)
            case _:
                self._record(event)

    def sessions(self) -> tuple[SessionTrace, ...]:
        """Return all sessions, in the order they started."""
        return tuple(session.record() for session in self._sessions.values())

    def get_session(self, session_id: str) -> SessionTrace | None:
        """Return the current state of a session; None if it is unknown."""
        session = self._sessions.get(session_id)
        return session.record() if session else None

    def current_run(self, run_id: str) -> RunTrace | None:
        """Return a run that has not ended, or None."""
        loop = self._loops.get(run_id)
        return loop.record() if loop and loop.head.is_open else None

    def flush(self) -> None:
        """End everything: open runs count as aborted, and all sessions as complete."""
        for loop in self._loops.values():
            if loop.head.is_open:
                loop.head = replace(loop.head, status="aborted", ended_at=loop.seen)
        for session in self._sessions.values():
            session.is_complete = True

    def drain_completed(self) -> tuple[SessionTrace, ...]:
        """Return and forget the completed sessions: those their agent has left, and those of ended subagents.

        A later run of such a session starts another one, whose id gets a number.
        """
        done = [session for session in self._sessions.values() if session.is_done]
        for session in done:
            del self._sessions[session.head.session_id]
            for sessions in (self._current, self._by_agent):
                for key in [key for key, each in sessions.items() if each is session]:
                    del sessions[key]
            for loop in session.loops:
                self._loops.pop(loop.head.run_id, None)
        return tuple(session.record() for session in done)

    def _record(self, event: Event) -> None:
        match event:
            case AgentStart():
                self._begin(event)
            case ParallelStart():
                self._announce(event)
            case ParallelEnd():
                self._choose(event)
            case AgentEnd() | InputRejected() | HookRan(point="before_loop") if event.run_id not in self._loops:
                # The run did not start, so there is no other event of it.
                self._add_loop(event, event.run_id)
            case ToolExecutionEnd(child_run_id=child) if child:
                self._link(event.run_id, event.result.call_id, child)
            case _:
                pass
        loop = self._loops.get(event.run_id)
        if loop is None or not loop.head.is_open:
            return
        loop.take(event, keep=not isinstance(event, self._left_out))
        if isinstance(event, AgentEnd):
            loop.end(event)
            self._session_of(loop).touch(event.time)

    def _begin(self, event: AgentStart) -> None:
        loop = self._loops.get(event.run_id)
        if loop is None or loop.head.status != "pending":
            loop = self._add_loop(event, event.run_id)
        loop.head = replace(
            loop.head,
            status="running",
            agent_id=event.agent_id,
            parent_run_id=event.parent_run_id,
            continuation=event.continuation,
            started_at=event.time,
            config=event.spec,
            settings=event.config,
            metadata=event.metadata,
        )
        session = self._session_of(loop)
        self._assign(session, event.agent_id)
        parent = self._loops.get(event.parent_run_id)
        if event.parent_run_id and not event.parent_run_id.startswith(f"{event.session_id}."):
            self._link(event.parent_run_id, "", event.run_id)
        elif parent and parent.head.session_id == loop.head.session_id:
            parent.children.append(event.run_id)

    def _announce(self, event: ParallelStart) -> None:
        for run_id in event.run_ids:
            loop = self._loops.get(run_id) or self._add_loop(event, run_id)
            loop.head = replace(loop.head, parallel_group=ParallelGroup(event.run_ids))

    def _choose(self, event: ParallelEnd) -> None:
        chosen = self._loops.get(event.selected_run_id)
        group = chosen.head.parallel_group if chosen else None
        if group is None:
            return
        group = replace(
            group, selected_run_id=event.selected_run_id, selected_index=event.selected_index, usage=event.usage
        )
        for loop in [self._loops[run_id] for run_id in group.all_run_ids if run_id in self._loops]:
            loop.head = replace(loop.head, parallel_group=replace(group, is_selected=loop is chosen))

    def _add_loop(self, event: Event, run_id: str) -> _Loop:
        session = self._session_for(event)
        head = RunTrace(
            run_id=run_id, session_id=session.head.session_id, agent_id=session.head.agent_id, started_at=event.time
        )
        loop = _Loop(head, seen=event.time)
        session.loops.append(loop)
        session.is_complete = False
        session.touch(event.time)
        self._loops[run_id] = loop
        return loop

    def _session_for(self, event: Event) -> _Session:
        """Return the session for a run that starts now."""
        current = self._current.get(event.session_id)
        paused = current is not None and current.is_idle_since(event.time, self._timeout)
        if current is not None and not paused:
            return current
        if current is not None:
            current.is_complete = True
        count = self._count[event.session_id] = self._count.get(event.session_id, 0) + 1
        session_id = event.session_id if count == 1 else f"{event.session_id}-{count}"
        formation: Formation = "inactivity_timeout" if paused else "first_loop"
        session = _Session(SessionTrace(session_id=session_id, created_at=event.time, formation=formation))
        self._sessions[session_id] = self._current[event.session_id] = session
        return session

    def _assign(self, session: _Session, agent_id: str) -> None:
        """Assign a session to an agent, which leaves its previous one."""
        before = self._by_agent.get(agent_id)
        head = session.head
        if before is not None and before is not session:
            before.is_complete = True
            if not head.agent_id and head.formation == "first_loop":
                head = replace(head, formation="explicit")
        self._by_agent[agent_id] = session
        session.head = replace(head, agent_id=head.agent_id or agent_id)

    def _link(self, parent_run_id: str, call_id: str, child_run_id: str) -> None:
        """Link a run to the call in another session that started it; repeated links may add details."""
        parent, child = self._loops.get(parent_run_id), self._loops.get(child_run_id)
        tool = parent.tools.get(call_id, "") if parent else ""
        if parent:
            child_session = child.head.session_id if child else _session_in(child_run_id)
            parent.children_elsewhere[child_run_id] = ChildRunRef(call_id, tool, child_run_id, child_session)
        if child:
            session = self._session_of(child)
            spawned = session.head.parent_spawn_ref
            if spawned is None or not spawned.call_id:
                parent_session = parent.head.session_id if parent else _session_in(parent_run_id)
                made = SpawnRef(parent_session, parent_run_id, call_id, tool)
                session.head = replace(session.head, parent_spawn_ref=made)

    def _session_of(self, loop: _Loop) -> _Session:
        return self._sessions[loop.head.session_id]


class _Loop(Struct):
    """A run in progress; growing data is kept apart from the record until it is requested."""

    head: RunTrace
    seen: float
    events: list[Event] = []
    children: list[str] = []
    children_elsewhere: dict[str, ChildRunRef] = {}
    tools: dict[str, str] = {}

    def take(self, event: Event, *, keep: bool) -> None:
        self.seen = event.time
        if keep:
            self.events.append(event)
        if isinstance(event, ToolExecutionStart):
            self.tools[event.call.id] = event.call.name

    def end(self, event: AgentEnd) -> None:
        status: RunStatus = "aborted" if event.stop_reason == "aborted" else "completed"
        self.head = replace(
            self.head,
            status="rejected" if event.rejection else status,
            ended_at=event.time,
            rejection=event.rejection,
            stop_reason=event.stop_reason,
            error=event.error,
            stop_message=event.stop_message,
            messages=event.messages,
            usage=event.usage,
        )

    def record(self) -> RunTrace:
        return replace(
            self.head,
            events=tuple(self.events),
            children_run_ids=tuple(self.children),
            child_run_refs=tuple(self.children_elsewhere.values()),
        )


class _Session(Struct, eq=False):
    head: SessionTrace
    loops: list[_Loop] = []
    is_complete: bool = False

    @property
    def is_done(self) -> bool:
        ended = not any(loop.head.is_open for loop in self.loops)
        return ended and (self.is_complete or self.head.parent_spawn_ref is not None)

    def touch(self, time: float) -> None:
        self.head = replace(self.head, last_active_at=time)

    def is_idle_since(self, time: float, timeout: float | None) -> bool:
        is_busy = any(loop.head.is_open for loop in self.loops)
        return timeout is not None and not is_busy and time - self.head.last_active_at > timeout

    def record(self) -> SessionTrace:
        loops = sorted((loop.record() for loop in self.loops), key=lambda loop: loop.started_at)
        return replace(self.head, runs=tuple(loops))


def _session_in(run_id: str) -> str:
    """Return the session part of the id of an unknown run."""
    return run_id.rsplit(".", 2)[0]
