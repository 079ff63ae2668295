from __future__ import annotations

from fakes.family import cast, delegates
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool

from harness.agent.agent import Agent
from harness.approval.modes import EXECUTE, PLAN
from harness.approval.store import RuleStore
from harness.events import (
    ModeChanged,
    Notice,
    PlanSubmitted,
    ToolApprovalRequested,
    ToolApprovalResolved,
    ToolExecutionEnd,
)
from harness.permissions import Rule
from harness.ports.tool import ToolOutput
from harness.user_requests import (
    AllowAlways,
    AllowForSession,
    AllowOnce,
    AllowWithArguments,
    Denied,
    Plan,
    PlanDecision,
)
from providers.demo import Reply
from tools.delegate import DelegateTool
from tools.shell.analysis import analyze


async def test_reading_is_allowed_and_writing_needs_approval(make_agent, user):
    tools = [SimpleTool("read"), SimpleTool("write", risk="edit")]
    agent = make_agent(calls("read", "write"), "done", tools=tools)

    await agent.prompt("go")

    assert [request.call.name for request in user.asked] == ["write"]
    assert tools[1].ran == [{}]


async def test_denied_call_never_runs_and_its_reason_reaches_the_model(make_agent, user, record):
    tool = SimpleTool("write", risk="edit")
    agent = make_agent(calls("write"), "done", tools=[tool])
    happened = record(agent)
    user.deny("use the other file")

    await agent.prompt("go")

    assert tool.ran == []
    (result,) = results_of(agent)
    assert result.is_error
    assert result.text == "The user denied this call: use the other file"
    wanted = ("ToolApprovalRequested", "ToolApprovalResolved", "ToolExecutionStart", "ToolExecutionEnd")
    assert [name for name in happened.names if name in wanted] == list(wanted)


async def test_session_permission_covers_the_tool_and_can_be_revoked(make_agent, user):
    tool = SimpleTool("change", risk="edit")
    agent = make_agent(calls("change"), calls("change"), "done", calls("change"), "done", tools=[tool])
    user.approvals = [AllowForSession()]

    await agent.prompt("go")
    asked_before = len(user.asked)
    agent.state.permissions.store.remove(Rule("change"))
    await agent.prompt("again")

    assert asked_before == 1
    assert len(user.asked) == 2


def session_rules(agent: Agent) -> list[str]:
    return [str(rule) for rule in agent.state.permissions.store.session_rules]


class Shell(SimpleTool):
    """Tool that assesses commands like bash without running any."""

    def risk(self, arguments):
        return analyze(arguments["command"]).risk


def shell_script(*commands: str) -> list[Reply]:
    return [calls("bash", command=command) for command in commands]


async def test_session_grant_of_a_command_covers_its_prefix_and_no_other_command(make_agent, user):
    asked = ("make test", "git push origin master", "npm run x && make test", "python -c 'print(1)'", "sudo make")
    spared = ("make test -j4", "cd src && make test | head; npm run x", "python -c 'print(1)'", "ls")
    agent = make_agent(*shell_script(*asked, *spared), "done", tools=[Shell("bash")])
    user.approvals = [AllowForSession(), AllowOnce(), AllowForSession(), AllowForSession(), AllowForSession()]

    await agent.prompt("go")

    assert [request.call.arguments["command"] for request in user.asked] == list(asked)
    assert session_rules(agent) == ["bash(make test:*)", "bash(npm run x:*)", "bash(=python -c 'print(1)')"]


async def test_session_grant_covers_subagents_by_the_same_prefix(make_agent, user):
    user.approvals = [AllowForSession(), Denied()]
    script = {"go": [delegates("dig"), "ok"], "dig": [*shell_script("make a", "make a b", "git push"), "done"]}
    agent = make_agent(model=cast(script), tools=[DelegateTool(), Shell("bash")])

    await agent.prompt("go")

    assert [request.call.arguments["command"] for request in user.asked] == ["make a", "git push"]
    assert session_rules(agent) == ["bash(make a:*)"]


async def test_plan_mode_runs_commands_that_only_read_and_no_others(make_agent, user):
    shell = Shell("bash")
    shell.mutates = "by_call"
    agent = make_agent(*shell_script("ls | wc -l", "make test"), "done", tools=[shell], mode=PLAN)

    await agent.prompt("go")

    assert user.asked == []
    assert [result.is_error for result in results_of(agent)] == [False, True]


