from __future__ import annotations

import asyncio

import pytest
from fakes.people import ScriptedPerson
from fakes.runs import calls, deeds, results_of
from fakes.simple_tools import SimpleTool

from harness.approval.pending import PendingRequests
from harness.events import ToolApprovalRequested, ToolApprovalResolved
from harness.messages import JsonObject
from harness.ports.interaction import (
    AllowAlways,
    AllowForSession,
    AllowHunks,
    AllowOnce,
    Approval,
    ApprovalDecision,
    ApprovalRequest,
    BatchApproval,
    CallApproval,
    Denied,
    ProposeRevision,
    RejectedHunk,
)
from harness.ports.tool import RiskLevel, ToolContext
from harness.views import TextView, View
from providers.demo import Call, Reply
from tools.write import WriteTool


class Decisive(ScriptedPerson):
    """Answers the first question with `first`, made of its request; then as it is told to."""

    def __init__(self, *first: ApprovalDecision | None) -> None:
        super().__init__()
        self.first = first

    async def approve(self, request: ApprovalRequest) -> Approval:
        if self.asked:
            return await super().approve(request)
        self.asked.append(request)
        said = zip((request, *request.others), self.first, strict=False)
        return BatchApproval(tuple(CallApproval(each.call.id, approval) for each, approval in said if approval))


def three(risk: RiskLevel = "edit") -> list[SimpleTool]:
    return [SimpleTool("a", risk="edit"), SimpleTool("b", risk=risk), SimpleTool("c", risk="edit")]


def ran(tools: list[SimpleTool]) -> list[str]:
    return [tool.name for tool in tools if tool.ran]


def asked(person: ScriptedPerson) -> list[str]:
    return [request.call.name for request in person.asked]


async def test_each_of_a_batch_is_asked_with_those_that_still_wait(make_agent, person):
    tools = [*three(), SimpleTool("look")]
    agent = make_agent(calls("a", "look", "b", "c"), "done", tools=tools)

    await agent.prompt("go")

    assert [(each.position, each.total) for each in person.asked] == [(1, 3), (2, 3), (3, 3)]
    assert [[other.call.name for other in each.others] for each in person.asked] == [["b", "c"], ["c"], []]
    assert [(each.position, each.total) for each in person.asked[0].others] == [(2, 3), (3, 3)]


async def test_all_are_allowed_by_one_answer_and_each_is_told_of(make_agent, record):
    person, tools = Decisive(AllowOnce(), AllowOnce(), AllowOnce()), three()
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=person)
    happened = record(agent)

    await agent.prompt("go")

    assert ran(tools) == ["a", "b", "c"]
    assert asked(person) == ["a"]
    assert deeds(happened.events)[:6] == ["request", "resolve", "request", "resolve", "request", "resolve"]
    assert [each.decision for each in happened.of(ToolApprovalResolved)] == ["once"] * 3


async def test_all_are_denied_by_one_answer(make_agent):
    person, tools = Decisive(Denied("no"), Denied("no"), Denied("no")), three("dangerous")
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=person)

    await agent.prompt("go")

    assert ran(tools) == []
    assert asked(person) == ["a"]
    assert [result.text for result in results_of(agent)] == ["The user denied this call: no"] * 3


async def test_what_is_dangerous_is_not_allowed_among_others(make_agent):
    person, tools = Decisive(AllowOnce(), AllowOnce(), AllowOnce()), three("dangerous")
    person.deny()
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=person)

    await agent.prompt("go")

    assert asked(person) == ["a", "b"]
    assert ran(tools) == ["a", "c"]


async def test_what_is_dangerous_may_be_allowed_by_itself_before_its_turn(make_agent):
    person, tools = Decisive(None, AllowOnce()), three("dangerous")
    person.approvals = [Denied(), Denied()]
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=person)

    await agent.prompt("go")

    assert asked(person) == ["a", "a", "c"]
    assert [(each.position, each.total) for each in person.asked] == [(1, 3), (1, 3), (3, 3)]
    assert ran(tools) == ["b"]


async def test_what_was_not_answered_is_asked_about(make_agent):
    person, tools = Decisive(None, None, Denied()), three()
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=person)

    await agent.prompt("go")

    assert asked(person) == ["a", "a", "b"]
    assert [each.call.name for each in person.asked[1].others] == ["b"]
    assert ran(tools) == ["a", "b"]


