from __future__ import annotations

import asyncio

import pytest
from fakes.people import ScriptedUser
from fakes.runs import calls, deeds, results_of, steer_now, until
from fakes.simple_tools import SimpleTool

from harness.approval.modes import PLAN
from harness.events import QuestionAnswered, QuestionAsked, ToolExecutionEnd
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.user_requests import AllowOnce, Answer, Approval, ApprovalRequest, Plan, PlanDecision, Question
from providers.demo import Call, Reply
from tools import builtin_tools

ASK = Call("ask_user", {"prompt": "which colour?"})


class Absent(ScriptedUser):
    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        await asyncio.Event().wait()
        return Answer("skipped")


class OneEar(ScriptedUser):
    """User that takes a while over each question, and counts how many are open at once."""

    open = most = 0

    async def _think(self) -> None:
        self.open += 1
        self.most = max(self.most, self.open)
        for _ in range(10):
            await asyncio.sleep(0)
        self.open -= 1

    async def approve(self, request: ApprovalRequest) -> Approval:
        await self._think()
        return AllowOnce()

    async def ask(self, question: Question) -> Answer:
        await self._think()
        return Answer("free_text", question.prompt)

    async def review_plan(self, plan: Plan) -> PlanDecision:
        await self._think()
        return PlanDecision(accepted=True)


async def test_question_and_answer_are_published_with_the_call(make_agent, user, record):
    user.answers = [Answer("free_text", "blue")]
    agent = make_agent(Reply((ASK,)), "done", tools=builtin_tools())
    happened = record(agent)

    await agent.prompt("go")

    (asked,), (answered,) = happened.of(QuestionAsked), happened.of(QuestionAnswered)
    assert deeds(happened.events) == ["start ask_user", "ask ask_user", "answer ask_user", "end ask_user"]
    assert asked.question.prompt == "which colour?"
    assert answered.answer == Answer("free_text", "blue")
    assert asked.call_id == answered.call_id == results_of(agent)[0].call_id


FORM = Call("ask_user", {"questions": [{"prompt": "which?"}, {"prompt": "why?"}]})


async def test_user_interface_for_single_questions_is_asked_each_in_turn(make_agent, user, record):
    user.answers = [Answer("free_text", "blue"), Answer("skipped")]
    agent = make_agent(Reply((FORM,)), "done", tools=builtin_tools(), user=user)
    happened = record(agent)

    await agent.prompt("go")

    assert [question.prompt for question in user.questions] == ["which?", "why?"]
    assert [event.question.prompt for event in happened.of(QuestionAsked)] == ["which?", "why?"]
    assert [event.answer.status for event in happened.of(QuestionAnswered)] == ["free_text", "skipped"]


async def test_batched_questions_are_all_skipped_when_withdrawn(make_agent, record):
    user = Absent()
    agent = make_agent(Reply((FORM,)), "done", tools=builtin_tools(), user=user)
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: user.questions)
    agent.abort()
    await run

    assert [event.answer.status for event in happened.of(QuestionAnswered)] == ["skipped", "skipped"]


@pytest.mark.parametrize("how", ["abort", "steer"])
async def test_withdrawn_question_is_skipped(make_agent, record, how: str):
    user = Absent()
    agent = make_agent(Reply((ASK,)), "done", tools=builtin_tools(), user=user)
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: user.questions)
    agent.abort() if how == "abort" else steer_now(agent, "never mind")
    await run

    assert deeds(happened.events) == ["start ask_user", "ask ask_user", "answer ask_user", "fail ask_user"]
    assert happened.of(QuestionAnswered)[0].answer == Answer("skipped")


async def test_questions_of_several_calls_are_asked_one_at_a_time(make_agent, record):
    user = OneEar()
    batch = Reply((ASK, Call("submit_plan", {"plan": "1. paint"}), Call("ask_user", {"prompt": "how?"})))
    agent = make_agent(batch, "done", tools=builtin_tools(), user=user, mode=PLAN)
    happened = record(agent)

    await agent.prompt("go")

    wanted = ("QuestionAsked", "QuestionAnswered", "PlanSubmitted", "ModeChanged")
    assert user.most == 1
    assert [name for name in happened.names if name in wanted] == [
        "QuestionAsked",
        "QuestionAnswered",
        "PlanSubmitted",
        "ModeChanged",
        "QuestionAsked",
        "QuestionAnswered",
    ]
    assert not any(result.is_error for result in results_of(agent))


async def test_call_can_request_approval_itself(make_agent, user):
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput.text(type(await context.user.approve(user.asked[0])).__name__)

    agent = make_agent(calls("act"), "done", tools=[SimpleTool("act", work, risk="edit")])

    await agent.prompt("go")

    assert results_of(agent)[0].text == "AllowOnce"
    assert len(user.asked) == 2


async def test_end_event_names_the_subagent_run(make_agent, record):
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput((), child_run_id="child.sub.1")

    agent = make_agent(calls("hand_on"), "done", tools=[SimpleTool("hand_on", work)])
    happened = record(agent)

    await agent.prompt("go")

    assert [end.child_run_id for end in happened.of(ToolExecutionEnd)] == ["child.sub.1"]
