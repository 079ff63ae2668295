"""Invariants of every run, checked on its recorded events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from fakes.whims import Stage, WhimHooks

from harness.approval.modes import EXECUTE, PLAN
from harness.codec import decode, encode
from harness.context.normalize import normalize
from harness.events import (
    AgentEnd,
    AgentStart,
    CompactionEnd,
    CompactionStart,
    Event,
    HookRan,
    InputRejected,
    LimitReached,
    MessageDiscarded,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ModeChanged,
    ModelChanged,
    Notice,
    QuestionAnswered,
    QuestionAsked,
    RequestStart,
    RetryScheduled,
    ToolApprovalRequested,
    ToolApprovalResolved,
    ToolCacheHit,
    ToolCallsReceived,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from harness.messages import AssistantMessage, Message, ToolResult, UserMessage
from harness.ports.provider import Request

BY_HAND = (ModelChanged, ModeChanged, Notice)
"""Events the user can cause at any time."""
IN_A_TURN = (RequestStart, MessageUpdate, MessageDiscarded, ToolApprovalRequested, ToolApprovalResolved)
IN_A_TURN += (ToolExecutionStart, ToolExecutionUpdate, ToolExecutionEnd, ToolCacheHit, QuestionAsked, QuestionAnswered)


def check_all(stage: Stage) -> None:
    assert stage.wrongs == [], stage.wrongs
    assert [event.seq for event in stage.events] == list(range(1, len(stage.events) + 1))
    runs = list(_runs(stage.events))
    for run in runs:
        _check_run(run)
        _check_messages(run)
        _check_calls(run)
    for hooks in stage.agent.options.hooks:
        # A run stopped between its end and its last hook does not call it.
        assert not isinstance(hooks, WhimHooks) or stage.stopped or hooks.asked["after_loop"] == len(runs)
    assert len({run[0].run_id for run in runs}) == len(runs)
    # One event of each type: test_event_json.py proves it of any event, and encoding all of them takes very long.
    for event in {type(event): event for event in stage.events}.values():
        assert decode(type(event), encode(event)) == event
    for request in stage.wire.requests:
        check_request(request)
    _check_waits(stage)
    _check_limits(stage, runs)
    _check_leave(stage)
    _check_words(stage)
    _check_history(stage)


def _runs(events: Sequence[Event]) -> Iterable[list[Event]]:
    """Yield the events of each run up to its end; only hooks and the user cause events after it."""
    run: list[Event] = []
    for event in events:
        run.append(event)
        if isinstance(event, AgentEnd):
            yield run
            run = []
        elif not isinstance(event, BY_HAND) and not (isinstance(event, HookRan) and event.point == "after_loop"):
            continue
        elif len(run) == 1:
            run = []
    assert run == []


def _check_run(run: Sequence[Event]) -> None:
    """Check that a run has one start and one end, and that turns and their events are nested."""
    kinds = [type(event) for event in run]
    assert {event.run_id for event in run} == {run[-1].run_id}
    assert kinds.count(AgentEnd) == 1
    assert kinds.count(AgentStart) <= 1
    if AgentStart in kinds:
        before = run[: kinds.index(AgentStart)]
        assert all(isinstance(event, (*BY_HAND, HookRan)) for event in before)
    turn = 0
    for event in run:
        if isinstance(event, TurnStart):
            assert not turn
            turn = event.turn
        elif isinstance(event, TurnEnd):
            assert turn == event.turn
            turn = 0
        elif isinstance(event, IN_A_TURN):
            assert turn == event.turn
        elif isinstance(event, HookRan) and event.outcome == "stopped":
            assert TurnStart not in kinds[run.index(event) :]
    assert not turn
    assert all(after.turn - before.turn in (0, 1) for before, after in pairwise(run))
    fixed = Counter(event.turn for event in run if isinstance(event, CompactionEnd) and event.reason == "overflow")
    assert all(count == 1 for count in fixed.values())
    paired = [kind for kind in kinds if kind in (CompactionStart, CompactionEnd)]
    assert paired == [CompactionStart, CompactionEnd] * (len(paired) // 2)


def _check_messages(run: Sequence[Event]) -> None:
    """Check that each message starts once and then ends or is discarded, and that the end has all of them."""
    open_id = ""
    seen: set[str] = set()
    for event in run:
        match event:
            case MessageStart(message_id=message_id):
                assert not open_id
                assert message_id not in seen
                open_id = message_id
                seen.add(message_id)
            case MessageUpdate(message_id=message_id):
                assert message_id == open_id
            case MessageDiscarded(message_id=message_id):
                assert message_id == open_id
                open_id = ""
            case MessageEnd(message=message):
                assert message.id == open_id
                open_id = ""
            case _:
                pass
    assert not open_id
    end = _end_of(run)
    spoken = [event.message for event in run if isinstance(event, MessageEnd)]
    assert list(end.messages) == spoken
    for event in run:
        if isinstance(event, TurnEnd):
            at = end.messages.index(event.message)
            assert end.messages[at + 1 : at + 1 + len(event.results)] == event.results


def _check_calls(run: Sequence[Event]) -> None:
    """Check that each call starts and ends once, or is blocked, and that questions are answered."""
    calls = Counter(
        call.id
        for event in run
        if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage)
        for call in event.message.tool_calls
    )
    blocked = Counter(event.call_id for event in run if isinstance(event, HookRan) and event.outcome == "blocked")
    started = Counter(event.call.id for event in run if isinstance(event, ToolExecutionStart))
    ended = Counter(event.result.call_id for event in run if isinstance(event, ToolExecutionEnd))
    received = [event.count for event in run if isinstance(event, ToolCallsReceived)]
    replies = [event.message for event in run if isinstance(event, MessageEnd)]
    assert received == [
        len(each.tool_calls) for each in replies if isinstance(each, AssistantMessage) and each.tool_calls
    ]
    asked = Counter(event.call.id for event in run if isinstance(event, ToolApprovalRequested))
    resolved = Counter(event.call_id for event in run if isinstance(event, ToolApprovalResolved))
    questions = Counter(event.call_id for event in run if isinstance(event, QuestionAsked))
    reported = Counter(event.call_id for event in run if isinstance(event, QuestionAnswered))
    assert started == ended
    assert started + blocked == calls
    assert all(count == 1 for count in calls.values())
    assert asked == resolved
    assert questions == reported
    inside: set[str] = set()
    for event in run:
        match event:
            case ToolExecutionStart(call=call):
                inside.add(call.id)
            case ToolExecutionUpdate(call_id=call_id) | ToolCacheHit(call_id=call_id):
                assert call_id in inside
            case ToolExecutionEnd(result=result):
                inside.remove(result.call_id)
            case _:
                pass


def check_request(request: Request) -> None:
    """Check that calls and results are paired, that all messages are for a model, and that the last is not its own."""
    due: list[str] = []
    for message in request.messages:
        match message:
            case ToolResult(call_id=call_id):
                assert due
                assert due.pop(0) == call_id
            case UserMessage() | AssistantMessage():
                assert not due
                if isinstance(message, AssistantMessage):
                    due = [call.id for call in message.tool_calls]
            case _:
                raise AssertionError(f"{type(message).__name__} is not for a model")
    assert not due


def _check_waits(stage: Stage) -> None:
    """Check that a retry waits as announced, unless its turn is interrupted."""
    not_before = 0.0
    for event, time in zip(stage.events, stage.times, strict=True):
        if isinstance(event, RetryScheduled):
            not_before = time + event.delay
            assert not event.error.startswith("wait") or event.error in ("wait 0.0", f"wait {event.delay}")
            assert event.delay <= stage.agent.options.retry.max_retry_after
        elif isinstance(event, RequestStart):
            assert time >= not_before - 0.001
        elif isinstance(event, TurnEnd | AgentEnd | ModelChanged):
            # Another model is called without waiting.
            not_before = 0.0


def _check_limits(stage: Stage, runs: Sequence[Sequence[Event]]) -> None:
    options = stage.agent.options
    most = {PLAN.name: options.planning.max_turns, EXECUTE.name: options.limits.max_turns}
    for turns in _turns_by_mode(stage.events, options.mode.name):
        assert all(turns[mode] <= most[mode] for mode in most)
        assert turns.total() <= sum(most.values())
    for run in runs:
        reached = [event.limit for event in run if isinstance(event, LimitReached)]
        limit = _end_of(run).limit
        assert reached == [limit] or (limit in ("", "policy") and len(reached) <= 1)


def _turns_by_mode(events: Sequence[Event], mode: str) -> Iterable[Counter[str]]:
    """Yield the turns of each run by mode; turns in which the mode changed are under an empty name."""
    turns: Counter[str] = Counter()
    in_turn = ""
    for event in events:
        match event:
            case TurnStart():
                in_turn = mode
            case ModeChanged(mode=changed):
                in_turn = in_turn if changed == mode else ""
                mode = changed
            case TurnEnd():
                turns[in_turn] += 1
            case AgentEnd():
                yield turns
                turns = Counter()
            case _:
                pass


def _end_of(run: Sequence[Event]) -> AgentEnd:
    end = run[-1]
    assert isinstance(end, AgentEnd)
    return end


def _check_leave(stage: Stage) -> None:
    """Check that denied, blocked, forbidden or invalid calls did not run, and that cached results are current."""
    assert not stage.refused & stage.ran.keys()
    for call_id, arguments in stage.ran.items():
        assert "do" in arguments
        assert arguments.get("risk") != "forbidden"
        if stage.agent.state.approval != "off" and arguments.get("risk") == "dangerous":
            assert call_id in stage.approved
        if stage.agent.state.approval != "off" and arguments.get("risk") in ("edit", "execute") and not stage.trusted:
            assert call_id in stage.approved
    results = {message.call_id: message for message in stage.agent.history if isinstance(message, ToolResult)}
    for call_id, world in stage.hits.items():
        assert call_id not in stage.ran
        assert "world" not in results[call_id].text or results[call_id].text.endswith(f"world {world}")


def _check_words(stage: Stage) -> None:
    """Check that no message is lost, duplicated or reordered, and that blocked messages are not sent."""
    stage.taken.extend(stage.agent.drain_queues())
    rejected = {event.message_id for event in stage.events if isinstance(event, InputRejected)}
    heard = Counter(message.id for message in stage.agent.history)
    taken = Counter(message.id for message in stage.taken)
    for message in stage.said:
        refused = message.id in rejected or message.id in stage.handed_back
        assert heard[message.id] + taken[message.id] + refused == 1, message.text

    order = {message.id: place for place, message in enumerate(stage.agent.history)}
    for queue in (stage.steered, stage.queued):
        places = [order[message_id] for message_id in queue if message_id in order]
        assert places == sorted(places)
    if stage.agent.options.guardrails:
        assert not any("bad" in message.text or "awful" in message.text for message in stage.agent.history.prompts())
    _check_follow_ups(stage)


def _check_follow_ups(stage: Stage) -> None:
    """Check that a follow-up is delivered only after a successful end without further work."""
    last: TurnEnd | None = None
    for event in stage.events:
        match event:
            case TurnEnd():
                last = event
            case AgentEnd():
                last = None
            case MessageEnd(message=message) if message.id in stage.queued and last is not None:
                assert last.results == ()
                assert last.message.stop_reason not in ("error", "aborted")
            case _:
                pass


def _check_history(stage: Stage) -> None:
    """Check that the history matches the events and needs no repair except dropping empty messages."""
    reported: list[Message] = []
    for event in stage.events:
        if isinstance(event, AgentEnd):
            reported.extend(event.messages)
    assert list(stage.agent.history) == reported
    ended = [event.message for event in stage.events if isinstance(event, MessageEnd)]
    assert ended == reported
    said = tuple(each for each in stage.agent.history if not isinstance(each, AssistantMessage) or each.content)
    ids = [message.id for message in normalize(said)]
    assert ids == [message.id for message in said if message.id in ids]
    results = [message.call_id for message in said if isinstance(message, ToolResult)]
    calls = [call.id for message in said if isinstance(message, AssistantMessage) for call in message.tool_calls]
    assert results == calls
