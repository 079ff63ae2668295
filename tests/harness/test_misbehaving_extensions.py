from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.policies import Budget
from harness.agent.retry import RetryPolicy
from harness.codec import decode, encode
from harness.deltas import BlockDelta, BlockStart, Done
from harness.errors import ConfigError, NetworkError
from harness.events import AgentEnd, Event, HookRan, Notice
from harness.messages import ModelSpec, Text
from harness.ports.hooks import Hooks, Stop
from harness.ports.provider import Model, StaticModelInfo
from harness.ports.tool import ToolOutput
from providers.demo import Break, Reply, scripted

TURN = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd", "RequestStart"]


class Careless:
    """Provider that streams the given items; an exception among them is raised, a number is slept."""

    name = "careless"

    def __init__(self, *deltas: object) -> None:
        self._deltas = deltas

    async def stream(self, request):
        for each in self._deltas:
            if isinstance(each, BaseException):
                raise each
            yield each

    async def close(self) -> None:
        pass


def model_of(provider) -> Model:
    return Model(provider, ModelSpec("careless", "one"), StaticModelInfo())


async def test_raising_sync_hook_is_reported_and_the_run_continues(make_agent, record):
    class Hook(Hooks):
        def after_model(self, reply):
            raise ValueError("not me")

    agent = make_agent("done", hooks=[Hook()])
    seen = record(agent)

    result = await agent.prompt("hi")

    assert (result.text, result.stop_reason) == ("done", "stop")
    assert [event.reason for event in seen.of(HookRan)] == ["ValueError: not me"]
    assert seen.names[-1] == "AgentEnd"


@pytest.mark.parametrize("verdict", [Stop("no"), False, "no"])
async def test_call_without_a_hook_decision_does_not_run(make_agent, verdict):
    class Hook(Hooks):
        async def before_tool(self, call):
            return verdict

    look = SimpleTool("look")
    agent = make_agent(calls("look"), "done", tools=[look], hooks=[Hook()])

    await agent.prompt("hi")

    assert look.ran == []
    assert "returned no verdict" in results_of(agent)[0].text


@pytest.mark.parametrize(("point", "reason"), [("before_turn", "stop"), ("after_model", "stop"), ("on_error", "error")])
async def test_hook_that_cancels_itself_is_an_error_and_not_an_abort(make_agent, point, reason):
    async def cancelled(self, *args):
        raise asyncio.CancelledError

    hook = type("Hook", (Hooks,), {point: cancelled})()
    script = Reply((Break(NetworkError("gone")),)) if point == "on_error" else "done"
    agent = make_agent(script, hooks=[hook], retry=RetryPolicy(max_retries=0))

    assert (await agent.prompt("hi")).stop_reason == reason


async def test_hook_returning_no_request_changes_nothing(make_agent):
    class Hook(Hooks):
        async def before_model(self, request):
            return None

    assert (await make_agent("done", hooks=[Hook()]).prompt("hi")).text == "done"


async def test_provider_that_cancels_itself_is_an_error(make_agent, record):
    agent = make_agent(model=model_of(Careless(BlockStart(0, "text"), asyncio.CancelledError())))
    seen = record(agent)

    result = await agent.prompt("hi")

    assert (result.stop_reason, result.error) == ("error", "careless was cancelled from within: CancelledError: ")
    assert seen.names == [*TURN, "MessageStart", "MessageUpdate", "MessageEnd", "TurnEnd", "AgentEnd"]


async def test_provider_that_swallows_its_cancellation_is_ignored_afterwards(make_agent, record):
    class Deaf(Careless):
        async def stream(self, request):
            yield BlockStart(0, "text")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                yield BlockDelta(0, "never mind")
            yield Done("stop")

    agent = make_agent(model=model_of(Deaf()))
    seen = record(agent)
    agent.subscribe(lambda event: agent.abort() if type(event).__name__ == "MessageUpdate" else None)

    result = await agent.prompt("hi")

    assert (result.stop_reason, result.text) == ("aborted", "")
    assert seen.names == [*TURN, "MessageStart", "MessageUpdate", "MessageEnd", "TurnEnd", "AgentEnd"]


async def test_provider_that_never_stops_is_abandoned_after_the_grace_period(make_agent, record):
    released = asyncio.Event()

    class Stuck(Careless):
        async def stream(self, request):
            yield BlockStart(0, "text")
            yield BlockDelta(0, "so far")
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue
            yield BlockDelta(0, " and much later")
            yield Done("stop")

    agent = make_agent(model=model_of(Stuck()), cancel_grace_s=0.05)
    seen = record(agent)
    agent.subscribe(lambda event: agent.abort() if "so far" in str(event) else None)

    result = await asyncio.wait_for(agent.prompt("hi"), 5)
    released.set()
    for _ in range(5):
        await asyncio.sleep(0)

    assert (result.stop_reason, result.messages[-1].text) == ("aborted", "so far")
    assert [each.text for each in seen.of(Notice)] == [
        "careless/one did not stop when it was cancelled; its request may still be running."
    ]
    assert seen.names[-3:] == ["MessageEnd", "TurnEnd", "AgentEnd"]
    assert (await make_agent("fine").prompt("again")).text == "fine"


