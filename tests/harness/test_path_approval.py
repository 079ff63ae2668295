"""Approval of calls by the paths they access, in whole runs with the built-in tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.family import cast, delegates
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool

from harness.approval.modes import ApprovalMode
from harness.approval.store import RuleStore, WrittenRule
from harness.permissions import RuleSource
from harness.ports.tool import ToolOutput
from harness.user_requests import AllowOnce, Denied
from harness.views import DiffView
from harness.workspace.workspace import Workspace
from providers.demo import Call, Reply
from tools import builtin_tools
from tools.delegate import DelegateTool


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("ordinary\n")
    (root / ".env").write_text("TOKEN=secret\n")
    (tmp_path / "outside.txt").write_text("elsewhere\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.txt").write_text("elsewhere\n")
    return root


def store_with(*allowed: str) -> RuleStore:
    store = RuleStore()
    assert store.load([WrittenRule(each, "allow", RuleSource("user")) for each in allowed]) == []
    return store


READS = {
    "read_file": ("../outside.txt", "../other", ".env"),
    "grep": ("../outside.txt", "../other", ".env"),
    "list_files": ("../other",),
    "find_files": ("../other",),
}


def arguments(tool: str, path: str) -> dict[str, str]:
    patterns = {"grep": {"pattern": "e"}, "find_files": {"pattern": "*"}}
    return {"path": path, **patterns.get(tool, {})}


@pytest.mark.parametrize(("tool", "path"), [(tool, path) for tool, paths in READS.items() for path in paths])
async def test_a_secret_or_outside_path_is_read_after_approval(make_agent, user, root: Path, tool: str, path: str):
    agent = make_agent(calls(tool, **arguments(tool, path)), "done", tools=builtin_tools(), workspace=Workspace(root))

    await agent.prompt("go")

    (request,) = user.asked
    (result,) = results_of(agent)
    assert request.decision.why.startswith(("it reads a secret: .env", "it reads outside the workspace: /"))
    assert not result.is_error
    assert any(text in result.text for text in ("secret", "elsewhere", "b.txt"))


@pytest.mark.parametrize("tool", READS)
async def test_a_denied_read_does_not_run(make_agent, user, root: Path, tool: str):
    path = READS[tool][0]
    agent = make_agent(calls(tool, **arguments(tool, path)), "done", tools=builtin_tools(), workspace=Workspace(root))
    user.deny()

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert result.text == "The user denied this call."


async def test_an_approval_is_for_one_call_only(make_agent, user, root: Path):
    path = "../outside.txt"
    twice = calls("read_file", path=path), calls("read_file", path=path)
    agent = make_agent(*twice, "done", tools=builtin_tools(), workspace=Workspace(root))
    user.approvals = []

    await agent.prompt("go")

    assert len(user.asked) == 2
    assert agent.options.workspace is None or not agent.options.workspace.covers(str(root.parent / "outside.txt"))


@pytest.mark.parametrize(
    ("rule", "asks"),
    [("read_file", True), ("read", True), ("read_file(../other/**)", True), ("read_file(//{0}/outside.txt)", False)],
)
async def test_only_a_rule_that_names_the_path_allows_it(make_agent, user, root: Path, rule: str, asks: bool):
    store = store_with(rule.format(str(root.parent).lstrip("/")))
    agent = make_agent(
        calls("read_file", path="../outside.txt"),
        "done",
        tools=builtin_tools(),
        workspace=Workspace(root),
        grants=store,
    )

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert (len(user.asked) == 1) is asks
    assert "elsewhere" in result.text


@pytest.mark.parametrize("mode", ["on", "smart", "edits"])
@pytest.mark.parametrize("path", [".git/config", ".github/workflows/ci.yml", ".vscode/tasks.json", ".envrc", "HEAD"])
async def test_a_protected_path_is_changed_after_approval_only(
    make_agent, user, root: Path, mode: ApprovalMode, path: str
):
    agent = make_agent(
        calls("write_file", path=path, content="x"),
        "done",
        tools=builtin_tools(),
        workspace=Workspace(root),
        approval=mode,
        grants=store_with("write_file", "edit", "write_file(**)"),
    )
    user.deny()

    await agent.prompt("go")

    (request,) = user.asked
    assert request.decision.offers == ()
    assert not (root / path).exists()


@pytest.mark.parametrize("mode", ["on", "smart", "edits"])
async def test_a_file_outside_the_workspace_is_changed_after_approval(make_agent, user, root: Path, mode: ApprovalMode):
    outside = root.parent / "outside.txt"
    script = [
        calls("read_file", path="../outside.txt"),
        calls("edit_file", path="../outside.txt", old_string="elsewhere", new_string="changed"),
        calls("write_file", path="../new/file.txt", content="first"),
    ]
    agent = make_agent(*script, "done", tools=builtin_tools(), workspace=Workspace(root), approval=mode)
    user.approvals = [AllowOnce(), AllowOnce(), Denied()]

    await agent.prompt("go")

    edit, new = user.asked[1:]
    assert edit.decision.why == f"it writes outside the workspace: {outside}"
    assert edit.view == DiffView(str(outside), "elsewhere\n", "changed\n")
    assert outside.read_text() == "changed\n"
    assert new.view == DiffView(str(root.parent / "new" / "file.txt"), None, "first")
    assert not (root.parent / "new").exists()


@pytest.mark.parametrize(("rule", "asks"), [("edit", True), ("write_file", True), ("edit(//{0}/new/**)", False)])
async def test_only_a_rule_that_names_the_path_allows_a_change_outside(
    make_agent, user, root: Path, rule: str, asks: bool
):
    store = store_with(rule.format(str(root.parent).lstrip("/")))
    agent = make_agent(
        calls("write_file", path="../new/file.txt", content="x"),
        "done",
        tools=builtin_tools(),
        workspace=Workspace(root),
        grants=store,
    )
    user.deny()

    await agent.prompt("go")

    assert (len(user.asked) == 1) is asks
    assert (root.parent / "new" / "file.txt").exists() is not asks


async def test_a_policy_of_the_program_allows_no_change_outside(make_agent, user, root: Path):
    write = calls("write_file", path="../new.txt", content="x")
    agent = make_agent(
        write, "done", tools=builtin_tools(), workspace=Workspace(root), permissions=lambda call, risk: "allow"
    )

    await agent.prompt("go")

    assert "is outside the folders" in results_of(agent)[0].text
    assert not (root.parent / "new.txt").exists()


async def test_a_path_that_leads_elsewhere_than_approved_is_not_changed(make_agent, user, root: Path):
    link = SimpleTool("link", work=lambda arguments, context: _link(root), risk="execute")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("")
    together = Reply((Call("link", {}), Call("write_file", {"path": "notes.txt", "content": "[core]"})))
    tools = [link, *builtin_tools()]
    agent = make_agent(together, "done", tools=tools, workspace=Workspace(root), approval="edits")

    await agent.prompt("go")

    assert [request.call.name for request in user.asked] == ["link"]
    assert "leads elsewhere than when it was approved" in results_of(agent)[1].text
    assert (root / ".git" / "config").read_text() == ""


async def test_a_link_does_not_hide_a_protected_path_from_the_user(make_agent, user, root: Path):
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / "docs").symlink_to(".git/hooks")
    script = calls("write_file", path="docs/pre-commit", content="x")
    agent = make_agent(script, "done", tools=builtin_tools(), workspace=Workspace(root), approval="edits")

    await agent.prompt("go")

    (request,) = user.asked
    assert request.risk.level == "dangerous"
    assert request.decision.why.startswith("it changes .git/hooks/pre-commit: git runs")
    assert request.view == DiffView(".git/hooks/pre-commit", None, "x")


async def _link(root: Path) -> ToolOutput:
    (root / "notes.txt").symlink_to(".git/config")
    return ToolOutput.text("linked")


async def test_approval_off_asks_about_nothing_and_reads_stay_in_the_workspace(make_agent, user, root: Path):
    script = [
        calls("write_file", path=".vscode/tasks.json", content="x"),
        calls("read_file", path=".env"),
        calls("read_file", path="../outside.txt"),
    ]
    agent = make_agent(*script, "done", tools=builtin_tools(), workspace=Workspace(root), approval="off")

    await agent.prompt("go")

    written, secret, outside = results_of(agent)
    assert user.asked == []
    assert not written.is_error
    assert "TOKEN" in secret.text
    assert "is outside the folders" in outside.text


async def test_a_subagent_needs_the_same_approvals(make_agent, user, root: Path):
    look = [calls("read_file", path="../outside.txt"), calls("write_file", path=".envrc", content="x"), "seen"]
    model = cast({"main": [delegates("look"), "done"], "look": look})
    tools = [*(each for each in builtin_tools() if each.name != "delegate_subagent"), DelegateTool()]
    agent = make_agent(model=model, tools=tools, workspace=Workspace(root))
    user.deny()
    user.deny()

    await agent.prompt("main")

    assert [request.call.name for request in user.asked] == ["read_file", "write_file"]
    assert not (root / ".envrc").exists()


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("cat a.txt", ""),
        ("ls -la . && wc -l *.txt", ""),
        ("cat .env", "it reads a secret: .env"),
        ("cd .. && cat outside.txt", "it reads outside the workspace: /"),
        ("head -n 1 ~/.ssh/id_rsa", "it reads a secret: /"),
        ("grep -r TOKEN .", "it searches a folder with a secret: .env"),
        ("cat .e*", "it reads a secret: .env"),
        ("echo x > .envrc", "it changes .envrc: "),
    ],
)
async def test_commands_need_the_same_approvals(make_agent, user, root: Path, command: str, reason: str):
    agent = make_agent(calls("bash", command=command), "done", tools=builtin_tools(), workspace=Workspace(root))
    user.deny()

    await agent.prompt("go")

    reasons = [request.decision.why for request in user.asked]
    assert len(reasons) == (1 if reason else 0)
    assert all(each.startswith(reason) for each in reasons)
