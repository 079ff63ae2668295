"""Tools that the service of the model runs itself: where they are offered, by modes, rules, hooks and the user."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fakes.people import ScriptedUser
from msgspec.structs import replace

from cinch_tui.permissions import HeadlessApproval
from harness import Block, Hooks, ToolCall
from harness.agent.agent import Agent
from harness.agent.hosted_tools import request_specs
from harness.agent.options import AgentOptions
from harness.agent.policies import DenyList, LoopDetection
from harness.agent.subagents.limits import InheritedHooks
from harness.approval.interactions import AttributedInteraction
from harness.approval.modes import EXECUTE, PLAN, ApprovalMode
from harness.approval.policy import FunctionPolicy, Permissions
from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore
from harness.permissions import Effect
from harness.ports.interaction import NonInteractive, UserInteraction
from harness.ports.provider import Hosting, Request
from providers.demo import scripted
from tools import builtin_tools
from tools.web.options import WebOptions

MODEL = replace(scripted(), native_search=True)
USER = ScriptedUser()


def permissions(approval: ApprovalMode = "smart", *rules: tuple[Effect, str]) -> Permissions:
    return Permissions(EXECUTE, approval, RuleStore(rules=[parse_rule(text, effect) for effect, text in rules]))


def hosting(given: Permissions, user: UserInteraction = USER, hooks: Sequence[Hooks] = ()) -> dict[str, Hosting]:
    tools = builtin_tools(web=WebOptions(service="brave", hosting="preferred"))
    return {spec.name: spec.hosting for spec in request_specs(tools, MODEL, given, user, hooks)}


def is_hosted(given: Permissions, user: UserInteraction = USER, hooks: Sequence[Hooks] = ()) -> bool:
    return hosting(given, user, hooks)["web_search"] == "preferred"


@pytest.mark.parametrize(
    ("rules", "approval", "expected"),
    [
        ([], "smart", True),
        ([], "off", True),
        ([], "on", False),
        ([("allow", "web_search")], "smart", True),
        ([("ask", "web_search")], "smart", False),
        ([("deny", "web_*")], "off", False),
        ([("deny", "read")], "off", False),
        ([("deny", "read(secrets/**)"), ("ask", "bash")], "smart", True),
    ],
)
def test_service_searches_only_if_no_mode_or_rule_asks_about_single_searches(
    rules: list[tuple[Effect, str]], approval: ApprovalMode, expected: bool
) -> None:
    found = hosting(permissions(approval, *rules))

    assert found["web_search"] == ("preferred" if expected else "")
    assert found["web_fetch"] == ""


def test_rule_that_is_added_later_applies_to_the_next_request() -> None:
    given = permissions()
    assert is_hosted(given)

    given.store.add(parse_rule("web_search", "deny"))

    assert not is_hosted(given)


def test_service_searches_in_plan_mode_like_any_tool_that_reads() -> None:
    assert is_hosted(replace(permissions(), mode=PLAN))
    assert not is_hosted(replace(permissions(), mode=replace(PLAN, allows=lambda tool: tool.name == "read_file")))


def test_service_never_searches_past_a_policy_of_the_program() -> None:
    assert not is_hosted(replace(permissions(), policy=FunctionPolicy(lambda call, risk: "allow")))


@pytest.mark.parametrize(
    ("rules", "approval", "expected"),
    [
        ([], "smart", False),
        ([], "edits", False),
        ([], "off", True),
        ([("allow", "web_search")], "smart", True),
        ([("allow", "web_*")], "smart", True),
        ([("allow", "read")], "smart", False),
        ([("allow", "web_search"), ("deny", "web_search")], "smart", False),
    ],
)
def test_without_a_user_the_service_searches_only_where_every_search_is_allowed(
    rules: list[tuple[Effect, str]], approval: ApprovalMode, expected: bool
) -> None:
    given = permissions(approval, *rules)

    assert is_hosted(given, NonInteractive()) is expected
    assert is_hosted(given, AttributedInteraction(NonInteractive(), "explorer")) is expected


def test_service_searches_without_a_user_who_allows_every_call() -> None:
    assert is_hosted(permissions(), HeadlessApproval())


class Reviewing(Hooks):
    async def before_tool(self, call: ToolCall) -> Block | None:
        return Block("not here")


class ReviewingCommands(Reviewing):
    def reviews(self, tool_name: str) -> bool:
        return tool_name == "bash"


def test_service_never_searches_past_a_hook_that_decides_about_searches() -> None:
    assert not is_hosted(permissions(), hooks=[Hooks(), Reviewing()])
    assert not is_hosted(permissions(), hooks=[InheritedHooks(Reviewing())])
    assert not is_hosted(permissions(), hooks=[DenyList("web_*")])
    assert is_hosted(permissions(), hooks=[Hooks(), ReviewingCommands(), DenyList("bash"), LoopDetection()])


class Sent(Hooks):
    def __init__(self) -> None:
        self.hosting: list[list[Hosting]] = []

    async def before_model(self, request: Request) -> Request:
        self.hosting.append([tool.hosting for tool in request.tools if tool.name == "web_search"])
        return request


async def test_requests_of_runs_and_side_questions_follow_the_same_rules() -> None:
    sent = Sent()
    tools = builtin_tools(web=WebOptions(hosting="only"))
    options = AgentOptions(user=USER, hooks=[sent, ReviewingCommands()])
    allowed = Agent(MODEL, tools, "Be brief.", options)
    reviewed = Agent(MODEL, tools, "Be brief.", replace(options, hooks=[sent, Reviewing()]))

    for agent in (allowed, reviewed):
        await agent.prompt("Go")
        await agent.ask_side_question("Why?")

    assert sent.hosting == [["only"], ["only"], [], []]


def test_tool_that_only_the_service_runs_is_not_declared_to_others() -> None:
    tools = builtin_tools(web=WebOptions(hosting="only"))

    assert "web_search" in [tool.name for tool in tools]
    assert "web_search" not in [spec.name for spec in request_specs(tools, scripted(), permissions(), USER, ())]