async def test_smart_mode_asks_for_commands_unless_they_only_read(make_agent, user):
    commands = ("ls | wc -l", "git diff", "make test", "cat /etc/passwd", "cat .env")
    agent = make_agent(*shell_script(*commands), "done", tools=[Shell("bash")])

    await agent.prompt("go")

    assert [request.call.arguments["command"] for request in user.asked] == list(commands[2:])


async def test_accepting_a_plan_with_its_edits_allows_edits_and_still_asks_for_commands(make_agent, user):
    write, run = SimpleTool("write", risk="edit"), SimpleTool("run", risk="execute")
    tools = [write, run, SimpleTool("submit_plan", submit, risk="none")]
    agent = make_agent(calls("submit_plan"), calls("write", "run"), "done", tools=tools, mode=PLAN)
    user.verdicts = [PlanDecision(accepted=True, allow_edits=True)]

    await agent.prompt("go")

    assert [request.call.name for request in user.asked] == ["run"]
    assert write.ran == [{}]


async def test_rule_covers_only_commands_with_the_same_prefix(make_agent, user):
    tool = SimpleTool("bash", risk="execute")
    script = [calls("bash", command=command) for command in ("git status", "git status", "git push")]
    agent = make_agent(*script, "done", tools=[tool])
    user.approvals = [AllowAlways()]

    await agent.prompt("go")

    assert [request.call.arguments["command"] for request in user.asked] == ["git status", "git push"]


async def test_all_tools_of_a_server_can_be_allowed_and_no_others(make_agent, user):
    names = ("mcp__shop__pay", "mcp__shop__refund", "mcp__bank__pay")
    tools = [SimpleTool(name, risk="execute") for name in names]
    agent = make_agent(*map(calls, names), "done", tools=tools)
    user.approvals = [AllowAlways(server=True)]

    await agent.prompt("go")

    assert [request.call.name for request in user.asked] == ["mcp__shop__pay", "mcp__bank__pay"]
    assert [request.server_rule for request in user.asked] == ["mcp__shop", "mcp__bank"]


async def test_server_approval_of_another_tool_stores_nothing(make_agent, user):
    agent = make_agent(calls("pay"), calls("pay"), "done", tools=[SimpleTool("pay", risk="execute")])
    user.approvals = [AllowAlways(server=True)]

    await agent.prompt("go")

    assert [request.server_rule for request in user.asked] == ["", ""]


async def test_rule_that_cannot_be_stored_is_reported_and_applies_to_the_session(make_agent, user, record, tmp_path):
    (tmp_path / "file").write_text("")
    tool = SimpleTool("bash", risk="execute")
    script = [calls("bash", command="git status")] * 2
    agent = make_agent(*script, "done", tools=[tool], grants=RuleStore(tmp_path / "file" / "rules.json"))
    happened = record(agent)
    user.approvals = [AllowAlways()]

    await agent.prompt("go")

    assert len(user.asked) == 1
    assert [(each.level, "could not be stored" in each.text) for each in happened.of(Notice)] == [("warning", True)]


async def test_approvals_are_requested_in_call_order_before_anything_runs(make_agent, user):
    tools = [SimpleTool("first", risk="edit"), SimpleTool("second", risk="edit")]
    agent = make_agent(calls("first", "second"), "done", tools=tools)
    seen = []
    agent.subscribe(lambda event: seen.append(type(event).__name__))

    await agent.prompt("go")

    assert [request.call.name for request in user.asked] == ["first", "second"]
    assert seen.index("ToolExecutionStart") > max(i for i, name in enumerate(seen) if name == "ToolApprovalResolved")


async def test_dangerous_call_needs_approval_even_when_trusted(make_agent, user):
    tool = SimpleTool("bash", risk="dangerous")
    agent = make_agent(calls("bash"), calls("bash"), "done", tools=[tool])
    agent.state.permissions.store.add(Rule("bash"))
    user.approvals = [AllowForSession()]

    await agent.prompt("go")

    assert len(user.asked) == 2
    assert user.asked[0].session == ()
    assert user.asked[0].rule == ""


