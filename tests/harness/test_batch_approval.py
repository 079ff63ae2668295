from __future__ import annotations

import asyncio

import pytest
from fakes.people import ScriptedUser
from fakes.runs import calls, deeds, results_of
from fakes.simple_tools import SimpleTool

from harness.approval.pending import PendingRequests
from harness.events import ToolApprovalRequested, ToolApprovalResolved
from harness.messages import JsonObject
from harness.ports.tool import ToolContext
from harness.risk import RiskLevel
from harness.user_requests import (
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
from harness.views import TextView, View
from providers.demo import Call, Reply
from tools.write import WriteTool


class Decisive(ScriptedUser):
    """User that answers the first request with `first`, built from it; then as scripted."""

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


def asked(user: ScriptedUser) -> list[str]:
    return [request.call.name for request in user.asked]


async def test_each_call_of_a_batch_is_requested_with_the_pending_ones(make_agent, user):
    tools = [*three(), SimpleTool("look")]
    agent = make_agent(calls("a", "look", "b", "c"), "done", tools=tools)

    await agent.prompt("go")

    assert [(each.position, each.total) for each in user.asked] == [(1, 3), (2, 3), (3, 3)]
    assert [[other.call.name for other in each.others] for each in user.asked] == [["b", "c"], ["c"], []]
    assert [(each.position, each.total) for each in user.asked[0].others] == [(2, 3), (3, 3)]


async def test_one_answer_allows_all_calls_and_each_is_reported(make_agent, record):
    user, tools = Decisive(AllowOnce(), AllowOnce(), AllowOnce()), three()
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=user)
    happened = record(agent)

    await agent.prompt("go")

    assert ran(tools) == ["a", "b", "c"]
    assert asked(user) == ["a"]
    assert deeds(happened.events)[:6] == ["request", "resolve", "request", "resolve", "request", "resolve"]
    assert [each.decision for each in happened.of(ToolApprovalResolved)] == ["once"] * 3


async def test_one_answer_denies_all_calls(make_agent):
    user, tools = Decisive(Denied("no"), Denied("no"), Denied("no")), three("dangerous")
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=user)

    await agent.prompt("go")

    assert ran(tools) == []
    assert asked(user) == ["a"]
    assert [result.text for result in results_of(agent)] == ["The user denied this call: no"] * 3


async def test_dangerous_call_is_not_allowed_by_a_batch_approval(make_agent):
    user, tools = Decisive(AllowOnce(), AllowOnce(), AllowOnce()), three("dangerous")
    user.deny()
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=user)

    await agent.prompt("go")

    assert asked(user) == ["a", "b"]
    assert ran(tools) == ["a", "c"]


async def test_dangerous_call_can_be_allowed_individually_before_its_turn(make_agent):
    user, tools = Decisive(None, AllowOnce()), three("dangerous")
    user.approvals = [Denied(), Denied()]
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=user)

    await agent.prompt("go")

    assert asked(user) == ["a", "a", "c"]
    assert [(each.position, each.total) for each in user.asked] == [(1, 3), (1, 3), (3, 3)]
    assert ran(tools) == ["b"]


async def test_unanswered_calls_of_a_batch_are_requested_again(make_agent):
    user, tools = Decisive(None, None, Denied()), three()
    agent = make_agent(calls("a", "b", "c"), "done", tools=tools, user=user)

    await agent.prompt("go")

    assert asked(user) == ["a", "a", "b"]
    assert [each.call.name for each in user.asked[1].others] == ["b"]
    assert ran(tools) == ["a", "b"]


async def test_permission_granted_for_another_call_covers_the_pending_one(make_agent, record):
    user, tool = Decisive(None, AllowForSession()), SimpleTool("a", risk="edit")
    agent = make_agent(calls("a", "a"), "done", tools=[tool], user=user)
    happened = record(agent)

    await agent.prompt("go")

    assert len(tool.ran) == 2
    assert len(user.asked) == 1
    assert [str(rule) for rule in agent.state.permissions.store.session_rules] == ["a"]
    assert len(happened.of(ToolApprovalRequested)) == len(happened.of(ToolApprovalResolved)) == 1


async def test_rule_from_one_call_lets_covered_calls_run_without_asking(make_agent):
    user, tool = Decisive(None, AllowAlways()), SimpleTool("bash", risk="execute")
    batch = Reply((Call("bash", {"command": "git push"}), *calls("bash", "bash", command="make test").parts))
    agent = make_agent(batch, "done", tools=[tool], user=user)

    await agent.prompt("go")

    assert [each.call.arguments["command"] for each in user.asked] == ["git push", "git push"]
    assert len(tool.ran) == 3


class Moody(SimpleTool):
    """Tool that shows another preview each time."""

    looks = 0

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View:
        self.looks += 1
        return TextView(f"look {self.looks}")


async def test_call_changed_since_its_approval_needs_approval_again(make_agent):
    user, tools = Decisive(AllowOnce(), AllowOnce()), [SimpleTool("a", risk="edit"), Moody("b", risk="edit")]
    user.deny()
    agent = make_agent(calls("a", "b"), "done", tools=tools, user=user)

    await agent.prompt("go")

    assert asked(user) == ["a", "b"]
    assert [each.view for each in user.asked] == [TextView("{}"), TextView("look 2")]
    assert ran(tools) == ["a"]


async def test_call_revised_before_its_turn_is_shown_in_its_new_form(make_agent, tmp_path):
    user = Decisive(None, ProposeRevision("mine\n"))
    user.approvals = [AllowOnce(), Denied()]
    batch = Reply(tuple(Call("write_file", {"path": name, "content": "theirs\n"}) for name in ("a", "b")))
    agent = make_agent(batch, "done", tools=[WriteTool()], user=user)

    await agent.prompt("go")

    assert [(each.summary, each.is_revised) for each in user.asked] == [
        ("a", False),
        ("a", False),
        ("b", True),
    ]
    assert (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


async def test_answer_naming_no_call_of_the_batch_runs_nothing(make_agent, user):
    tool = SimpleTool("a", risk="edit")
    user.approvals = [BatchApproval((CallApproval("of another reply", AllowOnce()),))]
    agent = make_agent(calls("a"), "done", tools=[tool])

    await agent.prompt("go")

    assert tool.ran == []
    assert "does not fit this call" in results_of(agent)[0].text


@pytest.mark.parametrize("answer", [AllowOnce(), AllowHunks((RejectedHunk(0),))])
async def test_single_approval_is_accepted_for_a_batch(make_agent, answer: ApprovalDecision):
    user, tool = Decisive(answer), SimpleTool("a", risk="edit")
    agent = make_agent(calls("a"), "done", tools=[tool], user=user)

    await agent.prompt("go")

    assert len(tool.ran) == isinstance(answer, AllowOnce)


async def test_tool_failing_during_preview_is_assessed_in_its_turn(make_agent, user):
    class Broken(SimpleTool):
        async def preview(self, arguments: JsonObject, context: ToolContext) -> View:
            raise RuntimeError("not today")

    tools = [SimpleTool("a", risk="edit"), Broken("b", risk="edit")]
    agent = make_agent(calls("a", "b"), "done", tools=tools)

    await agent.prompt("go")

    assert asked(user) == ["a"]
    assert user.asked[0].others == ()
    assert "not today" in results_of(agent)[1].text


async def test_program_answers_a_batch_by_call_ids(make_agent):
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
