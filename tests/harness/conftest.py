from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from fakes.long_talk import writer
from fakes.people import ScriptedUser
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.events import Event
from harness.messages import Message
from harness.ports.provider import Model
from harness.ports.tool import Tool
from harness.workspace.workspace import Workspace
from providers.demo import DemoProvider, Reply, scripted
from tools import builtin_tools

MakeAgent = Callable[..., Agent]
AT_ONCE = RetryPolicy(initial=0.0, max_delay=0.0, empty_delay=0.0)


@pytest.fixture
def user() -> ScriptedUser:
    return ScriptedUser()


@pytest.fixture
def make_agent(user: ScriptedUser, tmp_path: Path) -> MakeAgent:
    """Create an agent in its own folder whose model plays the given replies."""

    def make(*script: Reply | str, tools: Sequence[Tool] = (), model: Model | None = None, **options: object) -> Agent:
        workspace = Workspace(tmp_path)
        base = AgentOptions(user=user, workspace=workspace, retry=AT_ONCE, spill_dir=tmp_path / "spill")
        return Agent(model or scripted(*script), tools, "You help.", replace(base, **options))

    return make


class Recorder:
    """All events in order."""

    def __init__(self, agent: Agent) -> None:
        self.events: list[Event] = []
        agent.subscribe(self.events.append)

    @property
    def names(self) -> list[str]:
        return [type(event).__name__ for event in self.events]

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def record() -> Callable[[Agent], Recorder]:
    return Recorder


def provider_of(agent: Agent) -> DemoProvider:
    provider = agent.state.model.provider
    assert isinstance(provider, DemoProvider)
    return provider


@pytest.fixture
def requests() -> Callable[[Agent], list]:
    return lambda agent: provider_of(agent).requests


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(root)


@pytest.fixture
async def agents(make_agent):
    """Create agents that may run commands, and close them."""
    made: list[Agent] = []

    def make(*script: Reply | str, tools: Sequence[object] = ()) -> Agent:
        made.append(make_agent(*script, tools=[*builtin_tools(), *tools], approval="off"))
        return made[-1]

    yield make
    for agent in made:
        await agent.close()


@pytest.fixture
def agent_with(make_agent):
    def make(
        messages: Sequence[Message], *replies: Reply | str, summaries: Sequence[Reply | str] = (), **options: object
    ) -> Agent:
        provider = writer(*replies, summaries=summaries)
        model = replace(scripted(), provider=provider)
        tools = options.pop("tools", (SimpleTool("read_file"),))
        return make_agent(model=model, messages=messages, tools=tools, **options)

    return make
