from __future__ import annotations

import asyncio
from pathlib import Path

from fakes.family import cast, delegates, heard, inside, one
from fakes.people import ScriptedUser
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool

from harness.agent.policies import DenyList
from harness.approval.modes import EXECUTE, PLAN
from harness.approval.pending import PendingRequests
from harness.approval.store import RuleStore
from harness.events import (
    HookRan,
    ToolApprovalRequested,
    ToolApprovalResolved,
    ToolExecutionEnd,
)
from harness.messages import JsonObject
from harness.permissions import Rule
from harness.ports.hooks import Hooks
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.user_requests import AllowForSession, AllowOnce, Answer, Approval, ApprovalRequest, Question
from providers.demo import Call, Reply
from tools.ask import AskTool
from tools.delegate import DelegateTool
from tools.edit import EditTool
from tools.plan import PlanTool
from tools.read import ReadTool
from tools.write import WriteTool

BEGIN = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd"]
REPLY = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
RECEIVED = "ToolCallsReceived"
CALL = ["ToolExecutionStart", "ToolExecutionEnd"]
RESULT = ["MessageStart", "MessageEnd"]
REMINDER = ["MessageStart", "MessageEnd"]
PLANNING = "write_file is not available in plan mode, so it did not run. Only the user can end plan mode."
ASKED = ["ToolApprovalRequested", "ToolApprovalResolved"]


async def test_call_denied_by_the_user_does_not_run_in_a_subagent(make_agent, record, user):
    user.deny("not that")
    run = SimpleTool("run", risk="execute")
    agent = make_agent(model=one(calls("run", command="make"), "I could not."), tools=[DelegateTool(), run])
    seen = record(agent)

    await agent.prompt("go")

    assert heard(seen.events) == [
        *[*BEGIN, *REPLY, RECEIVED, *ASKED, *CALL, *RESULT, "TurnEnd", "TurnStart", *REPLY, "TurnEnd", "AgentEnd"],
    ]
    assert run.ran == []
    assert [request.label for request in user.asked] == ["Subagent dig: Run"]
    assert inside(seen.events, ToolExecutionEnd)[0].result.text == "The user denied this call: not that"


async def test_deny_rule_applies_in_a_subagent_with_approval_off(make_agent, user):
    run = SimpleTool("run", risk="execute")
    store = RuleStore(rules=[Rule("run", "git push:*", effect="deny")])
    script = one(calls("run", command="git push -f"), calls("run", command="git pull"), "done")
    agent = make_agent(model=script, tools=[DelegateTool(), run], approval="off", grants=store)

    await agent.prompt("go")

    assert run.ran == [{"command": "git pull"}]
    assert user.asked == []


async def test_delegation_itself_needs_no_approval(make_agent, user):
    agent = make_agent(model=one("done"), tools=[DelegateTool()], approval="on")

    await agent.prompt("go")

    assert user.asked == []
    assert [each.text for each in results_of(agent)] == ["done"]


async def test_request_names_all_ancestors_of_the_asking_subagent(make_agent, user):
    parts = {"go": [delegates("mid"), "ok"], "mid": [delegates("leaf"), "ok"]}
    leaf = [calls("run"), Reply((Call("ask_user", {"prompt": "Which?"}),)), "done"]
    tools = [DelegateTool(), SimpleTool("run", risk="execute"), AskTool()]
    agent = make_agent(model=cast({**parts, "leaf": leaf}), tools=tools)

    await agent.prompt("go")

    assert [request.label for request in user.asked] == ["Subagent mid: Subagent leaf: Run"]
    assert [question.asker for question in user.questions] == ["Subagent mid: Subagent leaf"]


