from __future__ import annotations

import asyncio

import pytest
from fakes.simple_tools import SimpleTool

from harness.agent.guardrails import MaxLength
from harness.agent.side_question import NO_RESULT_YET, NO_TOOLS, reply_to
from harness.errors import NetworkError, Rejected
from harness.events import UsageAdded
from harness.messages import ToolResult, Usage, user
from harness.ports.tool import ToolOutput
from providers.demo.provider import Break, Call, Hang, Reply, Say


async def test_side_question_sees_the_conversation_without_entering_it(make_agent, record, requests):
    agent = make_agent("It is 45.", "By Ada.")
    await agent.prompt("What is the total?")
    seen, before = record(agent), agent.history.messages
    reported: list[str] = []

    reply = await agent.ask_side_question("Who wrote this?", reported.append)

    assert reply.text == "".join(reported) == "By Ada."
    asked = requests(agent)[-1].messages
    assert asked[:-1] == before
    assert asked[-1].text.endswith("Who wrote this?")
    assert agent.history.messages == before
    assert seen.names == ["UsageAdded"]


async def test_side_question_usage_is_counted(make_agent):
    agent = make_agent(Reply((Say("By Ada."),), usage=Usage(input=70, output=3)))

    await agent.ask_side_question("Who wrote this?")

    assert (agent.state.usage.input, agent.state.usage.output) == (70, 3)


async def test_side_question_during_a_call_does_not_affect_the_run(make_agent, requests):
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(arguments, context):
        begun.set()
        await go_on.wait()
        return ToolOutput.text("slept")

    tool = SimpleTool("nap", work)
    agent = make_agent(Reply((Call("nap", {}, "n1"),)), "Still napping.", "Done.", tools=[tool])
    running = asyncio.create_task(agent.prompt("nap"))
    await begun.wait()

    reply = await agent.ask_side_question("What are you doing?")
    go_on.set()
    result = await running

    assert reply.text == "Still napping."
    shown = [each.text for each in requests(agent)[1].messages if isinstance(each, ToolResult)]
    assert shown == [NO_RESULT_YET]
    assert result.text == "Done."
    assert [each.text for each in agent.history.messages if isinstance(each, ToolResult)] == ["slept"]


async def test_call_in_a_side_question_is_rejected_and_text_is_requested(make_agent, requests):
    tool = SimpleTool("look")
    agent = make_agent(Reply((Call("look", {}),)), "From memory: yes.", tools=[tool])

    reply = await agent.ask_side_question("Is it there?")

    assert reply.text == "From memory: yes."
    assert tool.ran == []
    assert requests(agent)[-1].messages[-1].text == NO_TOOLS


async def test_side_question_blocked_by_a_guardrail_is_not_sent(make_agent, requests):
    agent = make_agent("never", guardrails=[MaxLength(1_000)])

    with pytest.raises(Rejected):
        await agent.ask_side_question("x" * 2_000)

    assert requests(agent) == []


async def test_failed_side_question_reports_the_error_and_the_next_prompt_works(make_agent):
    agent = make_agent(Reply((Say("By"), Break(NetworkError("the line broke")))), "Hello.")

    with pytest.raises(NetworkError):
        await agent.ask_side_question("Who wrote this?")

    assert (await agent.prompt("hi")).text == "Hello."


async def test_side_question_can_be_stopped(make_agent):
    heard = asyncio.Event()
    agent = make_agent(Reply((Say("By"), Hang())), "Hello.")
    asking = asyncio.create_task(agent.ask_side_question("Who?", lambda text: heard.set()))
    await heard.wait()

    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await agent.prompt("hi")).text == "Hello."


async def test_reply_to_other_messages_leaves_the_conversation_and_counts_its_usage(make_agent, requests, record):
    agent = make_agent(Reply((Say("Bern."),), usage=Usage(input=70, output=3)), tools=[SimpleTool("look")])
    happened = record(agent)

    reply = await reply_to(agent, (user("Capital?"),), "You know capitals.", 100)

    (request,) = requests(agent)
    assert (request.system, request.tools, request.max_tokens) == ("You know capitals.", (), 100)
    assert [each.text for each in request.messages] == ["Capital?"]
    assert reply.text == "Bern."
    assert agent.messages == ()
    assert (agent.state.usage.input, agent.state.usage.output) == (70, 3)
    assert [each.source for each in happened.of(UsageAdded)] == ["sampling"]
