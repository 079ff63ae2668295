from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from fakes.decisions import needs_approval
from fakes.runs import calls, results_of, until
from fakes.simple_tools import SimpleTool

from harness.approval.modes import PLAN
from harness.approval.pending import PendingRequest, PendingRequests
from harness.errors import NoPendingRequest
from harness.events import (
    BranchEvent,
    PlanSubmitted,
    QuestionAnswered,
    QuestionAsked,
    SubagentEvent,
    ToolApprovalRequested,
    ToolApprovalResolved,
    ToolExecutionEnd,
)
from harness.messages import ToolCall
from harness.parallel.run import run_parallel
from harness.parallel.variant import ParallelVariant
from harness.ports.tool import ToolOutput
from harness.risk import Risk
from harness.user_requests import (
    AllowOnce,
    AllowWithArguments,
    Answer,
    ApprovalRequest,
    Choice,
    Denied,
    Plan,
    PlanDecision,
    Question,
)
from providers.demo import Call, Reply, scripted
from tools.delegate import DelegateTool


def request(call_id: str = "1") -> ApprovalRequest:
    return ApprovalRequest(ToolCall(call_id, "edit", {}), "Edit", "", needs_approval(Risk("edit")), None, Path())


def asking_tool(*questions: Question) -> SimpleTool:
    async def work(arguments, context) -> ToolOutput:
        answers = [await context.user.ask(question) for question in questions]
        return ToolOutput.text(" ".join(f"{answer.status}:{answer.text}" for answer in answers))

    return SimpleTool("ask", work)


def planning_tool() -> SimpleTool:
    async def work(arguments, context) -> ToolOutput:
        verdict = await context.propose_plan(Plan("1. do it"))
        return ToolOutput.text(f"{verdict.accepted} {verdict.feedback}")

    return SimpleTool("submit_plan", work)


@pytest.fixture
def answers() -> PendingRequests:
    return PendingRequests()


async def test_call_waits_until_it_is_answered(make_agent, record, answers):
    agent = make_agent(calls("edit"), "done", tools=[SimpleTool("edit", risk="edit")], user=answers)
    recorder = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: answers.open)
    waiting = answers.open
    answers.respond("call_1", AllowOnce())
    await run

    assert [each.call_id for each in waiting] == ["call_1"]
    assert isinstance(waiting[0].request, ApprovalRequest)
    assert answers.open == ()
    assert [name for name in recorder.names if name.startswith("Tool")] == [
        "ToolCallsReceived",
        "ToolApprovalRequested",
        "ToolApprovalResolved",
        "ToolExecutionStart",
        "ToolExecutionEnd",
    ]


async def test_callback_can_answer_before_the_question_is_asked(make_agent, answers):
    tools = [SimpleTool("edit", risk="edit"), asking_tool(Question("colour?"), Question("size?"))]
    agent = make_agent(calls("edit", "ask"), "done", tools=tools, user=answers)

    def reply(event) -> None:
        match event:
            case ToolApprovalRequested(call=call):
                answers.respond(call.id, AllowWithArguments({"colour": "red"}))
            case QuestionAsked(call_id=call_id, question=question):
                answers.answer(call_id, Answer("free_text", question.prompt))

    agent.subscribe(reply)
    await agent.prompt("go")

    assert tools[0].ran == [{"colour": "red"}]
    assert results_of(agent)[1].text == "free_text:colour? free_text:size?"


async def test_callback_can_review_a_plan_before_the_decision_is_requested(make_agent, answers):
    agent = make_agent(calls("submit_plan"), "done", tools=[planning_tool()], user=answers, mode=PLAN)
    verdict = PlanDecision(accepted=True, feedback="fine")
    agent.subscribe(lambda event: answers.review(verdict) if isinstance(event, PlanSubmitted) else None)

    await agent.prompt("go")

    assert results_of(agent)[0].text == "True fine"


async def test_plans_wait_for_a_decision(make_agent, answers):
    agent = make_agent(calls("submit_plan"), "done", tools=[planning_tool()], user=answers, mode=PLAN)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: answers.open)
    waiting = answers.open
    answers.review(PlanDecision(accepted=False, feedback="shorter"))
    await run

    assert waiting == (PendingRequest("", Plan("1. do it")),)
    assert results_of(agent)[0].text == "False shorter"


async def test_concurrent_requests_are_distinguished(make_agent, answers):
    reply = Reply((Call("ask", {}, id="a"), Call("ask", {}, id="b")))
    agent = make_agent(reply, "done", tools=[asking_tool(Question("same?"))], user=answers)
    agent.subscribe(
        lambda event: (
            answers.answer(event.call_id, Answer("free_text", event.call_id))
            if isinstance(event, QuestionAsked)
            else None
        )
    )

    await agent.prompt("go")

    assert [result.text for result in results_of(agent)] == ["free_text:a", "free_text:b"]


