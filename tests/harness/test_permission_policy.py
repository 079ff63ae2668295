from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple, get_args

import pytest
from fakes.family import cast, delegates
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool

from cinch_tui.config.layers import Sources, load_config
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.permissions import load_rules
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import session_pins
from harness.approval.matching import accesses_of
from harness.approval.modes import EXECUTE, PLAN, ApprovalMode, Mode
from harness.approval.policy import Permissions, RulePolicy
from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore
from harness.messages import ToolCall
from harness.permissions import Decision, Effect, Rule, RuleSource
from harness.ports.hooks import AllowCall, AskUser
from harness.ports.permission_policy import CallFacts
from harness.risk import Risk, RiskLevel, SimpleCommand
from harness.workspace.workspace import Workspace
from tools.bash import BashTool
from tools.delegate import DelegateTool

MODES: tuple[ApprovalMode, ...] = get_args(ApprovalMode)
READ, EDIT, RUN = Risk("read", paths=("a.py",)), Risk("edit", paths=("a.py",)), Risk("execute", subject="make")
SECRET = Risk("read", paths=(".env",), concern="reads a secret: .env")
OUTSIDE = Risk("edit", paths=("../out.txt",), concern="writes outside the workspace: /out.txt")
PROTECTED = Risk("dangerous", "it changes .git", paths=(".git/config",), concern="it changes .git")
DANGEROUS, FORBIDDEN, NONE = Risk("dangerous", "it deletes files"), Risk("forbidden", "it formats a disk"), Risk("none")


def decide(
    risk: Risk,
    approval: ApprovalMode = "smart",
    *rules: Rule,
    mode: Mode = EXECUTE,
    verdict: AllowCall | AskUser | None = None,
    mutates: object = None,
) -> Decision:
    tool = SimpleTool("act", risk=risk.level)
    if mutates is not None:
        tool.mutates = mutates
    store = RuleStore(rules=rules)
    call = CallFacts(tool, ToolCall("1", "act", {}), {}, risk, Workspace(Path("/work")), verdict)
    return RulePolicy(store, Permissions(mode, approval, store)).decide(call, risk)


def rule(effect: Effect, text: str = "act") -> Rule:
    return parse_rule(text, effect, RuleSource("user", "config.toml, line 3"))


class Case(NamedTuple):
    """Everything a decision depends on."""

    approval: ApprovalMode
    risk: Risk
    mode: Mode
    verdict: AllowCall | AskUser | None
    allow: str
    """Kind of the rule that allows: none, for the `tool`, or for the `path` of the call."""
    is_trusted: bool
    """Trust in the folder that the rules come from."""
    asks: bool
    """True if an ask rule matches."""
    denies: bool
    """True if a deny rule matches."""


def documented(case: Case) -> Effect:
    """Return the decision according to the table in docs/permissions.md."""
    level, concern = case.risk.level, bool(case.risk.concern)
    names_path = case.allow == "path" and level in ("read", "edit")
    is_covered = case.is_trusted and (names_path or (case.allow == "tool" and not concern))
    unasked = {"on": [], "smart": ["read"], "edits": ["read", "edit"], "off": []}[case.approval]
    lines: list[tuple[bool, Effect]] = [
        (level == "forbidden", "deny"),
        (case.denies, "deny"),
        (case.mode is PLAN and level in ("edit", "execute", "dangerous"), "deny"),
        (case.asks or isinstance(case.verdict, AskUser), "ask"),
        (case.approval == "off", "allow"),
        (level == "dangerous", "ask"),
        (is_covered or (isinstance(case.verdict, AllowCall) and not concern), "allow"),
        (level in ("none", *unasked) and not concern, "allow"),
    ]
    return next((effect for applies, effect in lines if applies), "ask")


def decided(case: Case, folder: Path) -> Decision:
    tool = SimpleTool("act", risk=case.risk.level)
    tool.mutates = "by_call"
    paths = [each.path.replace("..", "/") for each in accesses_of(case.risk)]
    allowed = {"tool": ("act",), "path": tuple(f"act({path})" for path in paths)}.get(case.allow, ())
    store = project_rules(folder, (allowed, ("act",) * case.asks, ("act",) * case.denies), is_trusted=case.is_trusted)
    permissions = Permissions(case.mode, case.approval, store)
    call = CallFacts(tool, ToolCall("1", "act", {}), {}, case.risk, Workspace(Path("/work")), case.verdict)
    return permissions.decide(call)


