from __future__ import annotations

import asyncio

import pytest
from fakes.invoices import (
    ANSWER,
    BAD,
    BEGINNING,
    CALLED,
    GOOD,
    INVOICE,
    REPLY,
    REPORTED,
    SCHEMA,
    Invoice,
    answer,
    broken,
    whole,
)
from fakes.runs import calls, results_of, texts_of
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.guardrails import Pass, Reject
from harness.agent.limits import Limits
from harness.approval.modes import PLAN
from harness.errors import (
    Aborted,
    AgentError,
    ConfigError,
    LimitExceeded,
    Rejected,
    RequestRejected,
    StructuredOutputFailed,
)
from harness.events import MessageUpdate, ToolExecutionEnd, UsageUpdate
from harness.ports.hooks import Hooks, Stop
from providers.demo import Break, Call, Hang, Reply, Say, scripted


async def test_structured_output_is_a_value_and_ends_the_run(make_agent, record, requests):
    agent = make_agent(answer(GOOD))
    seen = record(agent)

    value = await agent.prompt_structured("Read it", Invoice)

    assert value == INVOICE
    assert whole(seen) == [*BEGINNING, *REPLY, *CALLED, "AgentEnd"]
    assert [tool.name for tool in requests(agent)[0].tools] == [ANSWER]
    assert requests(agent)[0].output_schema is None


async def test_invalid_output_is_explained_and_retried(make_agent, record):
    agent = make_agent(answer(BAD), answer(GOOD))
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert whole(seen) == [*BEGINNING, *REPLY, *CALLED, "TurnStart", *REPLY, *CALLED, "AgentEnd"]
    reported = results_of(agent)[0]
    assert reported.is_error
    assert reported.text == (
        "Validation failed:\n- lines[0].price: Input should be greater than or equal to 0\n"
        "Call __structured_output again, corrected."
    )


async def test_three_invalid_outputs_fail_and_end_the_run(make_agent, record):
    agent = make_agent(answer(BAD), answer({}), answer(BAD), "never asked for")
    seen = record(agent)

    with pytest.raises(StructuredOutputFailed) as caught:
        await agent.prompt_structured("Read it", Invoice)

    assert caught.value.attempts == 3
    assert "lines[0].price" in caught.value.last_error
    turn = ["TurnStart", *REPLY, *CALLED]
    assert whole(seen) == [*BEGINNING, *REPLY, *CALLED, *turn, *turn, "AgentEnd"]
    assert seen.events[-1].stop_reason == "stop"


async def test_reply_without_the_call_counts_and_is_answered(make_agent, record):
    agent = make_agent("It is 2.50.", answer(GOOD))
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", *REPORTED, *REPLY, *CALLED, "AgentEnd"]
    assert texts_of(agent)[1] == "Your answer was ignored. Give it by calling __structured_output."


async def test_three_replies_without_the_call_fail(make_agent, record):
    agent = make_agent("a", "b", "c", "never asked for")
    seen = record(agent)

    with pytest.raises(StructuredOutputFailed, match="did not call __structured_output") as caught:
        await agent.prompt_structured("Read it", Invoice)

    assert caught.value.attempts == 3
    turn = [*REPORTED, *REPLY, "TurnEnd"]
    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", *turn, *turn, "AgentEnd"]


async def test_invalid_json_calls_count_too(make_agent, record):
    agent = make_agent(broken(), "words", broken(), "never asked for")
    seen = record(agent)

    with pytest.raises(StructuredOutputFailed, match="not valid JSON") as caught:
        await agent.prompt_structured("Read it", Invoice)

    assert caught.value.attempts == 3
    assert whole(seen) == [
        *(*BEGINNING, *REPLY, *CALLED),
        *("TurnStart", *REPLY, "TurnEnd"),
        *(*REPORTED, *REPLY, *CALLED, "AgentEnd"),
    ]


