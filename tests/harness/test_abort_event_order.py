from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fakes.runs import calls, results_of, texts_of, until
from fakes.simple_tools import SimpleTool

from harness.agent.guardrails import Pass, Reject
from harness.deltas import BlockDelta, BlockStart, Delta
from harness.events import AgentStart, ToolExecutionStart, TurnEnd
from harness.messages import AssistantMessage, ModelSpec, Text, user
from harness.ports.hooks import Hooks, Stop
from harness.ports.provider import Model, Request, StaticModelInfo
from providers.demo import Hang, Reply, Say

REPLY = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
HEARD = ["MessageStart", "MessageEnd"]


def brief(seen) -> list[str]:
    return [name for name in seen.names if name != "MessageUpdate"]


class Waiting(Hooks):
    """Hooks that wait forever at one point, once it is called."""

    def __init__(self, point: str, turn: int = 1) -> None:
        self.asked = 0
        self._turn = turn
        setattr(self, point, self._wait)

    async def _wait(self, *_: object) -> None:
        self.asked += 1
        if self.asked == self._turn:
            await asyncio.Event().wait()


class NoSecrets:
    def check(self, message):
        return Reject("no secrets") if "secret" in message.text else Pass()


async def aborted_at(agent, hook: Waiting, turn: int = 1) -> None:
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: hook.asked == turn)
    agent.abort()
    await run


async def test_events_caused_by_a_subscriber_arrive_after_the_event_that_caused_them(make_agent, record):
    agent = make_agent("hello")
    agent.subscribe(lambda event: agent.notify("begun") if isinstance(event, AgentStart) else None)
    seen = record(agent)
    listener = agent.listen()

    await agent.prompt("go")

    assert brief(seen) == ["AgentStart", "Notice", "TurnStart", *HEARD, *REPLY, "TurnEnd", "AgentEnd"]
    assert [event.seq for event in seen.events] == list(range(1, len(seen.events) + 1))
    assert [await anext(listener) for _ in seen.events] == seen.events


async def test_abort_during_reply_hooks_answers_the_calls(make_agent, record):
    hook = Waiting("after_model")
    agent = make_agent(calls("look", "look"), "again", tools=[SimpleTool("look")], hooks=[hook])
    seen = record(agent)

    await aborted_at(agent, hook)

    unanswered = ["ToolCallsReceived", *["ToolExecutionStart", "ToolExecutionEnd"] * 2]
    assert brief(seen) == [
        "AgentStart",
        "TurnStart",
        *HEARD,
        *REPLY,
        *unanswered,
        *HEARD,
        *HEARD,
        "TurnEnd",
        "AgentEnd",
    ]
    assert [result.is_error for result in seen.of(TurnEnd)[0].results] == [True, True]
    assert (await agent.prompt("next")).text == "again"


async def test_abort_before_a_turn_keeps_its_pending_messages(make_agent, record):
    hook = Waiting("before_turn", turn=2)
    agent = make_agent("hello", hooks=[hook])
    agent.follow_up("and the tests")
    seen = record(agent)

    await aborted_at(agent, hook, turn=2)

    assert brief(seen) == ["AgentStart", "TurnStart", *HEARD, *REPLY, "TurnEnd", *HEARD, "AgentEnd"]
    assert texts_of(agent) == ["go", "and the tests"]


async def test_aborted_turn_ends_with_its_own_reply(make_agent, record):
    agent = make_agent(Reply((Say("so far"), Hang())))
    seen = record(agent)

    run = asyncio.create_task(agent.prompt([user("2+2?"), AssistantMessage((Text("4"),)), user("3+3?")]))
    await until(lambda: "MessageUpdate" in seen.names)
    agent.abort()
    await run

    assert brief(seen) == ["AgentStart", "TurnStart", *HEARD * 3, "RequestStart", *HEARD, "TurnEnd", "AgentEnd"]
    assert seen.of(TurnEnd)[0].message.stop_reason == "aborted"


async def test_failing_routing_is_a_failed_reply(make_agent, record):
    class Broken:
        def model_for(self, turn, *, is_subagent):
            raise ZeroDivisionError("by zero")

    agent = make_agent("never", routing=Broken())
    seen = record(agent)

    result = await agent.prompt("go")

    assert brief(seen) == ["AgentStart", "TurnStart", *HEARD, *HEARD, "TurnEnd", "AgentEnd"]
    assert result.error == "the routing failed: ZeroDivisionError: by zero"


async def test_messages_kept_from_an_unstarted_run_have_passed_the_guardrails(make_agent, record):
    hook = Waiting("before_loop")
    agent = make_agent("hello", hooks=[hook], guardrails=[NoSecrets()])
    seen = record(agent)

    run = asyncio.create_task(agent.prompt("a secret"))
    await until(lambda: hook.asked)
    agent.abort()
    await run

    assert brief(seen) == ["InputRejected", "AgentEnd"]
    assert texts_of(agent) == []


