"""The dialect `claude`, in requests to a server and replies from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.model_server import ModelServer, Reply
from fakes.people import ScriptedUser
from fakes.runs import results_of

from cinch_tui.assembly.dialects import chosen_dialect
from harness import ConfigError
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore
from harness.messages import ModelSpec
from harness.workspace.workspace import Workspace
from providers import connect
from tools import builtin_tools

SCRIPT = [
    Reply("Reading.", calls=[("Read", {"file_path": "a.py", "limit": 5})]),
    Reply(
        calls=[
            ("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"}),
            ("Bash", {"command": "echo hi", "timeout": 5000, "description": "Greet"}),
            ("TodoWrite", {"todos": [{"content": "Look", "status": "pending", "activeForm": "Looking"}]}),
            ("Grep", {"pattern": "A", "-i": True, "head_limit": 3, "output_mode": "content"}),
            ("Bash", {"command": "git push"}),
        ]
    ),
    Reply("Done."),
]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPT) as server:
        yield server


@pytest.fixture
async def agent(server: ModelServer, tmp_path: Path) -> AsyncIterator[Agent]:
    (tmp_path / "a.py").write_text("a = 1\n")
    options = AgentOptions(
        workspace=Workspace(tmp_path),
        user=ScriptedUser(),
        approval="off",
        grants=RuleStore(rules=[parse_rule("bash(git push:*)", "deny")]),
        dialect=chosen_dialect(["anthropic/*=claude"], ModelSpec("anthropic", "claude-x")),
    )
    model = connect("anthropic/claude-x", base_url=server.url, api_key="sk-x")
    prompt = 'Use read_file.\n\n<instructions file="AGENTS.md">\nread_file is our function\n</instructions>'
    agent = Agent(model, builtin_tools(), prompt, options)
    yield agent
    await agent.close()
    await model.provider.close()


def declared(server: ModelServer) -> dict[str, Any]:
    return {tool["name"]: tool for tool in server.requests[0].body["tools"]}


async def test_calls_in_the_dialect_run_as_those_of_cinch(agent: Agent, tmp_path: Path):
    await agent.prompt("go")

    results = results_of(agent)
    assert (tmp_path / "a.py").read_text() == "a = 2\n"
    assert [each.tool_name for each in results] == ["read_file", "edit_file", "bash", "todo", "grep", "bash"]
    assert [each.is_error for each in results] == [False] * 5 + [True]
    assert "a = 2" in results[4].text
    calls = [call for message in agent.history.messages for call in getattr(message, "tool_calls", ())]
    assert calls[1].arguments == {"path": "a.py", "old_string": "1", "new_string": "2"}
    assert calls[2].arguments == {"command": "echo hi", "timeout_s": 5.0, "description": "Greet"}


async def test_requests_have_names_schemas_and_history_of_the_dialect(agent: Agent, server: ModelServer):
    await agent.prompt("go")

    tools = declared(server)
    assert {"Read", "Edit", "Write", "Bash", "Grep", "Glob", "TodoWrite", "WebFetch"} <= tools.keys()
    assert not {"read_file", "edit_file", "bash", "grep"} & tools.keys()
    edit, bash = (tools[name]["input_schema"] for name in ("Edit", "Bash"))
    assert list(edit["properties"]) == ["file_path", "old_string", "new_string", "replace_all"]
    assert edit["required"] == ["file_path"]
    assert bash["properties"]["timeout"]["default"] == 120_000
    assert "Read" in tools["Edit"]["description"]
    assert "read_file" not in tools["Edit"]["description"]
    last = server.requests[-1].body
    system = last["system"][0]["text"]
    assert system.startswith("Use Read.")
    assert "read_file is our function" in system
    used = [block for message in last["messages"] for block in message["content"] if block["type"] == "tool_use"]
    assert used[2]["input"] == {"command": "echo hi", "timeout": 5000, "description": "Greet"}
    assert [block["name"] for block in used] == ["Read", "Edit", "Bash", "TodoWrite", "Grep", "Bash"]


async def test_name_of_the_dialect_that_another_tool_has_is_left_to_it(agent: Agent, server: ModelServer):
    def read(file_path: str) -> str:
        """Reads aloud."""
        return f"read {file_path} aloud"

    read.__name__ = "Read"
    agent.set_tools([*agent.state.tools, read])
    await agent.prompt("go")

    names = [tool["name"] for tool in server.requests[0].body["tools"]]
    assert {"Read", "read_file", "Edit"} <= set(names)
    assert len(set(names)) == len(names)
    assert results_of(agent)[0].tool_name == "Read"
    assert server.requests[0].body["system"][0]["text"].startswith("Use read_file.")


def test_first_entry_that_fits_a_model_chooses_its_dialect():
    openai, anthropic = ModelSpec("openai", "gpt-5"), ModelSpec("anthropic", "a")
    choose = chosen_dialect(["openai/*=cinch", "claude"], openai)
    assert choose is not None

    assert choose(openai) is None
    assert getattr(choose(anthropic), "name", "") == "claude"
    assert chosen_dialect(["cinch", "anthropic/*=cats"], openai) is None
    assert getattr((chosen_dialect(["anthropic/*=cats"], anthropic) or choose)(openai), "name", "") == "cats"
    with pytest.raises(ConfigError, match=r"there is no dialect 'claud'.*claude"):
        chosen_dialect(["anthropic/*=claud"], openai)
