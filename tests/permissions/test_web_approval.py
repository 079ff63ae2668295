"""Approval of calls that read from the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.approval.explanation import CallSettings, explain
from harness.approval.modes import EXECUTE, PLAN, ApprovalMode, Mode
from harness.approval.policy import Permissions
from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore
from harness.messages import ToolCall
from harness.permissions import Decision, Effect
from harness.workspace.workspace import Workspace
from tools import builtin_tools
from tools.web.options import WebOptions

URL = "https://docs.example.com/a?b=1"


def decide(
    folder: Path,
    name: str = "web_fetch",
    *rules: tuple[Effect, str],
    mode: ApprovalMode = "smart",
    agent_mode: Mode = EXECUTE,
    url: str = URL,
) -> Decision:
    store = RuleStore(rules=[parse_rule(text, effect) for effect, text in rules])
    tools = tuple(builtin_tools(web=WebOptions(service="brave")))
    settings = CallSettings(Permissions(agent_mode, mode, store), Workspace(folder), tools)
    arguments = {"url": url} if name == "web_fetch" else {"query": "retry"}
    return explain(settings, ToolCall("1", name, arguments))


@pytest.mark.parametrize(("mode", "kind"), [("on", "ask"), ("smart", "ask"), ("edits", "ask"), ("off", "allow")])
@pytest.mark.parametrize("name", ["web_fetch", "web_search"])
def test_network_is_asked_about_in_every_mode_but_off(
    tmp_path: Path, name: str, mode: ApprovalMode, kind: Effect
) -> None:
    assert decide(tmp_path, name, mode=mode).kind == kind


def test_offered_rule_is_the_domain(tmp_path: Path) -> None:
    asked = decide(tmp_path)
    search = decide(tmp_path, "web_search")

    assert asked.why == "it reads from the network"
    assert [str(rule) for rule in asked.offers] == ["web_fetch(domain:docs.example.com)"]
    assert asked.exact_offer is None
    assert search.why == "the query is sent to Brave Search"
    assert [str(rule) for rule in search.offers] == ["web_search"]


def test_offer_names_the_real_host(tmp_path: Path) -> None:
    (rule,) = decide(tmp_path, url="https://аррӏе.com/login").offers

    assert str(rule) == "web_fetch(domain:xn--80ak6aa92e.com)"


@pytest.mark.parametrize(
    ("rules", "kind"),
    [
        ([("allow", "web_fetch(domain:example.com)")], "allow"),
        ([("allow", "web_fetch(domain:docs.example.com)")], "allow"),
        ([("allow", "web_fetch(https://docs.example.com/*)")], "allow"),
        ([("allow", "web_fetch")], "allow"),
        ([("allow", "web_fetch(domain:other.com)")], "ask"),
        ([("allow", "web_search")], "ask"),
        ([("allow", "read")], "ask"),
        ([("allow", "web_fetch"), ("ask", "web_fetch(domain:example.com)")], "ask"),
        ([("allow", "web_fetch"), ("deny", "web_fetch(domain:example.com)")], "deny"),
        ([("deny", "read")], "deny"),
    ],
)
def test_rules_cover_domains(tmp_path: Path, rules: list[tuple[Effect, str]], kind: Effect) -> None:
    assert decide(tmp_path, "web_fetch", *rules).kind == kind


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "[::ffff:127.0.0.1]", "127.0.0.1."])
def test_other_spelling_of_an_address_does_not_evade_a_deny_rule(tmp_path: Path, host: str) -> None:
    rules: list[tuple[Effect, str]] = [("allow", "web_fetch"), ("deny", "web_fetch(domain:127.0.0.1)")]

    assert decide(tmp_path, "web_fetch", *rules, url=f"http://{host}/").kind == "deny"


def test_web_is_read_in_plan_mode_too(tmp_path: Path) -> None:
    assert decide(tmp_path, agent_mode=PLAN).kind == "ask"