async def test_request_can_be_answered_from_another_thread(make_agent, answers):
    agent = make_agent(calls("edit"), "done", tools=[SimpleTool("edit", risk="edit")], user=answers)

    def reply_from_outside() -> None:
        while not answers.open:
            pass
        answers.respond("call_1", Denied("no"))

    thread = threading.Thread(target=reply_from_outside)
    thread.start()
    await agent.prompt("go")
    thread.join()

    assert results_of(agent)[0].text == "The user denied this call: no"


@pytest.mark.parametrize("call_id", ["call_1", "nonsense"])
async def test_answering_an_unknown_request_raises(make_agent, answers, call_id):
    agent = make_agent(calls("edit"), "done", tools=[SimpleTool("edit", risk="edit")], user=answers)
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: answers.open)
    answers.respond("call_1", AllowOnce())

    with pytest.raises(NoPendingRequest, match=f"'{call_id}' is not waiting for an approval"):
        answers.respond(call_id, AllowOnce())
    with pytest.raises(NoPendingRequest, match=f"'{call_id}' is not waiting for an answer"):
        answers.answer(call_id, Answer("skipped"))
    with pytest.raises(NoPendingRequest, match="no verdict"):
        answers.review(PlanDecision(accepted=True))
    await run


async def test_early_answer_is_used_once(answers):
    answers.observe(ToolApprovalRequested(call=ToolCall("1", "edit", {}), reason=""))
    answers.respond("1", AllowOnce())

    with pytest.raises(NoPendingRequest):
        answers.respond("1", Denied())

    assert await answers.approve(request("1")) == AllowOnce()


async def test_answers_to_unknown_requests_are_not_kept(answers):
    call = ToolCall("1", "edit", {})
    answers.observe(SubagentEvent(call_id="0", event=ToolApprovalRequested(call=call, reason="")))
    answers.respond("1", AllowOnce())
    answers.observe(SubagentEvent(call_id="0", event=ToolApprovalResolved(call_id="1", decision="denied")))
    answers.observe(BranchEvent(event=QuestionAsked(call_id="2", question=Question("?"))))
    answers.answer("2", Answer("skipped"))
    answers.observe(BranchEvent(event=QuestionAnswered(call_id="2", answer=Answer("timed_out"))))
    answers.observe(SubagentEvent(call_id="0", event=PlanSubmitted(plan="theirs")))

    asked = asyncio.create_task(answers.approve(request("1")))
    await until(lambda: answers.open)
    answers.respond("1", Denied())
    assert await asked == Denied()
    with pytest.raises(NoPendingRequest):
        answers.answer("2", Answer("skipped"))
    with pytest.raises(NoPendingRequest):
        answers.review(PlanDecision(accepted=True))
    answers.observe(QuestionAsked(call_id="2", question=Question("?")))
    again = asyncio.create_task(answers.ask(Question("?")))
    await until(lambda: answers.open)
    answers.answer("2", Answer("free_text", "yes"))
    assert await again == Answer("free_text", "yes")


async def test_withdrawn_question_cannot_be_answered(answers):
    answers.observe(ToolApprovalRequested(call=ToolCall("1", "edit", {}), reason=""))
    answers.observe(ToolApprovalResolved(call_id="1", decision="denied"))

    with pytest.raises(NoPendingRequest):
        answers.respond("1", AllowOnce())


async def test_identical_requests_of_subagents_are_distinguished(make_agent, answers):
    ask = asking_tool(Question("colour?"))
    tasks = Reply(tuple(Call("delegate_subagent", {"task": name}) for name in "ab"))
    inner = [Reply((Call("ask", {}, id=name),)) for name in "ab"]
    agent = make_agent(tasks, *inner, "painted", "painted", "done", tools=[DelegateTool(), ask], user=answers)
    asked: list[str] = []
    reported: dict[str, str] = {}

    async for event in agent.stream("go"):
        match event:
            case SubagentEvent(event=QuestionAsked(call_id=call_id)):
                asked.append(call_id)
                if len(asked) == 2:
                    for each in reversed(asked):
                        answers.answer(each, Answer("free_text", each))
            case SubagentEvent(event=ToolExecutionEnd(result=result)):
                reported[result.call_id] = result.text

    assert reported == {"a": "free_text:a", "b": "free_text:b"}


async def test_identical_requests_of_parallel_runs_are_distinguished(make_agent, answers):
    agent = make_agent("unused", tools=[asking_tool(Question("colour?"))], user=answers)
    branches = [ParallelVariant(scripted(Reply((Call("ask", {}, id=name),)), name)) for name in "ab"]
    asked: list[str] = []
    reported: dict[str, str] = {}

    def reply_once_both_ask(event) -> None:
        match event:
            case BranchEvent(event=QuestionAsked(call_id=call_id)):
                asked.append(call_id)
            case BranchEvent(event=ToolExecutionEnd(result=result)):
                reported[result.call_id] = result.text
        if len(asked) == 2:
            for each in (asked.pop(), asked.pop()):
                answers.answer(each, Answer("free_text", each))

    agent.subscribe(reply_once_both_ask)
    await run_parallel(agent, "go", branches)

    assert reported == {"a": "free_text:a", "b": "free_text:b"}