async def test_queued_messages_stay_queued_when_a_hook_stops_the_continuation(make_agent, record):
    class No(Hooks):
        async def before_loop(self, messages, loop_index):
            return Stop("not today")

    agent = make_agent("never", hooks=[No()], messages=[user("hi"), AssistantMessage((Text("hello"),))])
    agent.follow_up("and the tests")
    seen = record(agent)

    await agent.continue_run()

    assert brief(seen) == ["HookRan", "AgentEnd"]
    assert [message.text for message in agent.drain_queues()] == ["and the tests"]


async def test_blocked_queued_message_does_not_affect_the_others(make_agent, record):
    agent = make_agent("hello", guardrails=[NoSecrets()], steering="all", messages=[user("hi")])
    agent.steer("a secret")
    agent.steer("and the tests")
    seen = record(agent)

    await agent.continue_run()

    assert brief(seen) == ["AgentStart", "InputRejected", "TurnStart", *HEARD, *REPLY, "TurnEnd", "AgentEnd"]
    assert texts_of(agent) == ["hi", "and the tests"]


async def test_continuation_without_remaining_messages_ends_before_the_request(make_agent, record, requests):
    agent = make_agent("never", guardrails=[NoSecrets()], messages=[user("hi"), AssistantMessage((Text("hello"),))])
    agent.steer("a secret")
    seen = record(agent)

    result = await agent.continue_run()

    assert brief(seen) == ["AgentStart", "InputRejected", "AgentEnd"]
    assert result.rejection == "no secrets"
    assert requests(agent) == []


async def test_no_turn_starts_after_an_abort(make_agent, record):
    agent = make_agent("never")
    seen = record(agent)
    agent.subscribe(lambda event: agent.abort() if isinstance(event, AgentStart) else None)

    result = await agent.prompt("go")

    assert brief(seen) == ["AgentStart", *HEARD, "AgentEnd"]
    assert result.stop_reason == "aborted"


async def test_no_call_runs_after_an_abort_in_its_own_start_event(make_agent, record):
    tools = [SimpleTool("look"), SimpleTool("read")]
    agent = make_agent(calls("look", "read"), tools=tools)
    seen = record(agent)
    agent.subscribe(lambda event: agent.abort() if isinstance(event, ToolExecutionStart) else None)

    await agent.prompt("go")

    unanswered = ["ToolCallsReceived", *["ToolExecutionStart", "ToolExecutionEnd"] * 2]
    assert brief(seen) == [
        "AgentStart",
        "TurnStart",
        *HEARD,
        *REPLY,
        *unanswered,
        *HEARD,
        *HEARD,
        "TurnEnd",
        "AgentEnd",
    ]
    assert [tool.ran for tool in tools] == [[], []]
    assert [result.is_error for result in results_of(agent)] == [True, True]


async def test_hook_swallowing_an_abort_does_not_keep_the_run_alive(make_agent, record):
    class Deaf(Waiting):
        async def _wait(self, *_: object) -> None:
            try:
                await super()._wait()
            except asyncio.CancelledError:
                return

    hook = Deaf("after_turn")
    agent = make_agent(calls("look"), "never", tools=[SimpleTool("look")], hooks=[hook])
    seen = record(agent)

    await aborted_at(agent, hook)

    assert seen.names.count("TurnStart") == 1
    assert brief(seen)[-5:] == ["ToolExecutionEnd", "MessageStart", "MessageEnd", "TurnEnd", "AgentEnd"]


async def test_reply_stopped_by_the_service_ends_the_run_and_keeps_the_queue(make_agent, record):
    agent = make_agent(Reply((Say("so f"),), stop_reason="aborted"), "never")
    agent.follow_up("and the tests")
    seen = record(agent)

    result = await agent.prompt("go")

    assert brief(seen) == ["AgentStart", "TurnStart", *HEARD, *REPLY, "TurnEnd", "AgentEnd"]
    assert result.stop_reason == "aborted"
    assert [message.text for message in agent.drain_queues()] == ["and the tests"]


async def test_stream_violating_its_order_is_closed_at_once(make_agent):
    closed = []

    class Broken:
        name = "broken"

        async def stream(self, request: Request) -> AsyncIterator[Delta]:
            try:
                yield BlockStart(0, "text")
                yield BlockDelta(7, "of a block that never began")
            finally:
                closed.append(True)

        async def close(self) -> None:
            pass

    agent = make_agent(model=Model(Broken(), ModelSpec("broken", "m"), StaticModelInfo()))
    open_at_the_end = []
    agent.subscribe(lambda event: open_at_the_end.append(not closed) if isinstance(event, TurnEnd) else None)

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert open_at_the_end == [False]


async def test_stream_without_a_final_event_is_a_failed_reply(make_agent, record):
    class Cut:
        name = "cut"

        async def stream(self, request: Request) -> AsyncIterator[Delta]:
            yield BlockStart(0, "text")
            yield BlockDelta(0, "so far")

        async def close(self) -> None:
            pass

    agent = make_agent(model=Model(Cut(), ModelSpec("cut", "m"), StaticModelInfo()))
    seen = record(agent)

    result = await agent.prompt("go")

    assert brief(seen) == ["AgentStart", "TurnStart", *HEARD, "RequestStart", *HEARD, "TurnEnd", "AgentEnd"]
    assert (result.stop_reason, result.text) == ("error", "so far")
    assert result.error == "the stream ended without its last event"
