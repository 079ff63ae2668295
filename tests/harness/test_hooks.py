from __future__ import annotations

import asyncio

import pytest
from fakes.runs import calls, texts_of, until
from fakes.simple_tools import SimpleTool

from harness.agent.guardrails import Reject
from harness.errors import RequestRejected
from harness.events import AgentEnd, HookRan, MessageUpdate, UsageUpdate
from harness.ports.hooks import Block, Hooks, Inject, Stop
from providers.demo import Break, Hang, Reply
from tools.delegate import DelegateTool


class Logging(Hooks):
    """Hooks that record their name between the events, so that the order of both is visible."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    async def before_loop(self, messages, loop_index):
        self.log.append(f"before_loop {loop_index}")

    async def after_loop(self, end):
        self.log.append("after_loop")

    async def before_turn(self, messages, turn):
        self.log.append(f"before_turn {turn}")

    async def after_turn(self, end):
        self.log.append("after_turn")

    async def before_model(self, request):
        self.log.append("before_model")
        return request

    async def after_model(self, reply):
        self.log.append("after_model")

    async def before_tool(self, call):
        self.log.append("before_tool")

    async def after_tool(self, call, result):
        self.log.append("after_tool")

    async def on_error(self, error):
        self.log.append(f"on_error {error}")


@pytest.fixture
def log() -> list[str]:
    return []


def follow(agent, log: list[str]) -> None:
    unheard = (MessageUpdate, UsageUpdate)
    agent.subscribe(lambda event: None if isinstance(event, unheard) else log.append(type(event).__name__))


async def test_hooks_run_around_their_events_in_strict_order(make_agent, log):
    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look")], hooks=[Logging(log)])
    follow(agent, log)

    await agent.prompt("go")

    assert log == [
        *["before_loop 1", "AgentStart"],
        *["before_turn 1", "TurnStart", "MessageStart", "MessageEnd"],
        *["before_model", "RequestStart", "MessageStart", "MessageEnd", "ToolCallsReceived", "after_model"],
        *["before_tool", "ToolExecutionStart", "ToolExecutionEnd", "after_tool"],
        *["MessageStart", "MessageEnd"],
        *["TurnEnd", "after_turn"],
        *["before_turn 2", "TurnStart"],
        *["before_model", "RequestStart", "MessageStart", "MessageEnd", "after_model"],
        *["TurnEnd", "after_turn"],
        *["AgentEnd", "after_loop"],
    ]


async def test_hook_stopping_before_the_run_yields_an_end_without_messages(make_agent, log, requests):
    class No(Logging):
        async def before_loop(self, messages, loop_index):
            return Stop("not today")

    agent = make_agent("never", hooks=[No(log)])
    follow(agent, log)

    result = await agent.prompt("go")

    assert log == ["HookRan", "AgentEnd", "after_loop"]
    assert (result.rejection, result.messages, len(agent.history)) == ("not today", (), 0)
    assert requests(agent) == []


async def test_hook_stopping_before_a_turn_yields_no_event_of_that_turn(make_agent, log):
    class Once(Logging):
        async def before_turn(self, messages, turn):
            return Stop("enough") if turn == 2 else None

    agent = make_agent(calls("look"), "never", tools=[SimpleTool("look")], hooks=[Once(log)])
    follow(agent, log)

    result = await agent.prompt("go")

    assert log[-4:] == ["after_turn", "HookRan", "AgentEnd", "after_loop"]
    assert log.count("TurnStart") == 1
    assert (result.stop_reason, result.limit, result.stop_message, result.error) == ("stop", "policy", "enough", None)


async def test_prompt_is_kept_when_the_first_turn_is_stopped(make_agent, log):
    class Never(Logging):
        async def before_turn(self, messages, turn):
            return Stop("no")

    agent = make_agent("never", hooks=[Never(log)])

    await agent.prompt("go")

    assert texts_of(agent) == ["go"]


async def test_hook_after_a_turn_can_stop_the_run(make_agent, log, requests):
    class Stopper(Logging):
        async def after_turn(self, end):
            return Stop("that will do")

    agent = make_agent(calls("look"), "never", tools=[SimpleTool("look")], hooks=[Stopper(log)])
    follow(agent, log)

    result = await agent.prompt("go")

    assert len(requests(agent)) == 1
    assert result.stop_message == "that will do"
    assert log[-4:] == ["TurnEnd", "HookRan", "AgentEnd", "after_loop"]


async def test_message_injected_by_a_hook_is_sent_in_the_next_turn(make_agent, log, requests):
    class Nagging(Logging):
        async def after_turn(self, end):
            return Inject("have you run the tests?") if not end.results and "tests" not in end.message.text else None

    agent = make_agent("done", "the tests pass", hooks=[Nagging(log)])

    result = await agent.prompt("go")

    assert result.text == "the tests pass"
    assert [message.text for message in requests(agent)[-1].messages] == ["go", "done", "have you run the tests?"]


async def test_failing_hook_stops_the_turn_before_it_and_is_only_reported_after_it(make_agent, log, record):
    class Broken(Hooks):
        async def after_turn(self, end):
            raise ValueError("after")

        async def before_turn(self, messages, turn):
            if turn == 2:
                raise ValueError("before")

    agent = make_agent(calls("look"), "never", tools=[SimpleTool("look")], hooks=[Broken()])
    seen = record(agent)

    result = await agent.prompt("go")

    assert [(event.point, event.outcome) for event in seen.of(HookRan)] == [
        ("after_turn", "failed"),
        ("before_turn", "failed"),
        ("before_turn", "stopped"),
    ]
    assert result.limit == "policy"
    assert len(seen.of(AgentEnd)) == 1


async def test_first_objecting_hook_is_the_last_called(make_agent, log):
    class Objecting(Logging):
        async def before_tool(self, call):
            self.log.append("objects")
            return Block("no")

    agent = make_agent(
        calls("look"), "done", tools=[SimpleTool("look")], hooks=[Logging(log), Objecting(log), Logging(log)]
    )

    await agent.prompt("go")

    assert log.count("before_tool") == 1
    assert log.count("objects") == 1


async def test_failed_request_is_reported_to_hooks(make_agent, log):
    agent = make_agent(Reply((Break(RequestRejected("no")),)), hooks=[Logging(log)])

    await agent.prompt("go")

    assert "on_error no" in log


@pytest.mark.parametrize("point", ["before_loop", "before_turn", "before_model", "after_turn", "after_loop"])
async def test_hanging_hook_is_cancelled_by_an_abort(make_agent, log, record, point):
    begun = asyncio.Event()

    async def hang(*_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    hooks = Hooks()
    setattr(hooks, point, hang)
    agent = make_agent("done", hooks=[hooks])
    seen = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(begun.is_set)
    agent.abort()
    result = await run

    assert result.stop_reason == ("stop" if point == "after_loop" else "aborted")
    assert texts_of(agent) == ["go"]
    assert len(seen.of(AgentEnd)) == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_after_loop_runs_on_every_path(make_agent, log, user):
    class No:
        def check(self, message):
            return Reject("no")

    hooks = [Logging(log)]
    await make_agent(Reply((Break(RequestRejected("no")),)), hooks=hooks).prompt("fails")
    await make_agent("never", hooks=hooks, guardrails=[No()]).prompt("rejected")
    agent = make_agent(Reply((Hang(),)), hooks=hooks)
    run = asyncio.create_task(agent.prompt("aborted"))
    await until(lambda: log.count("before_model") == 2)
    agent.abort()
    await run

    assert log.count("after_loop") == 3


class Finisher(Hooks):
    """Hook that lets a run, or a subagent, end only when its reply says that it is done."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def before_stop(self, reply):
        self.asked.append(f"run: {reply.text}")
        return None if "done" in reply.text else Inject("Finish the work first.")

    async def before_subagent_stop(self, reply):
        self.asked.append(f"subagent: {reply.text}")
        return None if "done" in reply.text else Inject("Finish the task first.")


async def test_hook_continues_a_run_that_would_end(make_agent):
    hook = Finisher()
    agent = make_agent("half", "done", hooks=[hook])

    result = await agent.prompt("go")

    assert (result.text, result.stop_reason) == ("done", "stop")
    assert hook.asked == ["run: half", "run: done"]
    assert texts_of(agent) == ["go", "Finish the work first."]


async def test_failed_run_does_not_ask_whether_it_may_stop(make_agent):
    hook = Finisher()
    agent = make_agent(Break(RequestRejected("no such model", status=404)), hooks=[hook])

    await agent.prompt("go")

    assert hook.asked == []


async def test_hook_continues_a_subagent_that_would_end(make_agent):
    hook = Finisher()
    delegation = calls("delegate_subagent", task="count")
    agent = make_agent(delegation, "half", "task done", "done", tools=[DelegateTool()], hooks=[hook])

    await agent.prompt("go")

    assert hook.asked == ["subagent: half", "subagent: task done", "run: done"]
