"""The dialect `codex`: tools for edits that follow the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.model_server import Failure, ModelServer, Reply
from fakes.people import ScriptedUser

from cinch_tui.assembly.dialects import chosen_dialect
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.messages import ModelSpec
from harness.ports.provider import Model
from harness.workspace.workspace import Workspace
from providers import connect
from tools import builtin_tools

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-a = 1\n+a = 2\n*** End Patch"
EDITS = {"edit_file", "write_file"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer([]) as server:
        yield server


def named(server: ModelServer, request: int) -> set[str]:
    """Return the names of the declared tools, in the wires of Anthropic and OpenAI."""
    return {str(tool.get("name")) for tool in server.requests[request].body["tools"]}


def openai_model(server: ModelServer, name: str = "gpt-5.2-codex") -> Model:
    return connect(f"openai/{name}", base_url=server.openai_url, api_key="sk-x")


@pytest.fixture
def patcher(server: ModelServer, tmp_path: Path) -> Agent:
    """An agent with all tools for files, whose dialects are those of a start without settings."""
    (tmp_path / "a.py").write_text("a = 1\n")
    model = openai_model(server)
    options = AgentOptions(
        workspace=Workspace(tmp_path), user=ScriptedUser(), approval="off", dialect=chosen_dialect([], model.spec)
    )
    return Agent(model, builtin_tools(optional=["apply_patch"]), "Use edit_file.", options)


async def test_tools_for_edits_follow_the_model_within_a_session(patcher: Agent, server: ModelServer, tmp_path: Path):
    server._script = [
        Reply(calls=[("read_file", {"path": "a.py"})]),
        Reply(calls=[("apply_patch", {"patch": PATCH})]),
        Reply("Done."),
        Reply(calls=[("edit_file", {"path": "a.py", "old_string": "2", "new_string": "3"})]),
        Reply("Done."),
    ]
    await patcher.prompt("go")
    assert (tmp_path / "a.py").read_text() == "a = 2\n"

    patcher.set_model(connect("anthropic/claude-x", base_url=server.url, api_key="sk-x"))
    await patcher.prompt("go on")
    await patcher.close()

    assert (tmp_path / "a.py").read_text() == "a = 3\n"
    assert named(server, 0) & {"apply_patch", *EDITS} == {"apply_patch"}
    assert "Use apply_patch." in str(server.requests[0].body)
    assert named(server, 3) & {"apply_patch", *EDITS} == EDITS
    assert server.requests[3].body["system"][0]["text"].startswith("Use edit_file.")


async def test_fallback_model_is_offered_its_own_tools_for_edits(server: ModelServer, tmp_path: Path):
    server._script = [Failure(400, "no"), Reply("Done.")]
    options = AgentOptions(
        workspace=Workspace(tmp_path),
        dialect=chosen_dialect([], ModelSpec("anthropic", "claude-x")),
        fallback=[openai_model(server)],
    )
    model = connect("anthropic/claude-x", base_url=server.url, api_key="sk-x")
    agent = Agent(model, builtin_tools(optional=["apply_patch"]), "You help.", options)
    await agent.prompt("go")
    await agent.close()

    assert named(server, 0) & {"apply_patch", *EDITS} == EDITS
    assert named(server, 1) & {"apply_patch", *EDITS} == {"apply_patch"}


async def test_call_of_a_tool_that_the_model_is_not_offered_runs_nevertheless(
    patcher: Agent, server: ModelServer, tmp_path: Path
):
    server._script = [Reply(calls=[("write_file", {"path": "b.py", "content": "b"})]), Reply("Done.")]
    await patcher.prompt("go")
    await patcher.close()

    assert (tmp_path / "b.py").read_text() == "b"


async def test_edit_tools_stay_for_an_agent_without_apply_patch(server: ModelServer, tmp_path: Path):
    server._script = [Reply("Done.")]
    model = openai_model(server)
    options = AgentOptions(workspace=Workspace(tmp_path), dialect=chosen_dialect([], model.spec))
    agent = Agent(model, builtin_tools(), "Use edit_file.", options)
    await agent.prompt("go")
    await agent.close()

    assert named(server, 0) & {"apply_patch", *EDITS} == EDITS
    assert "Use edit_file." in str(server.requests[0].body)


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("openai/gpt-5", "codex"),
        ("openrouter/openai/gpt-5.1-mini", "codex"),
        ("openai/codex-mini-latest", "codex"),
        ("openai/gpt-4.1", "cinch"),
        ("groq/openai/gpt-oss-120b", "cinch"),
        ("anthropic/claude-sonnet-4-5", "cinch"),
    ],
)
def test_models_trained_with_apply_patch_have_the_dialect_codex(name: str, dialect: str):
    spec = ModelSpec(*name.split("/", 1))

    assert chosen_dialect([], spec)(spec).name == dialect
    assert chosen_dialect(["cinch"], spec)(spec).name == "cinch"