@pytest.mark.parametrize(
    ("deltas", "error"),
    [
        ((Done("stop"), BlockStart(0, "text")), "the stream continues after its last event"),
        ((BlockStart(0, "text"), BlockStart(0, "text")), "block 0 of the reply starts twice"),
    ],
)
async def test_out_of_order_reply_is_an_error(make_agent, record, deltas, error):
    agent = make_agent(model=model_of(Careless(*deltas)))
    seen = record(agent)

    await agent.prompt("hi")

    assert [event.error for event in seen.of(AgentEnd)] == [error]


async def test_failing_model_info_lookup_leaves_the_reply_unchanged(make_agent):
    class Unreachable:
        now = None

        async def load(self):
            raise OSError("no network")

    model = replace(scripted("done"), info=Unreachable())
    agent = make_agent(model=model, hooks=[Budget(max_cost=1.0)])

    assert (await agent.prompt("hi")).text == "done"


async def test_failing_retry_policy_is_a_failed_reply(make_agent, record):
    class Broken(RetryPolicy):
        def delay(self, error, attempt):
            raise ValueError("no idea")

    agent = make_agent(Reply((Break(NetworkError("gone")),)), retry=Broken())
    seen = record(agent)

    result = await agent.prompt("hi")

    assert result.error == "the retry strategy failed: ValueError: no idea"
    assert seen.names == [*TURN, "MessageStart", "MessageEnd", "TurnEnd", "AgentEnd"]


async def test_failing_tool_filter_is_named_in_the_error(make_agent):
    agent = make_agent("done", tool_filter=lambda tools, messages: 1 / 0)

    assert (await agent.prompt("hi")).error == "the tools could not be listed: ZeroDivisionError: division by zero"


async def test_subscriber_that_cancels_itself_is_removed(make_agent):
    def cancelled(event):
        raise asyncio.CancelledError

    agent = make_agent("done")
    agent.subscribe(cancelled)

    assert (await agent.prompt("hi")).text == "done"


async def test_async_subscriber_is_rejected(make_agent):
    async def hear(event):
        pass

    with pytest.raises(ConfigError, match="listen"):
        make_agent("done").subscribe(hear)


async def test_tool_mutating_its_arguments_does_not_change_the_message(make_agent):
    async def work(arguments, context):
        arguments["list"].append("more")
        arguments["other"] = 1
        return ToolOutput.text("changed")

    agent = make_agent(calls("change", list=["one"]), "done", tools=[SimpleTool("change", work)])

    await agent.prompt("hi")

    (reply,) = [message for message in agent.history if getattr(message, "tool_calls", ())]
    assert [call.arguments for call in reply.tool_calls] == [{"list": ["one"]}]


@pytest.mark.parametrize(
    ("output", "reported"),
    [
        (None, "it returned a NoneType instead of a ToolOutput"),
        ("words", "it returned a str instead of a ToolOutput"),
        (ToolOutput("words"), "not a tuple of Text and Image"),
        (ToolOutput((Text("words"), "more")), "not a tuple of Text and Image"),
        (ToolOutput.text("words", details={"path": Path("here")}), "the details of its output are not JSON"),
    ],
)
async def test_invalid_tool_return_value_is_an_error_and_events_stay_serializable(make_agent, record, output, reported):
    async def work(arguments, context):
        return output

    agent = make_agent(calls("work"), "done", tools=[SimpleTool("work", work)])
    seen = record(agent)

    result = await agent.prompt("hi")

    assert result.text == "done"
    assert reported in results_of(agent)[0].text
    assert [decode(Event, encode(event)) for event in seen.events] == seen.events


async def test_summary_that_is_not_text_is_ignored(make_agent, record):
    tool = SimpleTool("work")
    tool.summary = lambda arguments: None
    agent = make_agent(calls("work"), "done", tools=[tool])
    seen = record(agent)

    await agent.prompt("hi")

    assert [decode(Event, encode(event)) for event in seen.events] == seen.events


async def test_tool_call_without_any_tools_is_rejected_with_an_explanation(make_agent):
    agent = make_agent(calls("look"), "done")

    await agent.prompt("hi")

    assert results_of(agent)[0].text == "Error: unknown tool 'look'; available tools: none"
