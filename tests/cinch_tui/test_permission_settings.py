"""Permission settings, flags and files, in print mode."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from fakes.cinch_process import CINCH, run
from fakes.model_server import ModelServer, Reply

from cinch_tui.assembly.building import assemble
from cinch_tui.cli.arguments import parse_arguments
from cinch_tui.cli.start import config_sources, prepare
from cinch_tui.config.layers import load_config
from cinch_tui.config.names import build
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from harness.errors import ConfigError
from harness.messages import JsonObject
from harness.ports.interaction import NonInteractive


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".cinch").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha\n")
    return folder


def touch(name: str = "made") -> Reply:
    return Reply(calls=[("bash", {"command": f"touch {name}"})])


def write(path: str) -> Reply:
    return Reply(calls=[("write_file", {"path": path, "content": "x"})])


class Done:
    """A run of print mode with one reply that calls a tool."""

    def __init__(self, folder: Path, call: Reply, *arguments: str) -> None:
        with ModelServer([call, Reply("fine")]) as server:
            command = (*CINCH, "-p", "-m", "anthropic/fake-model", "go", *arguments)
            done = run(command, cwd=folder, ANTHROPIC_API_KEY="sk-x", ANTHROPIC_BASE_URL=server.url)
        self.status, self.stderr = done.returncode, done.stderr
        self.bodies: list[dict[str, Any]] = [each.body for each in server.requests]
        self.result = json.dumps(self.bodies[-1]["messages"][-1]) if self.bodies else ""


def settings(folder: Path, text: str, *, own_home: Path | None = None) -> None:
    path = own_home / "cinch" / "config.toml" if own_home else folder / ".cinch" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("rule", ["bash(touch:*)", "bash(touch made)", "bash:touch", "bash"])
def test_an_allowed_command_runs_in_print_mode(folder: Path, rule: str) -> None:
    done = Done(folder, touch(), "--allow", rule)

    assert (done.status, (folder / "made").exists()) == (0, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--deny", "bash(touch:*)", "--approve", "off"),
        ("--ask", "bash(touch:*)", "--approve", "off"),
        ("--allow", "bash(ls:*)"),
        (),
    ],
)
def test_a_denied_or_unapproved_command_does_not_run(folder: Path, arguments: tuple[str, ...]) -> None:
    done = Done(folder, touch(), *arguments)

    assert not (folder / "made").exists()
    assert "is_error" in done.result


def test_a_deny_rule_of_an_untrusted_project_counts_and_its_allow_rule_does_not(folder: Path) -> None:
    settings(folder, '[permissions]\nallow = ["bash"]\n[tools.bash]\ndeny = ["touch secret"]\n')

    allowed = Done(folder, touch("made"))
    denied = Done(folder, touch("secret"), "--approve", "off")
    trusted = Done(folder, touch("trusted"), "--trust")

    assert [(folder / name).exists() for name in ("made", "secret", "trusted")] == [False, False, True]
    assert "permissions.allow" in allowed.stderr
    assert f"{folder}/.cinch/config.toml, line 4" in denied.result or "bash(touch secret)" in denied.result
    assert trusted.status == 0


CLAUDE = {"permissions": {"allow": ["Bash(touch:*)"], "deny": ["Bash(touch secret)"]}}


@pytest.mark.parametrize("imports", [True, False])
def test_rules_of_claude_code_are_used_if_wanted(folder: Path, own_home: Path, imports: bool) -> None:
    settings(folder, f"permissions.import_claude = {str(imports).lower()}\n", own_home=own_home)
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / "settings.json").write_text(json.dumps(CLAUDE))

    allowed = Done(folder, touch("made"))
    Done(folder, touch("secret"), "--approve", "off" if imports else "smart")

    assert ((folder / "made").exists(), (folder / "secret").exists()) == (imports, False)
    assert allowed.status == (0 if imports else 4)


def test_rules_of_claude_code_in_a_project_allow_only_with_trust(folder: Path, own_home: Path) -> None:
    settings(folder, "permissions.import_claude = true\n", own_home=own_home)
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text(json.dumps(CLAUDE))

    Done(folder, touch("untrusted"))
    Done(folder, touch("secret"), "--approve", "off")
    Done(folder, touch("trusted"), "--trust")

    assert [(folder / name).exists() for name in ("untrusted", "secret", "trusted")] == [False, False, True]


@pytest.mark.parametrize(
    ("claude", "own", "expected"),
    [
        ({"defaultMode": "acceptEdits"}, "", ("edits", "off", "execute")),
        ({"defaultMode": "acceptEdits"}, 'approval.mode = "on"\n', ("on", "off", "execute")),
        ({"defaultMode": "plan"}, "", ("smart", "off", "plan")),
        ({"disableBypassPermissionsMode": "disable"}, 'approval.mode = "off"\n', ("edits", "edits", "execute")),
        ({"defaultMode": "bypassPermissions"}, "", ("smart", "off", "execute")),
    ],
)
def test_modes_of_claude_code_apply_unless_a_setting_does(
    folder: Path, own_home: Path, claude: JsonObject, own: str, expected: object
) -> None:
    settings(folder, f"permissions.import_claude = true\n{own}", own_home=own_home)
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / "settings.json").write_text(json.dumps({"permissions": claude}))
    options, loaded = prepare(parse_arguments(["-m", "ollama/fake-model", "--cwd", str(folder), "--no-session"]))

    assembly = asyncio.run(assemble(options, loaded, NonInteractive()))
    state = assembly.agent.state

    assert (state.approval, state.permissions.loosest, state.mode.name) == expected
    notices = " ".join((*options.notices, *assembly.warnings))
    assert ("defaultMode 'bypassPermissions' is not imported" in notices) is ("bypass" in str(claude.values()))


def test_untrusted_settings_of_claude_code_may_only_tighten(folder: Path, own_home: Path) -> None:
    settings(folder, "permissions.import_claude = true\n", own_home=own_home)
    (folder / ".claude").mkdir()
    modes = [{"defaultMode": "acceptEdits"}, {"disableBypassPermissionsMode": "disable"}]
    found: list[tuple[str, str]] = []
    for mode in modes:
        (folder / ".claude" / "settings.json").write_text(json.dumps({"permissions": mode}))
        paths = find_paths(os.environ)
        approval = load_config(config_sources(paths, folder)).settings.approval
        found.append((approval.mode, approval.loosest_mode))

    assert found == [("smart", "off"), ("smart", "edits")]


def test_a_disabled_tool_is_neither_offered_nor_run(folder: Path, own_home: Path) -> None:
    settings(folder, '[tools]\ndisabled = ["ba*"]\n', own_home=own_home)

    done = Done(folder, touch(), "--approve", "off")

    assert "bash" not in [tool["name"] for tool in done.bodies[0]["tools"]]
    assert not (folder / "made").exists()


def test_only_enabled_tools_are_offered(folder: Path, own_home: Path) -> None:
    settings(folder, '[tools]\nenabled = ["read_file", "gr*"]\n', own_home=own_home)

    done = Done(folder, Reply("fine"))

    assert sorted(tool["name"] for tool in done.bodies[0]["tools"]) == ["grep", "read_file"]


@pytest.mark.parametrize(
    ("enabled", "offered"),
    [
        ('["prun"]', {"read_file", "prun"}),
        ('["*"]', {"read_file"}),
        ('["grep", "revert_to_state"]', {"revert_to_state"}),
    ],
)
def test_optional_tools_are_offered_if_named(folder: Path, own_home: Path, enabled: str, offered: set[str]) -> None:
    settings(folder, f"[tools]\nenabled = {enabled}\n", own_home=own_home)

    done = Done(folder, Reply("fine"))

    names = {tool["name"] for tool in done.bodies[0]["tools"]}
    assert names & {"read_file", "prun", "prun_with_memo", "revert_to_state"} == offered


@pytest.mark.parametrize(("path", "is_written"), [("new.txt", True), (".vscode/tasks.json", False)])
def test_headless_approval_excludes_protected_paths(folder: Path, own_home: Path, path: str, is_written: bool) -> None:
    settings(folder, 'approval.headless = "allow"\n', own_home=own_home)

    done = Done(folder, write(path))

    assert (folder / path).exists() is is_written
    assert done.status == (0 if is_written else 4)


def test_an_invalid_deny_rule_stops_the_start_and_an_invalid_allow_rule_is_reported(
    folder: Path, own_home: Path
) -> None:
    settings(folder, '[permissions]\ndeny = ["bash("]\n', own_home=own_home)
    denied = Done(folder, touch())
    settings(folder, '[permissions]\nallow = ["bash("]\n', own_home=own_home)
    allowed = Done(folder, touch())

    assert (denied.status, denied.bodies) == (2, [])
    assert "config.toml, line 2" in denied.stderr
    assert "the rule has no effect" in allowed.stderr


def test_a_rule_for_a_missing_tool_is_reported(folder: Path) -> None:
    done = Done(folder, Reply("fine"), "--allow", "bahs(ls)")

    assert "there is no tool named bahs" in done.stderr


def test_a_mode_beyond_the_loosest_one_cannot_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    paths = find_paths(os.environ)
    options = Options(tmp_path, paths, os.environ, config_sources(paths, tmp_path), keep_session=False)
    settings = build({"model.name": "anthropic/fake-model", "approval.loosest_mode": "smart"})
    state = asyncio.run(assemble(options, settings, NonInteractive())).agent.state

    state.approval = "on"
    with pytest.raises(ConfigError, match="approval mode edits is not allowed here; smart is the least strict one"):
        state.approval = "edits"

    assert state.approval == "on"