async def test_question_published_twice_is_shown_once(answers):
    question = Question("colour?")
    for call_id in "ab":
        reported = QuestionAsked(call_id=call_id, question=question)
        answers.observe(reported)
        answers.observe(BranchEvent(event=reported))

    asking = [asyncio.create_task(answers.ask(question)) for _ in range(2)]
    await until(lambda: len(answers.open) == 2)
    for call_id in "ba":
        answers.answer(call_id, Answer("free_text", call_id))

    assert [(await each).text for each in asking] == ["a", "b"]


async def test_stopped_run_leaves_no_pending_request(make_agent, record, answers):
    agent = make_agent(calls("edit"), tools=[SimpleTool("edit", risk="edit")], user=answers)
    recorder = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: answers.open)
    agent.abort()
    await run

    assert answers.open == ()
    with pytest.raises(NoPendingRequest):
        answers.respond("call_1", AllowOnce())
    assert recorder.of(ToolApprovalResolved)[0].reason == "the question was withdrawn"


async def test_unanswered_request_is_denied_on_timeout(make_agent, record):
    tools = [SimpleTool("edit", risk="edit"), asking_tool(Question("?")), planning_tool()]
    agent = make_agent(calls("edit", "ask", "submit_plan"), "done", tools=tools, user=PendingRequests(timeout=0.0))
    recorder = record(agent)

    await agent.prompt("go")

    assert tools[0].ran == []
    assert recorder.of(ToolApprovalResolved)[0].non_interactive
    assert recorder.of(QuestionAnswered)[0].answer == Answer("timed_out")
    assert agent.options.user.open == ()


async def test_question_has_its_own_timeout(answers):
    answer = await answers.ask(Question("?", (Choice("yes"),), timeout=0.0))

    assert answer == Answer("timed_out")


async def test_unreviewed_plan_is_rejected_on_timeout():
    verdict = await PendingRequests(timeout=0.0).review_plan(Plan("1. do it"))

    assert verdict == PlanDecision(accepted=False, non_interactive=True)


async def test_subagent_request_is_answered_by_its_own_call_id(make_agent, answers):
    edit, ask = SimpleTool("edit", risk="edit"), asking_tool(Question("colour?"))
    tools = [DelegateTool(), edit, ask]
    task = Reply((Call("delegate_subagent", {"task": "paint"}, id="outer"),))
    inner = Reply((Call("edit", {}, id="inner"), Call("ask", {}, id="colour")))
    agent = make_agent(task, inner, "painted", "done", tools=tools, user=answers)
    stream = agent.stream("go")

    async for event in stream:
        match event:
            case SubagentEvent(event=ToolApprovalRequested(call=call)):
                stream.respond(call.id, AllowOnce())
            case SubagentEvent(event=QuestionAsked(call_id=call_id)):
                stream.answer(call_id, Answer("free_text", "red"))

    assert edit.ran == [{}]
    assert len(ask.ran) == 1
    assert answers.open == ()


async def test_callback_answers_a_subagent_before_its_question_is_asked(make_agent, answers):
    edit, ask = SimpleTool("edit", risk="edit"), asking_tool(Question("colour?"))
    task = Reply((Call("delegate_subagent", {"task": "paint"}, id="outer"),))
    inner = Reply((Call("edit", {}, id="inner"), Call("ask", {}, id="colour")))
    agent = make_agent(task, inner, "painted", "done", tools=[DelegateTool(), edit, ask], user=answers)

    def reply(event) -> None:
        match event:
            case SubagentEvent(event=ToolApprovalRequested(call=call)):
                answers.respond(call.id, Denied("no"))
            case SubagentEvent(event=QuestionAsked(call_id=call_id)):
                answers.answer(call_id, Answer("skipped"))

    agent.subscribe(reply)
    await agent.prompt("go")

    assert edit.ran == []
    assert len(ask.ran) == 1
    assert answers.open == ()


async def test_older_of_two_calls_with_the_same_id_is_answered_first(answers):
    first = asyncio.create_task(answers.approve(request("1")))
    await until(lambda: len(answers.open) == 1)
    second = asyncio.create_task(answers.approve(request("1")))
    await until(lambda: len(answers.open) == 2)

    answers.respond("1", AllowOnce())
    answers.respond("1", Denied())

    assert (await first, await second) == (AllowOnce(), Denied())


def test_answer_for_a_finished_run_raises(answers):
    async def ask_and_be_forgotten() -> None:
        waiting = answers.approve(request("1"))
        asyncio.get_running_loop().call_soon(waiting.send, None)
        kept.append(waiting)
        await until(lambda: answers.open)

    kept = []
    asyncio.run(ask_and_be_forgotten())

    with pytest.raises(NoPendingRequest, match="ended"):
        answers.respond("1", AllowOnce())
    kept[0].close()
