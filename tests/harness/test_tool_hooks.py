from __future__ import annotations

import asyncio

import pytest
from fakes.call_hooks import Acting, Watching
from fakes.people import ScriptedUser
from fakes.runs import calls, deeds, results_of, texts_of
from fakes.simple_tools import SimpleTool

from harness.approval.store import RuleStore
from harness.events import HookRan, ToolExecutionStart, TurnEnd
from harness.messages import JsonObject, ToolCall, ToolResult
from harness.permissions import Rule
from harness.ports.hooks import AllowCall, AskUser, Block, CallVerdict, Hooks, Inject, Modify
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.user_requests import AllowOnce, Approval, ApprovalRequest, Denied
from harness.views import TextView
from providers.demo import Call, Reply


def talker(name: str) -> SimpleTool:
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        context.update(TextView("half"))
        return ToolOutput.text("whole")

    return SimpleTool(name, work)


async def test_hooks_run_around_a_call_and_its_updates(make_agent):
    hook = Watching()
    agent = make_agent(calls("look"), "done", tools=[talker("look")], hooks=[hook])
    agent.subscribe(hook.see)

    await agent.prompt("go")

    assert hook.reported == [
        "before look",
        "ToolExecutionStart",
        "before update of look",
        "ToolExecutionUpdate",
        "after update of look",
        "ToolExecutionEnd",
        "after look: whole",
    ]


async def test_suppressed_update_is_not_published_and_the_tool_continues(make_agent):
    hook = Watching()
    hook.shows = False
    agent = make_agent(calls("look"), "done", tools=[talker("look")], hooks=[hook])
    agent.subscribe(hook.see)

    await agent.prompt("go")

    assert hook.reported == [
        "before look",
        "ToolExecutionStart",
        "before update of look",
        "ToolExecutionEnd",
        "after look: whole",
    ]


async def test_blocked_call_has_a_result_and_no_events(make_agent, record):
    hook = Watching({"change": Block("not on a Friday")})
    tools = [SimpleTool("look"), SimpleTool("change", risk="edit")]
    agent = make_agent(calls("look", "change"), "done", tools=tools, approval="off", hooks=[hook])
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["blocked change", "start look", "end look"]
    assert hook.reported == ["before look", "before change", "after look: look ran"]
    assert [(result.text, result.is_error) for result in results_of(agent)] == [
        ("look ran", False),
        ("not on a Friday", True),
    ]
    assert happened.of(HookRan)[0].result == results_of(agent)[1]
    assert list(happened.of(TurnEnd)[0].results) == results_of(agent)
    assert not tools[1].ran


async def test_hooks_run_before_the_approval_and_receive_every_outcome(make_agent, user, record):
    hook = Watching()
    user.deny("no")
    tools = [SimpleTool("change", risk="edit"), SimpleTool("look", required=("path",)), SimpleTool("see")]
    agent = make_agent(calls("change", "look", "nothing", "see"), "done", tools=tools, hooks=[hook])
    agent.subscribe(hook.see)

    await agent.prompt("go")

    ended = ["ToolExecutionStart", "ToolExecutionEnd"]
    assert [reported.partition(":")[0] for reported in hook.reported] == [
        "before change",
        *ended,
        "after change",
        *ended,
        "after look",
        *ended,
        "after nothing",
        "before see",
        *ended,
        "after see",
    ]


@pytest.mark.parametrize(
    ("verdict", "approval", "wanted"),
    [
        (AllowCall("checked"), "smart", ["allowed", "start act", "end act"]),
        (AllowCall(), "on", ["allowed", "start act", "end act"]),
        (AskUser("look twice"), "off", ["asked", "request", "resolve", "start act", "end act"]),
        (Block("no"), "off", ["blocked act"]),
        (Modify({"path": "b"}), "smart", ["modified", "request", "resolve", "start act", "end act"]),
        (Modify({"path": "b"}), "off", ["modified", "start act", "end act"]),
    ],
)
async def test_hook_decides_before_the_user_is_asked(*, make_agent, user, record, verdict, approval, wanted):
    tool = SimpleTool("act", risk="edit")
    user.approvals = [AllowOnce()]
    agent = make_agent(
        calls("act", path="a"), "done", tools=[tool], approval=approval, hooks=[Watching({"act": verdict})]
    )
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == wanted
    assert [request.decision.why for request in user.asked] == ["look twice"] * isinstance(verdict, AskUser) + [
        "it changes files"
    ] * (wanted[:2] == ["modified", "request"])


