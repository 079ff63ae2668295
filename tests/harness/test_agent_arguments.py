"""Values accepted by `Agent` as a model and as tools."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from fakes.model_server import ModelServer, Reply
from fakes.simple_tools import SimpleTool

from harness.agent import arguments
from harness.agent.agent import Agent
from harness.errors import ConfigError
from harness.function_tools.function_tool import SchemaTool, tool
from harness.messages import JsonObject
from harness.ports.tool import ToolContext
from providers.demo import scripted

ROOT = Path(__file__).parents[2]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Create a folder of installed packages that declares the entry point as our own package does."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    info = tmp_path / "site" / "some_package-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-package\nVersion: 1\n")
    [(name, target)] = declared[arguments.GROUP].items()
    (info / "entry_points.txt").write_text(f"[{arguments.GROUP}]\n{name} = {target}\n")
    monkeypatch.syspath_prepend(str(info.parent))
    arguments._connect.cache_clear()
    yield info
    arguments._connect.cache_clear()


@pytest.mark.usefixtures("installed")
async def test_model_is_accepted_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([Reply("Hi"), Reply("Ho")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-12345678")
        async with Agent("anthropic/claude-sonnet-5-5") as agent:
            texts = [(await agent.prompt("Hello")).text]
            agent.set_model("anthropic/claude-haiku-5-5")
            texts.append((await agent.prompt("Hello")).text)

    assert texts == ["Hi", "Ho"]
    assert [request.body["model"] for request in server.requests] == ["claude-sonnet-5-5", "claude-haiku-5-5"]


@pytest.mark.usefixtures("installed")
def test_unknown_model_name_raises_in_the_constructor() -> None:
    with pytest.raises(ConfigError, match="did you mean anthropic"):
        Agent("antropic/claude")


def test_name_without_an_installed_provider_package_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    arguments._connect.cache_clear()

    with pytest.raises(ConfigError, match=r"install cinch-tui, or pass a model, as in Agent\(connect"):
        Agent("anthropic/claude-sonnet-5-5")


def test_invalid_model_raises_in_the_constructor() -> None:
    with pytest.raises(ConfigError, match="is not a model"):
        Agent(42)  # pyright: ignore[reportArgumentType]


def test_the_harness_imports_no_provider_for_a_model_object() -> None:
    code = (
        "import sys; from harness import Agent; from providers.demo import scripted; model = scripted('Hi');"
        "before = set(sys.modules); Agent(model);"
        "watched = {'importlib.metadata', 'harness.function_tools.function_tool', 'pydantic'};"
        "print(sorted(watched & (set(sys.modules) - before)))"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


async def test_plain_function_becomes_a_tool() -> None:
    from providers.demo import Call
    from providers.demo import Reply as Scripted

    agent = Agent(scripted(Scripted((Call("add", {"a": 2, "b": 3}),)), "5"), [add, SimpleTool("look")])
    agent.state.approval = "off"

    result = await agent.prompt("2 + 3?")

    assert [each.name for each in agent.state.tools] == ["add", "look"]
    assert agent.state.tools[0].description == "Add two numbers."
    assert result.messages[2].content[0].text == "5"


def test_functions_can_be_added_and_set_later() -> None:
    agent = Agent(scripted("Hi"))

    agent.add_tool(add)
    with pytest.raises(ConfigError, match="two tools have the same name: add"):
        agent.add_tool(tool(add))
    agent.set_tools([add])

    assert [each.name for each in agent.state.tools] == ["add"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (SimpleTool, "SimpleTool in tools is a class: pass an instance"),
        (lambda: 1, "a lambda in tools has no name"),
        (42, "42 in tools is not a tool: pass a function"),
        ("bash", "'bash' in tools is not a tool"),
        (partial(add, 1), "is not a tool: pass a function"),
        (len, "has no type hint|positional-only"),
    ],
)
def test_invalid_tool_raises_in_the_constructor(given: object, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Agent(scripted("Hi"), [given])  # pyright: ignore[reportArgumentType]


async def work(arguments: JsonObject, context: ToolContext) -> object:
    return arguments


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "objekt"}, "the schema of look is invalid"),
        ({"type": "object", "properties": {"a": {"minimum": "one"}}}, "the schema of look is invalid: "),
        ({"type": "array"}, "the schema of look must be of type object"),
        ({"type": "object", "default": object()}, "the schema of look is not JSON"),
    ],
)
def test_invalid_schema_raises_in_the_tool_constructor(schema: JsonObject, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        SchemaTool("look", "Looks.", schema, work)