@cache
def project_rules(folder: Path, rules: tuple[tuple[str, ...], ...], *, is_trusted: bool) -> RuleStore:
    """Return the rules of a project's configuration file, read as in a start."""
    file = folder / ".cinch" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    lines = (f"{effect} = {list(texts)}" for effect, texts in zip(("allow", "ask", "deny"), rules, strict=True))
    file.write_text("\n".join(("[permissions]", *lines)))
    user_file = folder / "user.toml"
    pins = session_pins(inventory(folder, user_file)) if is_trusted else None
    sources = Sources(user_file, file, {}, folder / "trusted.json", folder=folder, session_pins=pins)
    config = load_config(sources)
    options = Options(folder, find_paths({"HOME": str(folder)}), {}, sources, rules=config.rules)
    store, problems = load_rules(options, config.settings, folder)
    assert problems == []
    return store


RISKS = (NONE, READ, SECRET, EDIT, OUTSIDE, RUN, DANGEROUS, PROTECTED, FORBIDDEN)


@pytest.mark.parametrize("approval", MODES)
def test_decision_follows_the_documented_order(approval: ApprovalMode, tmp_path: Path) -> None:
    verdicts = (None, AllowCall(), AskUser("look"))
    rest = product((EXECUTE, PLAN), verdicts, ("", "tool", "path"), (True, False), (True, False), (True, False))
    cases = [Case(approval, risk, *each) for risk, each in product(RISKS, rest)]

    found = [(case, decided(case, tmp_path)) for case in cases]

    assert [(case, decision) for case, decision in found if decision.kind != documented(case)] == []
    assert all(decision.why and decision.source for _, decision in found)
    offered = [case for case, decision in found if decision.offers or decision.exact_offer]
    assert {case.risk.level for case in offered} <= {"read", "edit", "execute"}


@pytest.mark.parametrize("approval", MODES)
async def test_calls_of_a_subagent_get_the_documented_decisions(make_agent, user, approval: ApprovalMode):
    levels: list[RiskLevel] = ["none", "read", "edit", "execute", "dangerous", "forbidden"]
    tools = [SimpleTool(level, risk=level) for level in levels]
    model = cast({"main": [delegates("look"), "done"], "look": [calls(*levels), "seen"]})
    agent = make_agent(model=model, tools=[*tools, DelegateTool()], approval=approval)

    await agent.prompt("main")

    expected = [documented(Case(approval, Risk(level), EXECUTE, None, "", True, False, False)) for level in levels]
    asked = {request.call.name for request in user.asked}
    assert ["ask" if tool.name in asked else "allow" if tool.ran else "deny" for tool in tools] == expected


def test_rule_or_hook_that_allows_a_call_is_named() -> None:
    by_rule, by_hook = decide(RUN, "smart", rule("allow")), decide(RUN, "smart", verdict=AllowCall("checked"))

    assert (by_rule.kind, by_rule.why) == ("allow", "the rule act allows it")
    assert (by_hook.kind, by_hook.why, by_hook.source) == ("allow", "checked", "hook")


def test_decision_names_the_rule_of_the_highest_level_and_its_place() -> None:
    project = parse_rule("act", "deny", RuleSource("project", ".cinch/config.toml, line 2"))

    decision = decide(READ, "off", rule("deny"), project)

    assert (decision.rule, decision.source) == (project, "project: .cinch/config.toml, line 2")
    assert decision.why == "the rule act denies it"


@pytest.mark.parametrize(
    ("approval", "risk", "source"),
    [
        ("off", FORBIDDEN, "built-in"),
        ("off", DANGEROUS, "mode off"),
        ("smart", DANGEROUS, "built-in"),
        ("smart", READ, "mode smart"),
        ("smart", NONE, "built-in"),
    ],
)
def test_decision_names_its_source(approval: ApprovalMode, risk: Risk, source: str) -> None:
    assert decide(risk, approval).source == source


def command(text: str, *, prefix: str = "", verdict: str = "other") -> SimpleCommand:
    return SimpleCommand(
        tuple(text.split()), prefix=tuple(prefix.split()), verdict="read" if verdict == "read" else "other"
    )