async def test_number_of_attempts_is_configurable(make_agent):
    agent = make_agent(answer(BAD))

    with pytest.raises(StructuredOutputFailed) as caught:
        await agent.prompt_structured("Read it", Invoice, max_attempts=1)

    assert caught.value.attempts == 1
    with pytest.raises(ConfigError, match="at least 1"):
        await agent.prompt_structured("Read it", Invoice, max_attempts=0)


async def test_other_tools_can_be_used_first_in_plan_mode_too(make_agent, record):
    look = SimpleTool("look")
    agent = make_agent(calls("look"), answer(GOOD), tools=[look], mode=PLAN)
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert len(look.ran) == 1
    # The reminder of plan mode is a message of its own.
    beginning = [*BEGINNING, "MessageStart", "MessageEnd"]
    assert whole(seen) == [*beginning, *REPLY, *CALLED, "TurnStart", *REPLY, *CALLED, "AgentEnd"]


async def test_structured_output_needs_no_approval(make_agent, user):
    agent = make_agent(answer(GOOD), approval="on")

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert not user.asked


async def test_first_valid_output_counts(make_agent):
    other = {**GOOD, "number": "8"}
    agent = make_agent(Reply((Call(ANSWER, BAD), Call(ANSWER, GOOD), Call(ANSWER, other))))

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert [result.is_error for result in results_of(agent)] == [True, False, True]


async def test_conversation_continues_without_the_tool(make_agent, record, requests):
    agent = make_agent(answer(GOOD), "You are welcome.")
    await agent.prompt_structured("Read it", Invoice)
    seen = record(agent)

    result = await agent.prompt("Thanks")

    assert result.text == "You are welcome."
    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", "AgentEnd"]
    assert requests(agent)[1].tools == ()
    assert [type(message).__name__ for message in requests(agent)[1].messages] == [
        *("UserMessage", "AssistantMessage", "ToolResult", "UserMessage")
    ]


async def test_conversation_continues_after_a_failure(make_agent):
    agent = make_agent("a", answer(BAD), broken(), "Never mind.")
    with pytest.raises(StructuredOutputFailed):
        await agent.prompt_structured("Read it", Invoice)

    assert (await agent.prompt("Leave it")).text == "Never mind."


async def test_failed_run_raises_its_own_error(make_agent, record):
    agent = make_agent(Reply((Break(RequestRejected("no such picture")),)))
    seen = record(agent)

    with pytest.raises(RequestRejected, match="no such picture"):
        await agent.prompt_structured("Read it", Invoice)

    assert seen.names[-2:] == ["TurnEnd", "AgentEnd"]


async def test_aborted_run_raises_and_its_last_invalid_output_is_not_a_model_failure(make_agent, record):
    agent = make_agent(answer(BAD), answer(BAD), Reply((Hang(),)))
    seen = record(agent)
    asking = asyncio.create_task(agent.prompt_structured("Read it", Invoice))
    async with asyncio.timeout(5):
        while seen.names.count("RequestStart") < 3:
            await asyncio.sleep(0)

    agent.abort()

    with pytest.raises(Aborted):
        await asking
    assert seen.names[-1] == "AgentEnd"


async def test_run_aborted_after_its_output_is_an_aborted_run(make_agent, record):
    async def wait(arguments, context):
        await asyncio.Event().wait()

    agent = make_agent(Reply((Call("wait", {}), Call(ANSWER, GOOD))), tools=[SimpleTool("wait", wait)])
    seen = record(agent)
    agent.subscribe(lambda event: agent.abort() if isinstance(event, ToolExecutionEnd) else None)

    with pytest.raises(Aborted):
        await agent.prompt_structured("Read it", Invoice)

    started = ["ToolCallsReceived", "ToolExecutionStart", "ToolExecutionStart", "ToolExecutionEnd", "ToolExecutionEnd"]
    assert whole(seen) == [*BEGINNING, *REPLY, *started, *["MessageStart", "MessageEnd"] * 2, "TurnEnd", "AgentEnd"]