async def test_denied_call_reaches_neither_hooks_nor_the_user(make_agent, user, record):
    hook = Watching({"act": AllowCall()})
    store = RuleStore(rules=[Rule("act", effect="deny")])
    agent = make_agent(calls("act"), "done", tools=[SimpleTool("act")], approval="off", grants=store, hooks=[hook])

    await agent.prompt("go")

    assert (hook.reported, user.asked) == (["after act: " + results_of(agent)[0].text], [])
    assert results_of(agent)[0].text.startswith("This call is denied: the rule act denies it.")


async def test_hook_cannot_allow_a_dangerous_call(make_agent, user, record):
    tool = SimpleTool("act", risk="dangerous")
    agent = make_agent(calls("act"), "done", tools=[tool], hooks=[Watching({"act": AllowCall()})])

    await agent.prompt("go")

    assert [request.call.name for request in user.asked] == ["act"]


async def test_hook_that_asks_outweighs_one_that_allows(make_agent, user, record):
    hooks = [Watching({"act": AskUser("first")}), Watching({"act": AllowCall()})]
    agent = make_agent(calls("act"), "done", tools=[SimpleTool("act")], approval="off", hooks=hooks)

    await agent.prompt("go")

    assert [request.decision.why for request in user.asked] == ["first"]


async def test_rule_that_denies_changed_arguments_applies(make_agent, user, record):
    tool = SimpleTool("act", risk="edit")
    store = RuleStore(rules=[Rule("act", "secret", effect="deny")])
    hooks = [Watching({"act": Modify({"path": "secret"})})]
    agent = make_agent(calls("act", path="a"), "done", tools=[tool], approval="off", grants=store, hooks=hooks)

    await agent.prompt("go")

    assert not tool.ran
    assert "the rule act(secret) denies it" in results_of(agent)[0].text


async def test_changed_arguments_are_used_and_reported_to_the_model(make_agent, record):
    tool = SimpleTool("look")
    agent = make_agent(calls("look", a="1"), "done", tools=[tool], hooks=[Watching({"look": Modify({"a": "2"})})])
    happened = record(agent)

    await agent.prompt("go")

    assert tool.ran == [{"a": "2"}]
    assert deeds(happened.events) == ["modified", "start look", "end look"]
    assert happened.of(ToolExecutionStart)[0].call.arguments == {"a": "2"}
    assert happened.of(ToolExecutionStart)[0].summary == "2"
    assert (
        results_of(agent)[0].text
        == 'A hook of this program changed the arguments before the call ran: {"a": "2"}\nlook ran'
    )


async def test_changed_arguments_must_match_the_schema(make_agent, record):
    tool = SimpleTool("look", required=("path",))
    agent = make_agent(calls("look", path="a"), "done", tools=[tool], hooks=[Watching({"look": Modify({})})])
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["modified", "start look", "fail look"]
    assert results_of(agent)[0].text == "look needs path"
    assert not tool.ran


class Judging(SimpleTool):
    """Tool whose risk is its argument `risk`."""

    def risk(self, arguments: JsonObject) -> Risk:
        return Risk(str(arguments["risk"]))


@pytest.mark.parametrize(
    ("risk", "answer", "wanted"),
    [
        ("edit", AllowOnce(), ["modified", "request", "resolve", "start act", "end act"]),
        ("edit", Denied("no"), ["modified", "request", "resolve", "start act", "fail act"]),
        ("forbidden", AllowOnce(), ["modified", "start act", "fail act"]),
    ],
)
async def test_changed_arguments_need_approval_like_any_others(
    *, make_agent, user, record, risk: str, answer: Approval, wanted: list[str]
):
    tool = Judging("act")
    user.approvals = [answer]
    agent = make_agent(
        calls("act", risk="read"), "done", tools=[tool], hooks=[Watching({"act": Modify({"risk": risk})})]
    )
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == wanted
    assert bool(tool.ran) == (wanted[-1] == "end act")
    assert [request.call.arguments for request in user.asked] == [{"risk": risk}] * (risk == "edit")