async def test_forbidden_unknown_or_hook_denied_call_never_runs_at_any_depth(make_agent, record, user):
    bad, listed = SimpleTool("bad", risk="forbidden"), SimpleTool("listed")
    leaf = [calls("bad"), calls("listed"), calls("nothing"), "done"]
    parts = {"go": [delegates("mid"), "ok"], "mid": [delegates("leaf"), "done"], "leaf": leaf}
    tools = [DelegateTool(), bad, listed]
    agent = make_agent(model=cast(parts), tools=tools, approval="off", hooks=[DenyList("listed")])
    seen = record(agent)

    await agent.prompt("go")

    assert (bad.ran, listed.ran, user.asked) == ([], [], [])
    ends = inside(seen.events, ToolExecutionEnd, depth=2)
    assert [each.result.is_error for each in ends] == [True, True]
    assert ends[0].result.text.startswith("Forbidden")
    assert "unknown tool 'nothing'" in ends[1].result.text
    assert [each.outcome for each in inside(seen.events, HookRan, depth=2)] == ["blocked"]
    later = [*RESULT, "TurnEnd", "TurnStart", *REPLY]
    assert heard(seen.events, depth=2) == [
        *[
            *BEGIN,
            *REPLY,
            RECEIVED,
            *CALL,
            *later,
            RECEIVED,
            "HookRan",
            *later,
            RECEIVED,
            *CALL,
            *later,
            "TurnEnd",
            "AgentEnd",
        ],
    ]


async def test_subagent_cannot_write_in_plan_mode(make_agent, record, requests, tmp_path, user):
    script = [Reply((Call("write_file", {"path": "a.txt", "content": "x"}),)), "I may not."]
    agent = make_agent(model=one(*script), tools=[DelegateTool(), ReadTool(), WriteTool()], mode=PLAN, approval="off")
    seen = record(agent)

    await agent.prompt("go")

    assert [tool.name for tool in requests(agent)[1].tools] == ["delegate_subagent", "read_file", "write_file"]
    assert heard(seen.events) == [
        *BEGIN,
        *REMINDER,
        *REPLY,
        RECEIVED,
        *CALL,
        *RESULT,
        "TurnEnd",
        "TurnStart",
        *REPLY,
        "TurnEnd",
        "AgentEnd",
    ]
    (end,) = inside(seen.events, ToolExecutionEnd)
    assert end.result.text == PLANNING
    assert not (tmp_path / "a.txt").exists()


async def test_only_the_parent_can_submit_a_plan(make_agent, requests):
    agent = make_agent(model=one("done"), tools=[DelegateTool(), ReadTool(), PlanTool()], mode=PLAN)

    await agent.prompt("go")

    shown = [[tool.name for tool in request.tools] for request in requests(agent)]
    assert shown[:2] == [["delegate_subagent", "read_file", "submit_plan"], ["delegate_subagent", "read_file"]]