async def test_call_interrupted_by_the_user_is_not_an_attempt(make_agent):
    agent = make_agent(answer(BAD), answer(BAD), answer(BAD), answer(GOOD))
    words = ["Faster"]

    def interrupt(event):
        # Sent before the first call is approved, it keeps the call from running.
        if isinstance(event, UsageUpdate) and words:
            agent.steer(words.pop())

    agent.subscribe(interrupt)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert [result.text.partition("\n")[0] for result in results_of(agent)] == [
        "Skipped due to queued user message.",
        "Validation failed:",
        "Validation failed:",
        "The answer is accepted.",
    ]


async def test_limit_raises_but_an_earlier_output_is_kept(make_agent, record):
    agent = make_agent(answer(BAD), answer(GOOD), limits=Limits(max_turns=1))
    seen = record(agent)

    with pytest.raises(LimitExceeded):
        await agent.prompt_structured("Read it", Invoice)

    assert whole(seen)[-4:] == ["LimitReached", "MessageStart", "MessageEnd", "AgentEnd"]
    assert await agent.prompt_structured("Again", Invoice) == INVOICE


class StopAfterTurn(Hooks):
    async def after_turn(self, end):
        return Stop("that is enough")


async def test_hook_stopping_after_the_output_keeps_it(make_agent):
    agent = make_agent(answer(GOOD), answer(BAD), hooks=[StopAfterTurn()])

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE
    with pytest.raises(LimitExceeded, match="that is enough"):
        await agent.prompt_structured("Read it", Invoice)


class NotToday:
    def check(self, message):
        return Reject("not today")


class NoHurry:
    def check(self, message):
        return Reject("no hurry") if "Hurry" in message.text else Pass()


async def test_rejected_prompt_raises(make_agent):
    agent = make_agent(answer(GOOD), guardrails=[NotToday()])

    with pytest.raises(Rejected, match="not today"):
        await agent.prompt_structured("Read it", Invoice)


def test_structured_output_without_an_event_loop(make_agent):
    assert make_agent(answer(GOOD)).prompt_structured_sync("Read it", Invoice) == INVOICE

    with pytest.raises(StructuredOutputFailed):
        make_agent("a", "b", "c").prompt_structured_sync("Read it", SCHEMA)


async def test_structured_output_inside_an_event_loop(make_agent):
    assert make_agent(answer(GOOD)).prompt_structured_sync("Read it", Invoice) == INVOICE


async def test_run_without_an_output_raises(make_agent, record):
    agent = make_agent("Let me see.", guardrails=[NoHurry()])
    seen = record(agent)
    # Sent while the reply is streamed, it replaces the reminder, and is then blocked.
    agent.subscribe(lambda event: agent.steer("Hurry") if isinstance(event, MessageUpdate) else None)

    with pytest.raises(AgentError, match="before the model gave its answer"):
        await agent.prompt_structured("Read it", Invoice)

    assert whole(seen)[len(BEGINNING + REPLY) : -1] == ["TurnEnd"] + ["InputRejected"] * seen.names.count(
        "MessageUpdate"
    )


@pytest.mark.parametrize("native", [False, True])
async def test_schema_with_a_dangling_reference_is_reported_at_the_first_output(make_agent, record, native):
    reply = Reply((Say('{"a": 1}'),)) if native else calls("__structured_output", a=1)
    agent = make_agent(model=replace(scripted(reply, reply, reply), native_schema=native))
    seen = record(agent)

    with pytest.raises(ConfigError, match="refers to something it does not contain"):
        await agent.prompt_structured("go", {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}})

    assert [name for name in seen.names if name in ("RequestStart", "TurnEnd", "AgentEnd")] == [
        "RequestStart",
        "TurnEnd",
        "AgentEnd",
    ]