async def test_trust_given_to_another_spares_the_call_that_was_asked_about(make_agent, record):
    person, tool = Decisive(None, AllowForSession()), SimpleTool("a", risk="edit")
    agent = make_agent(calls("a", "a"), "done", tools=[tool], user=person)
    happened = record(agent)

    await agent.prompt("go")

    assert len(tool.ran) == 2
    assert len(person.asked) == 1
    assert agent.state.grants.trusted == {"a"}
    assert len(happened.of(ToolApprovalRequested)) == len(happened.of(ToolApprovalResolved)) == 1


async def test_a_rule_of_one_call_lets_those_it_covers_run_unasked(make_agent):
    person, tool = Decisive(None, AllowAlways()), SimpleTool("bash", risk="execute")
    batch = Reply((Call("bash", {"command": "git push"}), *calls("bash", "bash", command="make test").parts))
    agent = make_agent(batch, "done", tools=[tool], user=person)

    await agent.prompt("go")

    assert [each.call.arguments["command"] for each in person.asked] == ["git push", "git push"]
    assert len(tool.ran) == 3


class Moody(SimpleTool):
    """Shows another preview each time."""

    looks = 0

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View:
        self.looks += 1
        return TextView(f"look {self.looks}")


async def test_a_call_that_changed_since_it_was_allowed_is_asked_about(make_agent):
    person, tools = Decisive(AllowOnce(), AllowOnce()), [SimpleTool("a", risk="edit"), Moody("b", risk="edit")]
    person.deny()
    agent = make_agent(calls("a", "b"), "done", tools=tools, user=person)

    await agent.prompt("go")

    assert asked(person) == ["a", "b"]
    assert [each.view for each in person.asked] == [TextView("{}"), TextView("look 2")]
    assert ran(tools) == ["a"]


async def test_another_call_reworded_before_its_turn_is_asked_about_as_it_is_then(make_agent, tmp_path):
    person = Decisive(None, ProposeRevision("mine\n"))
    person.approvals = [AllowOnce(), Denied()]
    batch = Reply(tuple(Call("write_file", {"path": name, "content": "theirs\n"}) for name in ("a", "b")))
    agent = make_agent(batch, "done", tools=[WriteTool()], user=person)

    await agent.prompt("go")

    assert [(each.summary, each.is_revised) for each in person.asked] == [("a", False), ("a", False), ("b", True)]
    assert (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


async def test_an_answer_that_names_no_call_of_the_batch_runs_nothing(make_agent, person):
    tool = SimpleTool("a", risk="edit")
    person.approvals = [BatchApproval((CallApproval("of another reply", AllowOnce()),))]
    agent = make_agent(calls("a"), "done", tools=[tool])

    await agent.prompt("go")

    assert tool.ran == []
    assert "does not fit this call" in results_of(agent)[0].text


@pytest.mark.parametrize("answer", [AllowOnce(), AllowHunks((RejectedHunk(0),))])
async def test_a_single_answer_may_be_said_as_one_of_several(make_agent, answer: ApprovalDecision):
    person, tool = Decisive(answer), SimpleTool("a", risk="edit")
    agent = make_agent(calls("a"), "done", tools=[tool], user=person)

    await agent.prompt("go")

    assert len(tool.ran) == isinstance(answer, AllowOnce)


async def test_a_tool_that_fails_while_it_is_looked_at_ahead_is_judged_in_its_turn(make_agent, person):
    class Broken(SimpleTool):
        async def preview(self, arguments: JsonObject, context: ToolContext) -> View:
            raise RuntimeError("not today")

    tools = [SimpleTool("a", risk="edit"), Broken("b", risk="edit")]
    agent = make_agent(calls("a", "b"), "done", tools=tools)

    await agent.prompt("go")

    assert asked(person) == ["a"]
    assert person.asked[0].others == ()
    assert "not today" in results_of(agent)[1].text


async def test_a_program_answers_a_batch_by_the_ids_it_was_shown(make_agent):
    answers, tools = PendingRequests(), three()
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=answers)

    async with agent.stream("go") as stream:
        async for event in stream:
            if isinstance(event, ToolApprovalRequested) and event.call.name == "a":
                while not answers.open:
                    await asyncio.sleep(0)
                (waiting,) = answers.open
                assert isinstance(waiting.request, ApprovalRequest)
                batch = (waiting.request, *waiting.request.others)
                stream.respond(
                    event.call.id, BatchApproval(tuple(CallApproval(each.call.id, AllowOnce()) for each in batch))
                )

    assert ran(tools) == ["a", "b", "c"]
