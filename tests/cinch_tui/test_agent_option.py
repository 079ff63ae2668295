"""`cinch --agent`: files and names, what an untrusted folder may set, the agent that results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.model_server import ModelServer, Reply
from fakes.runs import calls

from cinch_tui.assembly.building import assemble
from cinch_tui.cli.arguments import parse_arguments
from cinch_tui.cli.start import prepare
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.config.settings import Settings
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import TrustStore
from harness.errors import ConfigError
from harness.ports.interaction import NonInteractive
from providers.demo import scripted

AGENT = """
name = "reviewer"
system_prompt = "You review."
model = "anthropic/small"
tools = ["Read", "Grep"]
[limits]
max_turns = 3
max_cost_usd = 50.0
[approval]
mode = "off"
[permissions]
allow = ["bash(rm:*)"]
deny = ["read(secret/**)"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def started(project: Path, *arguments: str) -> tuple[Options, Settings]:
    return prepare(parse_arguments(["--cwd", str(project), *arguments]))


def write(path: Path, text: str = AGENT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def rules(options: Options) -> list[str]:
    return [f"{rule.effect} {rule.text}" for rule in options.rules]


def test_file_sets_what_the_user_could_set(project: Path, tmp_path: Path):
    options, settings = started(project, "--agent", str(write(tmp_path / "reviewer.toml")))

    assert options.agent is not None
    assert (options.agent.role.name, options.agent.system_prompt) == ("reviewer", "You review.")
    assert (settings.model.name, settings.tools.enabled) == ("anthropic/small", ("read_file", "grep"))
    assert (settings.limits.max_turns, settings.limits.max_cost_usd, settings.approval.mode) == (3, 50.0, "off")
    assert rules(options) == ["allow bash(rm:*)", "deny read(secret/**)"]


def test_flags_win_and_the_users_lists_of_tools_are_replaced(project: Path, tmp_path: Path):
    write(find_paths(os.environ).config_file, '[tools]\nenabled = ["bash"]\ndisabled = ["web_*"]\n')
    agent = write(tmp_path / "reviewer.toml")

    _, settings = started(project, "--agent", str(agent), "--max-turns", "9", "-m", "anthropic/large")

    assert (settings.model.name, settings.limits.max_turns) == ("anthropic/large", 9)
    assert (settings.tools.enabled, settings.tools.disabled) == (("read_file", "grep"), ("web_*",))


def test_file_of_a_project_only_restricts_until_its_content_is_trusted(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET", "secret")
    agent = write(
        project / ".cinch" / "agents" / "reviewer.toml", AGENT.replace("read(secret/**)", "read(${SECRET}/**)")
    )
    before, settings = started(project, "--agent", str(agent))
    paths = find_paths(os.environ)
    TrustStore(paths.trust_file).trust(inventory(project, paths.config_file))
    after, trusted = started(project, "--agent", "reviewer")
    agent.write_text(agent.read_text().replace("rm:*", "*"))
    changed, _ = started(project, "--agent", str(agent))

    assert (settings.limits.max_turns, settings.limits.max_cost_usd, settings.approval.mode) == (3, 10.0, "smart")
    assert (settings.model.name, rules(before), rules(changed)) == ("", [], [])
    assert f"{agent} is not trusted, so these keys have no effect" in " ".join(before.notices)
    assert (trusted.limits.max_cost_usd, trusted.approval.mode) == (50.0, "off")
    assert rules(after) == ["allow bash(rm:*)", "deny read(secret/**)"]


def test_file_elsewhere_in_a_project_is_never_trusted(project: Path):
    paths = find_paths(os.environ)
    TrustStore(paths.trust_file).trust(inventory(project, paths.config_file))

    options, settings = started(project, "--agent", str(write(project / "reviewer.toml")))

    assert (settings.approval.mode, rules(options)) == ("smart", ["deny read(secret/**)"])
    assert settings.tools.enabled == ("read_file", "grep")
    assert "move it to .cinch/agents, where it can be trusted" in " ".join(options.notices)


def test_untrusted_file_selects_from_the_tools_that_the_user_enables(project: Path):
    write(find_paths(os.environ).config_file, '[tools]\nenabled = ["grep", "web_*"]\n')
    narrow = write(project / "narrow.toml", 'tools = ["Read", "Grep", "WebFetch"]')
    other = write(project / "other.toml", 'tools = ["Bash"]')

    assert started(project, "--agent", str(narrow))[1].tools.enabled == ("grep", "web_fetch")
    assert started(project, "--agent", str(other))[1].tools.enabled == ("none",)


def test_subagent_is_named(project: Path):
    text = "---\nname: writer\ndescription: Writes\ntools: Read, Write\nmodel: sonnet\n---\nYou write."
    write(find_paths(os.environ).config / "agents" / "writer.md", text)

    options, settings = started(project, "--agent", "writer")

    assert options.agent is not None
    assert options.agent.system_prompt == "You write."
    assert settings.tools.enabled == ("read_file", "write_file")
    assert settings.model.name.startswith("anthropic/claude-sonnet-")


HOOKS = """---
name: writer
description: Writes
hooks:
  PreToolUse: [{hooks: [{type: command, command: "echo no writing >&2; exit 2"}]}]
  SessionStart: [{hooks: [{type: command, command: echo it is Friday}]}]
---
You write."""


@pytest.mark.parametrize(
    ("place", "trusts", "runs"),
    [("home", False, True), (".cinch/agents", True, True), (".cinch/agents", False, False), ("elsewhere", True, False)],
)
async def test_hooks_of_the_agent_run_if_its_file_is_trusted(project: Path, place: str, *, trusts: bool, runs: bool):
    folder = find_paths(os.environ).config / "agents" if place == "home" else project / place
    path = write(folder / "writer.md", HOOKS)
    paths = find_paths(os.environ)
    if trusts:
        TrustStore(paths.trust_file).trust(inventory(project, paths.config_file))
    options, settings = started(project, "--agent", str(path))
    model = scripted(calls("bash", command="touch made"), "done")

    assembly = await assemble(options, settings, NonInteractive(), model=model)
    await assembly.agent.prompt("go")
    await assembly.agent.close()

    texts = str(assembly.agent.messages)
    assert ("Blocked by a hook: no writing" in texts, "it is Friday" in texts) == (runs, runs)


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("wrter", "", "--agent: there is no agent 'wrter'; did you mean 'writer'?"),
        ("a.toml", None, "a.toml: cannot be read: no such file or directory"),
        ("a.toml", "[limits]\nmax_turn = 3", "a.toml: unknown key 'limits.max_turn'; did you mean 'limits.max_turns'?"),
        ("a.toml", "[limits]\nmax_turns = 'x'", "a.toml: limits.max_turns must be a whole number, not 'x'"),
        ("a.json", '{"mode": 1}', "a.json: unknown key 'mode'; these are allowed: name, description"),
    ],
)
def test_mistakes_are_explained(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, error: str
):
    monkeypatch.chdir(project.parent)
    write(find_paths(os.environ).config / "agents" / "writer.md", "---\nname: writer\n---\nYou write.")
    if text is not None:
        write(project.parent / name, text)

    with pytest.raises(ConfigError) as caught:
        started(project, "--agent", name)

    assert error in str(caught.value)


def test_print_mode_works_as_the_agent(project: Path, tmp_path: Path):
    write(project / "AGENTS.md", "Use tabs.")
    agent = write(tmp_path / "reviewer.yaml", "model: anthropic/small\nsystem_prompt: You review.\ntools: Read")
    with ModelServer([Reply("Fine.")]) as server:
        done = subprocess.run(
            [sys.executable, "-m", "cinch_tui", "-p", "--trust", "--agent", str(agent), "Review it."],
            cwd=project,
            env={**os.environ, "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    request = server.requests[0].body
    system = str(request["system"])
    assert (done.returncode, done.stdout) == (0, "Fine.\n"), done.stderr
    assert (request["model"], [tool["name"] for tool in request["tools"]]) == ("small", ["read_file"])
    assert "You review." in system
    assert "Use tabs." in system
    assert "You are cinch" not in system