async def test_requests_about_changed_calls_are_asked_one_at_a_time(make_agent, record):
    class Slow(ScriptedUser):
        open = most = 0

        async def approve(self, request: ApprovalRequest) -> Approval:
            self.open += 1
            self.most = max(self.most, self.open)
            for _ in range(10):
                await asyncio.sleep(0)
            self.open -= 1
            return AllowOnce()

    user = Slow()
    verdict = Modify({"risk": "edit", "path": "x"})
    tools = [Judging("one"), Judging("two")]
    agent = make_agent(
        calls("one", "two", risk="read"),
        "done",
        tools=tools,
        user=user,
        hooks=[Watching({"one": verdict, "two": verdict})],
    )
    happened = record(agent)

    await agent.prompt("go")

    assert user.most == 1
    assert [each for each in deeds(happened.events) if "re" in each[:2]] == ["request", "resolve"] * 2
    assert all(tool.ran for tool in tools)


async def test_message_injected_by_a_tool_hook_is_sent_in_the_next_turn(make_agent, record):
    agent = make_agent(
        calls("look"), "done", tools=[SimpleTool("look")], hooks=[Watching({"look": Inject("by the way")})]
    )
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["injected", "start look", "end look"]
    assert texts_of(agent) == ["go", "by the way"]


async def test_hook_failing_before_a_call_blocks_it(make_agent, record):
    async def fail(call: ToolCall) -> CallVerdict:
        raise RuntimeError("a bug")

    tool = SimpleTool("look")
    agent = make_agent(calls("look"), "done", tools=[tool], hooks=[Acting(fail)])
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["failed", "blocked look"]
    assert results_of(agent)[0].text == "A hook failed, so the call did not run: a bug"
    assert not tool.ran


async def test_hook_failing_after_a_call_changes_nothing(make_agent, record):
    async def fail(call: ToolCall) -> None:
        raise RuntimeError("a bug")

    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look")], hooks=[Acting(after=fail)])
    happened = record(agent)

    result = await agent.prompt("go")

    assert deeds(happened.events) == ["start look", "end look", "failed"]
    assert result.text == "done"


async def test_hook_after_a_call_ends_before_the_next_conflicting_call_starts(make_agent, record):
    seen = []

    async def formatting(call: ToolCall) -> None:
        seen.append(f"begins after {call.name}")
        await asyncio.sleep(0)
        seen.append(f"ends after {call.name}")

    async def look(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        seen.append("looks")
        return ToolOutput.text("seen")

    tools = [SimpleTool("change", risk="edit"), SimpleTool("look", look)]
    both = Reply((Call("change", {"path": "a"}), Call("look", {"path": "a"})))
    agent = make_agent(both, "done", tools=tools, approval="off", hooks=[Acting(after=formatting)])

    await agent.prompt("go")

    assert seen[:3] == ["begins after change", "ends after change", "looks"]


class Commenting(Hooks):
    async def after_tool(self, call: ToolCall, result: ToolResult) -> Inject:
        return Inject(f"{call.name} said: {result.text}")


async def test_message_of_a_hook_after_a_call_follows_the_results(make_agent):
    agent = make_agent(calls("look", "listen"), "done", tools=[talker("look"), talker("listen")], hooks=[Commenting()])

    await agent.prompt("go")

    assert texts_of(agent) == ["go", "look said: whole", "listen said: whole"]


async def test_hook_changes_and_allows_a_call_at_once(make_agent, user):
    answer = [Modify({"path": "b"}), AllowCall("checked"), Inject("It was changed.")]
    tool = SimpleTool("change", risk="edit")
    agent = make_agent(calls("change", path="a"), "done", tools=[tool], hooks=[Watching({"change": answer})])

    await agent.prompt("go")

    assert user.asked == []
    assert tool.ran == [{"path": "b"}]
    assert texts_of(agent) == ["go", "It was changed."]


async def test_block_outweighs_other_verdicts_of_the_same_hook(make_agent):
    answer = [AllowCall(), Modify({"path": "b"}), Block("no")]
    tool = SimpleTool("change", risk="edit")
    agent = make_agent(calls("change", path="a"), "done", tools=[tool], hooks=[Watching({"change": answer})])

    await agent.prompt("go")

    assert [(each.text, each.is_error) for each in results_of(agent)] == [("no", True)]
