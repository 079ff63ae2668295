"""Calls as hooks of users see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.runs import calls, results_of
from fakes.user_hooks import HookedAgent, command, group

from harness.messages import JsonObject
from providers.demo import Call, Reply
from tools import builtin_tools
from tools.dialects.cats.tools import cats_tools

PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"


@pytest.mark.parametrize("extra", [{}, {"depends_on": []}])
async def test_hook_sees_the_arguments_as_they_count(tmp_path: Path, extra: JsonObject):
    seen = tmp_path / "seen.json"
    script = Reply((Call("bash", {"cmd": "touch made", **extra}),))
    hooked = HookedAgent(tmp_path, {"PreToolUse": [group(command(f"cat > {seen}"), matcher="Bash")]}, script, "ok")

    await hooked.agent.prompt("go")

    assert json.loads(seen.read_text())["tool_input"]["command"] == "touch made"
    assert "depends_on" not in seen.read_text()


@pytest.mark.parametrize("condition", [{}, {"if": "Bash(git branch:*)"}])
async def test_hook_for_commands_sees_the_command_line_of_a_git_tool(tmp_path: Path, condition: dict[str, str]):
    blocking = command("grep -o 'git branch [a-z]*' >&2; exit 2", **condition)
    hooks = {"PreToolUse": [group(blocking, matcher="Bash")]}
    hooked = HookedAgent(tmp_path, hooks, calls("git_branch", create="new"), "ok")

    await hooked.agent.prompt("go")

    assert results_of(hooked.agent)[0].text == "Blocked by a hook: git branch new"


@pytest.mark.parametrize(
    ("matcher", "name", "arguments", "seen"),
    [
        ("Bash", "run_command", {"command": "ls"}, {"command": "ls"}),
        ("Write", "create_file", {"path": "a", "content": "x"}, {"file_path": "/a", "content": "x"}),
        ("Edit", "delete_text", {"path": "a", "text_to_delete": "x"}, {"file_path": "/a", "text_to_delete": "x"}),
        ("Read", "open", {"path": "a"}, {"file_path": "/a"}),
        ("Edit", "apply_patch", {"patch": PATCH}, {"file_path": "/a", "patch": PATCH}),
    ],
)
async def test_hook_sees_tools_of_another_dialect_as_those_that_do_the_same(
    tmp_path: Path, matcher: str, name: str, arguments: JsonObject, seen: JsonObject
):
    file = tmp_path / "seen.json"
    hooks = {"PreToolUse": [group(command(f"cat > {file}"), matcher=matcher)]}
    hooked = HookedAgent(tmp_path, hooks, Reply((Call(name, arguments),)), "ok")
    hooked.agent.set_tools([*cats_tools(), *builtin_tools(optional=["apply_patch"])])

    await hooked.agent.prompt("go")

    event = json.loads(file.read_text())
    assert event["tool_name"] == matcher
    assert event["tool_input"] == {
        key: f"{tmp_path}{value}" if key == "file_path" else value for key, value in seen.items()
    }
