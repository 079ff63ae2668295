from __future__ import annotations

from pathlib import Path

import pytest

from harness.approval.modes import EXECUTE
from harness.approval.policy import Permissions, RulePolicy
from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore
from harness.messages import JsonObject, ToolCall
from harness.permissions import Decision, Effect
from harness.ports.permission_policy import CallFacts
from harness.workspace.workspace import Workspace
from tools.mcp.host import McpHost
from tools.mcp.resources import ReadResourceTool
from tools.mcp.servers import McpServers


def decide(server: str, effect: Effect = "allow", *rules: str) -> Decision:
    tool = ReadResourceTool(McpServers([], McpHost(Path("/work"), Path("/work"))))
    arguments: JsonObject = {"server": server, "uri": "repo://x"}
    risk = tool.risk(arguments)
    store = RuleStore(rules=[parse_rule(each, effect) for each in rules])
    call = CallFacts(tool, ToolCall("1", tool.name, arguments), arguments, risk, Workspace(Path("/work")))
    return RulePolicy(store, Permissions(EXECUTE, "smart", store)).decide(call, risk)


@pytest.mark.parametrize("effect", ["allow", "deny"])
@pytest.mark.parametrize("rule", ["mcp__git-hub", "mcp__git-hub__read_resource", "mcp__*__read_resource*"])
def test_rules_for_a_server_cover_its_resources(rule: str, effect: Effect) -> None:
    assert decide("git-hub", effect, rule).kind == effect


@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_rules_for_another_server_do_not(effect: Effect) -> None:
    assert decide("github", effect, "mcp__git").kind == "ask"


def test_a_rule_for_the_tool_covers_all_servers() -> None:
    assert decide("github", "allow", "read_resource").kind == "allow"
    assert decide("github", "deny", "read_resource").kind == "deny"


def test_an_approval_offers_rules_for_the_server() -> None:
    decision = decide("github")

    assert [str(each) for each in decision.offers] == ["mcp__github__read_resource"]
    assert str(decision.server_offer) == "mcp__github"
