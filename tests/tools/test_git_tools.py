"""Git tools in a real repository: results, approval, rules, and what they never do."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.repositories import Git, repository, text_of, use
from fakes.runs import calls, results_of

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.approval.matching import Coverage, Target, affects
from harness.approval.modes import PLAN
from harness.approval.places import Places
from harness.approval.rules import parse_rule
from harness.errors import InvalidArguments
from harness.messages import JsonObject
from harness.ports.tool import is_deferred
from harness.risk import Risk
from harness.workspace.workspace import Workspace
from providers.demo import Call, Reply, scripted
from tools import builtin_tools
from tools.builtin import create_tool


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path)


def risk_of(name: str, arguments: JsonObject) -> Risk:
    tool = create_tool(name)
    return tool.risk(tool.validate(arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "parts"),
    [
        ("git_status", {}, "On branch main|modified:   a.py|new.py"),
        ("git_status", {"short": True}, "## main| M a.py|?? new.py"),
        ("git_diff", {}, "-one|+three|!staged"),
        ("git_diff", {"staged": True}, "+staged|!three"),
        ("git_diff", {"path": "b.py"}, "!three"),
        ("git_diff", {"ref": "main..other"}, "-one|+two|!three"),
        ("git_log", {}, "start|Author: |!second"),
        ("git_log", {"ref": "other", "count": 1, "oneline": True}, "second|!start|!Author"),
        ("git_log", {"path": "b.py"}, "!start"),
        ("git_branch", {}, "* main|other|second"),
    ],
)
async def test_state_and_history_are_read_without_approval(
    tmp_path: Path, git: Git, name: str, arguments: JsonObject, parts: str
):
    (tmp_path / "a.py").write_text("three\n")
    (tmp_path / "new.py").write_text("")
    (tmp_path / "b.py").write_text("staged\n")
    git("add", "b.py")

    output = await use(tmp_path, name, arguments)

    assert risk_of(name, arguments).level == "read"
    assert not output.is_error
    for part in parts.split("|"):
        assert (part.removeprefix("!") in text_of(output)) is not part.startswith("!")


async def test_checkout_switches_creates_and_never_overwrites_uncommitted_or_ignored_files(tmp_path: Path, git: Git):
    git("branch", "a.py")  # a name that is a file as well
    created = await use(tmp_path, "git_checkout", {"target": "fix/x", "create": True})
    same_name = await use(tmp_path, "git_checkout", {"target": "a.py"})
    (tmp_path / "a.py").write_text("mine\n")
    refused = await use(tmp_path, "git_checkout", {"target": "other"})
    unknown = await use(tmp_path, "git_checkout", {"target": ".gitignore"})
    kept = (tmp_path / "a.py").read_text()
    git("checkout", "-q", "a.py", "--")
    git("stash", "-q")
    git("checkout", "-q", "-b", "with-local")
    (tmp_path / "local.txt").write_text("theirs")
    git("add", "-f", "local.txt")
    git("commit", "-q", "-m", "local")
    git("checkout", "-q", "main")
    (tmp_path / "local.txt").write_text("mine")
    ignored = await use(tmp_path, "git_checkout", {"target": "with-local"})

    assert not created.is_error
    assert not same_name.is_error
    assert refused.is_error
    assert "would be overwritten" in text_of(refused)
    assert unknown.is_error
    assert kept == "mine\n"
    assert ignored.is_error
    assert (tmp_path / "local.txt").read_text() == "mine"


async def test_file_changed_by_a_checkout_must_be_read_again_before_an_edit(tmp_path: Path, git: Git):
    edit = {"path": "a.py", "old_string": "two", "new_string": "2"}
    script = (calls("read_file", path="a.py"), calls("git_checkout", target="other"), calls("edit_file", **edit), "ok")
    options = AgentOptions(workspace=Workspace(tmp_path), approval="off", spill_dir=tmp_path / ".git" / "spill")
    agent = Agent(scripted(*script), builtin_tools(), options=options)

    await agent.prompt("go")

    assert (tmp_path / "a.py").read_text() == "two\n"
    assert results_of(agent)[-1].is_error


async def test_plan_mode_reads_with_git_and_refuses_to_change_anything(tmp_path: Path, git: Git):
    (tmp_path / "a.py").write_text("three\n")
    script = (
        calls("git_diff"),
        Reply((Call("git_commit", {"message": "x", "paths": ["a.py"]}),)),
        calls("git_checkout", target="other"),
        calls("git_branch", create="new"),
        "ok",
    )
    options = AgentOptions(
        workspace=Workspace(tmp_path), approval="off", mode=PLAN, spill_dir=tmp_path / ".git" / "spill"
    )
    agent = Agent(scripted(*script), builtin_tools(), options=options)

    await agent.prompt("go")

    assert [each.is_error for each in results_of(agent)] == [False, True, True, True]
    assert git("branch", "--format=%(refname:short)").split() == ["main", "other"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("git_diff", {"ref": "--output=x"}),
        ("git_diff", {"ref": "a b"}),
        ("git_log", {"ref": "-p"}),
        ("git_log", {"ref": "main\n--all"}),
        ("git_log", {"count": 0}),
        ("git_checkout", {"target": "-f"}),
        ("git_checkout", {"target": ""}),
        ("git_checkout", {"create": True, "target": "a..b"}),
        ("git_branch", {"create": "-D"}),
        ("git_branch", {"delete": "--force"}),
        ("git_branch", {"create": "x", "start_point": "-d"}),
        ("git_branch", {"create": "x", "delete": "y"}),
        ("git_commit", {"message": " \n"}),
        ("git_commit", {"message": "x", "paths": [""]}),
    ],
)
def test_option_in_place_of_a_name_is_rejected(name: str, arguments: JsonObject):
    with pytest.raises(InvalidArguments, match=next(key for key in reversed(arguments))):
        create_tool(name).validate(arguments)


async def test_option_and_pattern_in_place_of_a_path_are_taken_literally(tmp_path: Path, git: Git):
    (tmp_path / "a.py").write_text("three\n")

    option = await use(tmp_path, "git_commit", {"message": "x", "paths": ["--all"]})
    pattern = await use(tmp_path, "git_commit", {"message": "x", "paths": [":/"]})
    diff = await use(tmp_path, "git_diff", {"path": "--output=x"})

    assert option.is_error
    assert pattern.is_error
    assert not diff.is_error
    assert not (tmp_path / "x").exists()
    assert git("log", "-1", "--format=%s").strip() == "start"


@pytest.mark.parametrize(
    ("rule", "name", "arguments", "is_match"),
    [
        ("bash(git commit:*)", "git_commit", {"message": "x"}, True),
        ("git_commit", "git_commit", {"message": "x", "paths": ["a"]}, True),
        ("bash(git push:*)", "git_commit", {"message": "git push"}, False),
        ("bash(git checkout main)", "git_checkout", {"target": "main"}, True),
        ("git_checkout(main)", "git_checkout", {"target": "main"}, True),
        ("git_checkout(fix/*)", "git_checkout", {"target": "fix/a", "create": True}, True),
        ("git_checkout(main)", "git_checkout", {"target": "other"}, False),
        ("git_branch(main)", "git_branch", {"create": "main", "start_point": "other"}, True),
        ("git_branch(main)", "git_branch", {"create": "other", "start_point": "main"}, False),
        ("git_commit(docs/*)", "git_commit", {"message": "x", "paths": ["src/a", "docs/b"]}, False),
        ("git_*", "git_checkout", {"target": "other"}, True),
        ("bash(git commit:*)", "git_branch", {"create": "x"}, False),
        ("bash", "git_checkout", {"target": "other"}, True),
    ],
)
def test_rules_for_the_tool_and_for_its_command_line_both_apply(
    tmp_path: Path, rule: str, name: str, arguments: JsonObject, is_match: bool
):
    target = Target(name, risk_of(name, arguments), Places(tmp_path))

    assert bool(Coverage(target, [parse_rule(rule)]).find()) is is_match
    assert affects(parse_rule(rule, "deny"), target) is is_match


@pytest.mark.parametrize(
    ("pattern", "line", "is_match"),
    [
        ("git switch:*", "git checkout main", True),
        ("git switch -c:*", "git checkout -b fix", True),
        ("git switch --detach:*", "git checkout v1.2", True),
        ("git switch main", "git -C . checkout main --", True),
        ("git switch:*", "git checkout -- a.py", False),
        ("git switch:*", "git status", False),
        ("git restore:*", "git checkout -- a.py", True),
        ("git restore:*", "git checkout HEAD~1 a.py", True),
        ("git restore:*", "git checkout .", True),
        ("git restore:*", "git checkout main", False),
        ("git checkout:*", "git switch main", True),
        ("git checkout -b:*", "cd src && git switch --create fix", True),
        ("git checkout:*", "git restore a.py", True),
        ("git reset:*", "git restore --staged a.py", True),
        ("git reset:*", "git restore a.py", False),
    ],
)
def test_deny_rules_apply_to_other_commands_that_do_the_same(tmp_path: Path, pattern: str, line: str, is_match: bool):
    target = Target("bash", risk_of("bash", {"command": line}), Places(tmp_path))

    assert affects(parse_rule(f"bash({pattern})", "deny"), target) is is_match


@pytest.mark.parametrize(
    ("pattern", "arguments"),
    [
        ("git switch:*", {"target": "main"}),
        ("git switch --detach:*", {"target": "main"}),
        ("git switch -c:*", {"target": "fix", "create": True}),
    ],
)
def test_git_checkout_is_denied_by_rules_for_git_switch_but_not_allowed(
    tmp_path: Path, pattern: str, arguments: JsonObject
):
    target = Target("git_checkout", risk_of("git_checkout", arguments), Places(tmp_path))

    assert affects(parse_rule(f"bash({pattern})", "deny"), target)
    assert not Coverage(target, [parse_rule(f"bash({pattern})")]).find()


def test_changing_calls_need_approval_and_none_is_declared():
    changing: list[tuple[str, JsonObject]] = [
        ("git_commit", {"message": "x"}),
        ("git_checkout", {"target": "src/a.py"}),
        ("git_branch", {"create": "x"}),
        ("git_branch", {"delete": "x"}),
    ]

    assert [risk_of(name, arguments).level for name, arguments in changing] == ["execute"] * 4
    assert all(is_deferred(tool) for tool in builtin_tools() if tool.name.startswith("git_"))


async def test_programs_that_a_repository_configures_do_not_run(tmp_path: Path, git: Git):
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    trap.chmod(0o755)
    (tmp_path / ".gitattributes").write_text("*.py diff=trap filter=trap\n")
    for key in ("diff.external", "diff.trap.textconv", "core.fsmonitor", "filter.trap.clean"):
        git("config", key, str(trap))
    (tmp_path / "a.py").write_text("three\n")

    for name in ("git_status", "git_diff", "git_log"):
        await use(tmp_path, name, {})
    await create_tool("git_commit").preview({"message": "x", "paths": ["a.py"]}, tool_context(tmp_path))

    assert not (tmp_path / "ran").exists()