async def test_mode_and_approval_changes_apply_to_subagents_at_once(make_agent, requests):
    agent = make_agent()

    async def change(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        agent.set_mode(PLAN)
        return ToolOutput.text("changed")

    edit, tools = SimpleTool("edit", risk="edit"), [DelegateTool(), SimpleTool("change", change)]
    agent.state.model = one(calls("change"), calls("edit"), "done")
    agent.set_tools([*tools, edit])

    await agent.prompt("go")

    assert requests(agent)[2].tools == requests(agent)[1].tools
    assert edit.ran == []


async def test_tool_removed_from_the_parent_is_removed_from_subagents(make_agent, record):
    agent = make_agent()

    async def lose(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        agent.remove_tool("look")
        return ToolOutput.text("lost")

    look = SimpleTool("look")
    agent.state.model = one(calls("lose"), calls("look"), "done")
    agent.set_tools([DelegateTool(), SimpleTool("lose", lose), look])
    seen = record(agent)

    await agent.prompt("go")

    assert look.ran == []
    assert "unknown tool 'look'" in inside(seen.events, ToolExecutionEnd)[1].result.text


async def test_permission_granted_to_a_subagent_applies_to_the_tool(make_agent, user):
    user.approvals.append(AllowForSession())
    run = SimpleTool("run", risk="edit")
    model = cast({"go": [delegates("dig"), calls("run"), "ok"], "dig": [calls("run"), calls("run"), "done"]})
    agent = make_agent(model=model, tools=[DelegateTool(), run])

    await agent.prompt("go")

    assert len(run.ran) == 3
    assert len(user.asked) == 1


class BusyUser(ScriptedUser):
    """User that records requests made while another one is open."""

    def __init__(self) -> None:
        super().__init__()
        self.open = 0
        self.most = 0

    async def approve(self, request: ApprovalRequest) -> Approval:
        async with self:
            return await super().approve(request)

    async def ask(self, question: Question) -> Answer:
        async with self:
            return await super().ask(question)

    async def __aenter__(self) -> None:
        self.open += 1
        self.most = max(self.most, self.open)
        await asyncio.sleep(0)

    async def __aexit__(self, *error: object) -> None:
        self.open -= 1


async def test_concurrent_agents_ask_one_at_a_time(make_agent):
    user = BusyUser()
    asking = Reply((*delegates("a", "b", "c").parts, Call("ask_user", {"prompt": "Sure?"})))
    parts = {name: [calls("run"), "done"] for name in "abc"}
    tools = [DelegateTool(), SimpleTool("run", risk="execute"), AskTool()]
    agent = make_agent(model=cast({"go": [asking, "ok"], **parts}), tools=tools, user=user)

    await agent.prompt("go")

    assert len(user.asked) == 3
    assert user.most == 1


async def test_stream_consumer_answers_for_subagents(make_agent):
    run, heard_of = SimpleTool("run", risk="execute"), []
    agent = make_agent(model=one(calls("run"), "done"), tools=[DelegateTool(), run], user=PendingRequests())

    async with agent.stream("go") as stream:
        async for event in stream:
            for asked in inside([event], ToolApprovalRequested):
                stream.respond(asked.call.id, AllowOnce())
            heard_of.append(event)

    assert len(run.ran) == 1
    assert [each.decision for each in inside(heard_of, ToolApprovalResolved)] == ["once"]
    assert heard(heard_of) == [
        *[*BEGIN, *REPLY, RECEIVED, *ASKED, *CALL, *RESULT, "TurnEnd", "TurnStart", *REPLY, "TurnEnd", "AgentEnd"],
    ]


class Journal(Hooks):
    def __init__(self) -> None:
        self.notes: list[str] = []

    async def before_loop(self, messages, loop_index):
        self.notes.append("loop")

    async def before_turn(self, messages, turn):
        self.notes.append(f"turn {messages[0].text}")

    async def after_tool(self, call, result):
        self.notes.append(call.name)


async def test_parent_hooks_see_subagent_turns_and_calls_but_one_run(make_agent):
    hook = Journal()
    agent = make_agent(model=one(calls("look"), "done"), tools=[DelegateTool(), SimpleTool("look")], hooks=[hook])

    await agent.prompt("go")

    assert hook.notes == ["loop", "turn go", "turn dig", "look", "turn dig", "delegate_subagent", "turn go"]


async def test_files_read_by_a_subagent_do_not_count_as_read_by_its_parent(make_agent, tmp_path: Path):
    (tmp_path / "a.txt").write_text("old\n")
    read = Reply((Call("read_file", {"path": "a.txt"}),))
    edit = Reply((Call("edit_file", {"path": "a.txt", "old_string": "old", "new_string": "new"}),))
    model = cast({"go": [delegates("dig"), edit, read, edit, "ok"], "dig": [read, "It says old."]})
    tools = [DelegateTool(), ReadTool(), EditTool()]
    agent = make_agent(model=model, tools=tools, mode=EXECUTE, approval="off")

    await agent.prompt("go")

    assert "has not been read" in results_of(agent)[1].text
    assert (tmp_path / "a.txt").read_text() == "new\n"


class Lasting(SimpleTool):
    """Tool whose results stay valid until something changes."""

    def risk(self, arguments: JsonObject) -> Risk:
        return Risk("read", cacheable=True)


async def test_results_possibly_outdated_by_a_subagent_are_not_cached(make_agent):
    look = Lasting("look")
    parts = {"go": [calls("look"), calls("look"), delegates("dig"), calls("look"), "ok"]}
    agent = make_agent(model=cast({**parts, "dig": ["done"]}), tools=[DelegateTool(), look])

    await agent.prompt("go")

    assert len(look.ran) == 2


async def test_subagent_caches_no_result_another_agent_can_outdate(make_agent):
    look = Lasting("look")
    agent = make_agent(model=one(calls("look"), calls("look"), "done"), tools=[DelegateTool(), look])

    await agent.prompt("go")

    assert len(look.ran) == 2