@pytest.mark.parametrize(
    ("risk", "offers", "exact"),
    [
        (EDIT, ["act"], "act(/a.py)"),
        (Risk("execute"), ["act"], None),
        (
            Risk("execute", subject="git push x", commands=(command("git push x", prefix="git push"),)),
            ["act(git push:*)"],
            "act(=git push x)",
        ),
        (
            Risk(
                "execute",
                subject="ls; make a; npm run b",
                commands=(
                    command("ls", verdict="read"),
                    command("make a", prefix="make a"),
                    command("npm run b", prefix="npm run b"),
                ),
            ),
            ["act(make a:*)", "act(npm run b:*)"],
            "act(=ls; make a; npm run b)",
        ),
        (
            Risk("execute", subject="make; x y", commands=(command("make", prefix="make"), command("x y"))),
            ["act(=make; x y)"],
            "act(=make; x y)",
        ),
        (Risk("execute", subject="x\ny", commands=(command("x y"),)), [], None),
        (Risk("execute", subject="x" * 201, commands=(command("x"),)), [], None),
        (SECRET, ["read(/.env)"], "act(/.env)"),
    ],
)
def test_request_offers_the_rules_that_cover_the_call(risk: Risk, offers: list[str], exact: str | None) -> None:
    decision = decide(risk)

    assert [str(each) for each in decision.offers] == offers
    assert (str(decision.exact_offer) if decision.exact_offer else None) == exact
    for added in (decision.offers, [decision.exact_offer] if exact else ()):
        assert not added or risk.concern or decide(risk, "smart", *added).kind == "allow"


def test_nothing_is_offered_if_only_managed_rules_allow() -> None:
    store = RuleStore()
    store.managed_only = True
    tool = SimpleTool("act", risk="edit")
    call = CallFacts(tool, ToolCall("1", "act", {}), {}, EDIT, Workspace(Path("/work")))

    decision = Permissions(EXECUTE, "smart", store).decide(call)

    assert (decision.kind, decision.offers, decision.exact_offer) == ("ask", (), None)


async def test_program_replaces_the_policy_by_a_function(make_agent, user):
    def decide(call: CallFacts, risk: Risk) -> Effect:
        return "deny" if call.arguments.get("path") == "secret" else "allow" if risk.level == "edit" else "ask"

    tools = [SimpleTool("change", risk="edit"), SimpleTool("look")]
    script = [calls("change", path="a"), calls("change", path="secret"), calls("look"), "done"]
    agent = make_agent(*script, tools=tools, permissions=decide, approval="on")

    await agent.prompt("go")

    assert tools[0].ran == [{"path": "a"}]
    assert [request.call.name for request in user.asked] == ["look"]
    assert "the program denies it" in results_of(agent)[1].text


@pytest.mark.parametrize("answer", ["allow", "whatever"])
async def test_policy_of_a_program_allows_nothing_that_is_forbidden_and_must_decide(make_agent, user, answer: str):
    tools = [SimpleTool("format", risk="forbidden"), SimpleTool("look")]
    agent = make_agent(calls("format", "look"), "done", tools=tools, permissions=lambda call, risk: answer)

    await agent.prompt("go")

    assert tools[0].ran == []
    assert bool(tools[1].ran) is (answer == "allow")


async def test_policy_that_raises_denies_the_call(make_agent, user):
    tool = SimpleTool("look")
    agent = make_agent(calls("look"), "done", tools=[tool], permissions=lambda call, risk: 1 / 0)

    await agent.prompt("go")

    assert (tool.ran, user.asked) == ([], [])


async def test_uses_of_a_rule_are_counted(make_agent, user):
    store = RuleStore(rules=[rule("allow", "change")])
    agent = make_agent(
        calls("change"), calls("change"), "done", tools=[SimpleTool("change", risk="edit")], grants=store
    )

    await agent.prompt("go")

    assert store.uses(store.rules[0]) == 2
    assert user.asked == []


async def test_all_rules_that_allow_a_command_line_together_are_counted(make_agent, user, tmp_path: Path):
    store = RuleStore(rules=[rule("allow", "bash(mkdir:*)"), rule("allow", "bash(touch:*)")])
    script = calls("bash", command="mkdir a && touch a/b")
    agent = make_agent(script, "done", tools=[BashTool()], grants=store, workspace=Workspace(tmp_path))

    await agent.prompt("go")

    assert (tmp_path / "a" / "b").exists()
    assert [store.uses(each) for each in store.rules] == [1, 1]