async def test_forbidden_call_never_runs_even_with_approval_off(make_agent, user):
    tool = SimpleTool("bash", risk="forbidden")
    agent = make_agent(calls("bash"), "done", tools=[tool], approval="off")

    await agent.prompt("go")

    assert tool.ran == []
    assert user.asked == []


async def test_reading_needs_approval_with_approval_on(make_agent, user):
    agent = make_agent(calls("read"), "done", tools=[SimpleTool("read")], approval="on")

    await agent.prompt("go")

    assert [request.call.name for request in user.asked] == ["read"]


async def test_impossible_call_is_answered_without_asking(make_agent, user):
    class Hopeless(SimpleTool):
        async def preview(self, arguments, context):
            return ToolOutput.failure("old_string is not in the file")

    agent = make_agent(calls("edit"), "done", tools=[Hopeless("edit", risk="edit")])

    await agent.prompt("go")

    assert user.asked == []
    assert results_of(agent)[0].text == "old_string is not in the file"


async def test_arguments_edited_by_the_user_are_used_and_reported_to_the_model(make_agent, user):
    tool = SimpleTool("bash", risk="execute")
    agent = make_agent(calls("bash", command="ls /"), "done", tools=[tool])
    user.approvals = [AllowWithArguments({"command": "ls"})]

    await agent.prompt("go")

    assert tool.ran == [{"command": "ls"}]
    assert "changed the arguments" in results_of(agent)[0].text


async def test_plan_mode_declares_all_tools_and_refuses_mutating_ones(make_agent, user, requests):
    write, plan = SimpleTool("write", risk="edit"), SimpleTool("submit_plan", risk="none")
    agent = make_agent(calls("write"), "done", tools=[SimpleTool("read"), write, plan], mode=PLAN, approval="off")

    await agent.prompt("go")

    assert [tool.name for tool in requests(agent)[0].tools] == ["read", "write", "submit_plan"]
    assert write.ran == []
    assert user.asked == []
    assert results_of(agent)[0].text.startswith("write is not available in plan mode, so it did not run.")


async def submit(arguments, context) -> ToolOutput:
    verdict = await context.propose_plan(Plan("1. do it"))
    return ToolOutput.text("accepted" if verdict.accepted else f"revise: {verdict.feedback}")


async def test_accepted_plan_allows_mutating_tools(make_agent, user, record, requests):
    tools = [SimpleTool("write", risk="edit"), SimpleTool("submit_plan", submit, risk="none")]
    agent = make_agent(calls("submit_plan"), calls("write"), "done", tools=tools, mode=PLAN)
    happened = record(agent)

    await agent.prompt("go")

    assert [event.plan for event in happened.of(PlanSubmitted)] == ["1. do it"]
    assert [event.mode for event in happened.of(ModeChanged)] == ["execute"]
    assert requests(agent)[1].tools == requests(agent)[0].tools
    assert tools[0].ran == [{}]


async def test_rejected_plan_stays_in_plan_mode(make_agent, user, record):
    tools = [SimpleTool("submit_plan", submit, risk="none")]
    agent = make_agent(calls("submit_plan"), "done", tools=tools, mode=PLAN)
    happened = record(agent)
    user.verdicts = [PlanDecision(accepted=False, feedback="smaller steps")]

    await agent.prompt("go")

    assert agent.state.mode is PLAN
    assert happened.of(ModeChanged) == []
    assert results_of(agent)[0].text == "revise: smaller steps"


async def test_calls_next_to_an_accepted_plan_are_still_blocked(make_agent, user):
    write = SimpleTool("write", risk="edit")
    tools = [write, SimpleTool("submit_plan", submit, risk="none")]
    agent = make_agent(calls("submit_plan", "write"), "done", tools=tools, mode=PLAN, approval="off")

    await agent.prompt("go")

    assert write.ran == []
    assert agent.state.mode is EXECUTE


async def test_non_interactive_user_allows_nothing_and_is_marked_as_such(make_agent, record):
    from harness.ports.interaction import NonInteractive

    tool = SimpleTool("write", risk="edit")
    agent = make_agent(calls("write"), "done", tools=[tool], user=NonInteractive())
    happened = record(agent)

    await agent.prompt("go")

    assert tool.ran == []
    assert [event.non_interactive for event in happened.of(ToolApprovalResolved)] == [True]
    assert len(happened.of(ToolApprovalRequested)) == len(happened.of(ToolExecutionEnd)) == 1
