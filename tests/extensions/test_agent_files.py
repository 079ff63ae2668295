from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.simple_tools import SimpleTool

from extensions.agent_files import AgentFile, read_agent_file
from extensions.agent_options import create_agent
from harness.agent.options import AgentOptions
from harness.approval.modes import PLAN
from harness.errors import ConfigError
from harness.ports.interaction import NonInteractive
from harness.ports.provider import Model
from harness.thinking_level import ThinkingLevel
from providers.demo import scripted

TOML = """
name = "reviewer"
description = "Reviews changes"
model = "demo/small"
system_prompt = "You review."
tools = ["Read", "grep"]

[limits]
max_turns = 3
max_cost_usd = 0.5

[permissions]
deny = ["bash(git push:*)"]
"""
DATA = {
    "name": "reviewer",
    "description": "Reviews changes",
    "model": "demo/small",
    "system_prompt": "You review.",
    "tools": ["Read", "grep"],
    "limits": {"max_turns": 3, "max_cost_usd": 0.5},
    "permissions": {"deny": ["bash(git push:*)"]},
}
YAML = """
name: reviewer
description: Reviews changes
model: demo/small
system_prompt: |
  You review.
tools: Read, grep
limits: {max_turns: 3, max_cost_usd: 0.5}
permissions:
  deny: ["bash(git push:*)"]
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def read(folder: Path, text: str) -> AgentFile:
    return read_agent_file(write(folder, "a.toml", text))


NO_USER = NonInteractive()


class Connections:
    def __init__(self) -> None:
        self.made: list[tuple[str, ThinkingLevel]] = []

    def __call__(self, name: str, /, *, thinking: ThinkingLevel) -> Model:
        self.made.append((name, thinking))
        return scripted("ok")


@pytest.mark.parametrize(("name", "text"), [("a.toml", TOML), ("a.json", json.dumps(DATA)), ("a.yaml", YAML)])
def test_formats_say_the_same(tmp_path: Path, name: str, text: str):
    file = read_agent_file(write(tmp_path, name, text))

    assert (file.role.name, file.role.description, file.system_prompt) == ("reviewer", "Reviews changes", "You review.")
    assert file.settings == {
        "model.name": "demo/small",
        "tools.enabled": ["read_file", "grep"],
        "limits.max_turns": 3,
        "limits.max_cost_usd": 0.5,
        "permissions.deny": ["bash(git push:*)"],
    }


def test_file_of_a_subagent_is_an_agent_file(tmp_path: Path):
    text = "---\nname: writer\nmodel: inherit\ntools: []\ncolor: red\npermissionMode: plan\nmaxTurns: 4\n---\nWrite.\n"

    file = read_agent_file(write(tmp_path, "a.md", text))

    assert (file.role.name, file.system_prompt) == ("writer", "Write.")
    assert file.settings == {
        "tools.enabled": ["none"],
        "limits.max_turns": 4,
        "limits.max_turns_headless": 4,
        "plan.enabled": True,
    }


def test_prompt_is_read_from_a_file_below_that_of_the_agent(tmp_path: Path):
    (tmp_path / "prompts").mkdir()
    write(tmp_path, "prompts/review.md", "You review.\n")
    write(tmp_path, "secret", "key")
    folder = tmp_path / "agents"
    folder.mkdir()

    assert read(tmp_path, 'system_prompt = "file:prompts/review.md"').system_prompt == "You review.\n"
    with pytest.raises(ConfigError, match=r"system_prompt: file:\.\./secret is not below .*agents"):
        read(folder, 'system_prompt = "file:../secret"')


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nam = 'a'", "a.toml: unknown key 'nam'; these are allowed: name, description, system_prompt, model, tools"),
        ("tools = 3", "a.toml: tools must be a list of names"),
        ("maxTurns = 'x'", "a.toml: maxTurns must be a number"),
        ("name = ", "a.toml: is not valid: "),
        ("system_prompt = 'file:gone.md'", "gone.md: cannot be read: no such file or directory"),
    ],
)
def test_mistakes_name_the_file_the_key_and_what_is_allowed(tmp_path: Path, text: str, error: str):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)

    assert error in str(caught.value)


def test_file_of_another_kind_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"ends in \.toml, \.json, \.yaml, \.yml, \.md"):
        read_agent_file(write(tmp_path, "a.txt", ""))


def test_program_gets_the_agent_of_a_file(tmp_path: Path):
    connections = Connections()
    tables = "[plan]\nenabled = true\n[context]\ncompact_at = 0.5\n[subagents]\nmax_tokens = 7\n"
    file = read(tmp_path, TOML + tables)

    agent = create_agent(file, connections, [SimpleTool("read_file"), SimpleTool("bash")], AgentOptions(user=NO_USER))

    options = agent.options
    assert connections.made == [("demo/small", "off")]
    assert [tool.name for tool in agent.state.tools] == ["read_file"]
    assert agent.state.system_prompt == "You review."
    assert (options.limits.max_turns, options.limits.max_cost) == (3, 0.5)
    assert (options.window.compact_at, options.subagents.token_budget) == (0.5, 7)
    assert options.user is NO_USER
    assert agent.state.mode is PLAN
    assert [str(rule) for rule in agent.state.permissions.store.of("deny")] == ["bash(git push:*)"]


def test_variables_and_thinking_are_used(tmp_path: Path):
    connections = Connections()
    text = '[model]\nname = "${PLACE}/small"\nthinking = "high"\n[limits]\nmax_turns = "${TURNS:-4}"\n'

    agent = create_agent(read(tmp_path, text), connections, environ={"PLACE": "demo"})

    assert connections.made == [("demo/small", "high")]
    assert agent.options.limits.max_turns == 4
    assert agent.state.system_prompt == "You are a helpful assistant."


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("skills = ['style']", "a.toml: skills: programs have none; put the instructions into system_prompt"),
        ("", "a.toml: model is missing; name one as provider/model"),
        ("model = '${GONE}'", "a.toml: model.name needs the environment variable GONE, which is not set"),
        (
            "model = 'a/b'\n[limits]\nmax_turn = 3",
            "a.toml: unknown setting limits.max_turn; did you mean limits.max_turns?",
        ),
        ("model = 'a/b'\n[limits]\nmax_turns = -1", "a.toml: limits.max_turns must be at least 0, not -1"),
        ("model = 'a/b'\n[limits]\nmax_cost_usd = nan", "a.toml: limits.max_cost_usd must be at least 0, not nan"),
        ("model = 'a/b'\n[limits]\nmax_turns = 'x'", "a.toml: limits.max_turns: expected `int`, got `str`"),
        ("model = 'a/b'\n[approval]\nmode = 'never'", "a.toml: approval.mode: invalid enum value 'never'"),
        ("model = 'a/b'\n[ui]\ntheme = 'x'", "a.toml: unknown setting ui.theme; programs have approval.mode, context."),
    ],
)
def test_setting_that_programs_cannot_use_is_an_error(tmp_path: Path, text: str, error: str):
    with pytest.raises(ConfigError) as caught:
        create_agent(read(tmp_path, text), Connections(), environ={})

    assert error in str(caught.value)
