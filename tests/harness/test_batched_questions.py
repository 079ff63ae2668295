from __future__ import annotations

import asyncio

import pytest
from fakes.runs import calls, results_of, until
from fakes.simple_tools import SimpleTool

from harness.approval.pending import PendingRequests
from harness.errors import NoPendingRequest
from harness.events import QuestionAnswered, QuestionAsked, SubagentEvent
from harness.ports.interaction import ask_all
from harness.ports.tool import ToolOutput
from harness.user_requests import Answer, Question
from providers.demo import Call, Reply, scripted
from tools.delegate import DelegateTool

QUESTIONS = (Question("colour?"), Question("size?"), Question("how many?"))


def form_tool() -> SimpleTool:
    async def work(arguments, context) -> ToolOutput:
        answers = await ask_all(context.user, QUESTIONS)
        return ToolOutput.text(" ".join(f"{answer.status}:{answer.text}" for answer in answers))

    return SimpleTool("ask", work)


async def test_batched_questions_are_answered_as_each_is_published(make_agent):
    answers = PendingRequests()
    agent = make_agent(calls("ask"), "done", tools=[form_tool()], user=answers)

    def reply(event) -> None:
        if isinstance(event, QuestionAsked):
            answers.answer(event.call_id, Answer("free_text", event.question.prompt))

    agent.subscribe(reply)
    await agent.prompt("go")

    assert results_of(agent)[0].text == "free_text:colour? free_text:size? free_text:how many?"


async def test_batched_questions_are_all_pending_at_once(make_agent):
    answers = PendingRequests()
    agent = make_agent(calls("ask"), "done", tools=[form_tool()], user=answers)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: len(answers.open) == 3)
    assert [each.request for each in answers.open] == list(QUESTIONS)
    (call_id,) = {each.call_id for each in answers.open}
    for word in ("red", "big", "two"):
        answers.answer(call_id, Answer("free_text", word))
    await run

    assert results_of(agent)[0].text == "free_text:red free_text:big free_text:two"
    with pytest.raises(NoPendingRequest):
        answers.answer(call_id, Answer("skipped"))


async def test_partial_answers_are_kept_on_timeout(make_agent):
    answers = PendingRequests(timeout=0.2)
    agent = make_agent(calls("ask"), "done", tools=[form_tool()], user=answers)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: len(answers.open) == 3)
    answers.answer(answers.open[0].call_id, Answer("free_text", "red"))
    await run

    assert results_of(agent)[0].text == "free_text:red timed_out: timed_out:"


async def test_batched_questions_of_a_subagent_are_answered_in_the_stream(make_agent):
    model = scripted(Reply((Call("delegate_subagent", {"task": "dig"}),)), calls("ask"), "done", "ok")
    agent = make_agent(model=model, tools=[DelegateTool(), form_tool()], user=PendingRequests())
    heard = []

    async with agent.stream("go") as stream:
        async for event in stream:
            if isinstance(event, SubagentEvent) and isinstance(event.event, QuestionAsked):
                stream.answer(event.event.call_id, Answer("free_text", event.event.question.prompt))
            if isinstance(event, SubagentEvent) and isinstance(event.event, QuestionAnswered):
                heard.append(event.event.answer.text)

    assert heard == ["colour?", "size?", "how many?"]
