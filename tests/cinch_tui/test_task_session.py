"""Task types in a start of cinch: trust, choice, classification by a model, the command."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from subprocess import run

import pytest
from fakes.model_server import Failure, Hang, ModelServer, Reply
from fakes.recording_host import RecordingHost
from fakes.runs import texts_of, until
from fakes.script import Item
from msgspec.structs import replace

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.assembly.building import assemble
from cinch_tui.cli.start import config_sources
from cinch_tui.commands.tasks import task_commands
from cinch_tui.config.agent_options import apply_to_agent
from cinch_tui.config.names import build
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import TrustStore, session_pins
from extensions.lifecycle import classification
from extensions.lifecycle.run_task import RunTask
from harness.errors import ConfigError
from harness.events import Notice, UsageAdded
from harness.ports.interaction import NonInteractive

Start = Callable[..., Awaitable[Assembly]]
QUERY = """
description = "Answer a question"
keywords = ["what", "why"]
template = "Answer on {{ git_branch }} with {{ tool_names | first }}."
tools = ["read_file", "grep"]
"""
FEATURE = 'description = "Build something new"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name, text in (("query", QUERY), ("feature", FEATURE)):
        path = folder / ".cinch" / "tasks" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer([Reply("done")] * 5) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


@pytest.fixture
async def start(project: Path) -> AsyncIterator[Start]:
    """Start cinch in the project, and close its agent."""
    made: list[Assembly] = []
    paths = find_paths(os.environ)

    async def start(*, task: str = "", trusted: bool = True, model: str = "") -> Assembly:
        if trusted:
            TrustStore(paths.trust_file).trust(inventory(project, paths.config_file))
        options = Options(project, paths, os.environ, config_sources(paths, project), keep_session=False, task=task)
        settings = build({"model.name": "anthropic/main", "retry.max_retries": 0, "tasks.model": model})
        made.append(await assemble(options, settings, NonInteractive()))
        return made[-1]

    yield start
    for each in made:
        await each.agent.close()


async def test_type_of_a_prompt_reaches_the_model(start: Start, server: ModelServer):
    assembly = await start()

    await assembly.agent.prompt("What is it?")
    await assembly.agent.prompt("Go on.")

    assert texts_of(assembly.agent) == [
        "What is it?",
        "[Task type: query (matches What). Use only these tools: read_file, grep.]\n\nAnswer on main with read_file.",
        "Go on.",
    ]
    tools = [request.body["tools"] for request in server.requests]
    assert tools[0] == tools[1]


async def test_task_types_of_a_project_need_trust(start: Start, project: Path, server: ModelServer):
    assembly = await start(trusted=False)
    await assembly.agent.prompt("What is it?")
    options = assembly.options

    pins = session_pins(inventory(project, options.paths.config_file))
    trusting = replace(options, sources=replace(options.sources, session_pins=pins))
    await assembly.reload_folder(trusting, assembly.settings)
    await assembly.agent.prompt("Why?")
    await assembly.reload_folder(options, assembly.settings)
    await assembly.agent.prompt("What?")

    texts = texts_of(assembly.agent)
    assert (texts[:2], texts[3:]) == (["What is it?", "Why?"], ["What?"])
    assert texts[2].startswith("[Task type: query (matches Why).")


async def test_chosen_type_is_that_of_the_next_prompt_only(start: Start, server: ModelServer):
    assembly = await start(task="feature")

    await assembly.agent.prompt("What is it?")
    await assembly.agent.prompt("Why?")
    assembly.tasks.choose("none")
    await assembly.agent.prompt("What?")

    heads = [text.partition("]")[0] for text in texts_of(assembly.agent) if text.startswith("[")]
    assert heads[0] == "[Task type: feature (chosen by the user)."
    assert heads[1].startswith("[Task type: query (matches Why).")
    assert len(heads) == 2


async def test_unknown_type_is_an_error_with_a_suggestion(start: Start, server: ModelServer):
    with pytest.raises(ConfigError, match="there is no task type 'querry'; did you mean 'query'"):
        await start(task="querry")


async def test_model_classifies_what_no_rule_matches(start: Start, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    with ModelServer([Reply("The type is: `feature`."), Reply("done")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await start(model="anthropic/small")
        added: list[UsageAdded] = []
        assembly.agent.subscribe(lambda event: added.append(event) if isinstance(event, UsageAdded) else None)

        await assembly.agent.prompt("Add a button")

    question, prompt = (request.body for request in server.requests)
    assert question["model"] == "small"
    assert "- feature: Build something new" in str(question["messages"])
    assert "[Task type: feature (chosen by anthropic/small).]" in str(prompt["messages"])
    assert [each.source for each in added] == ["task"]


@pytest.mark.parametrize("item", [Failure(500, "overloaded"), Reply("no idea"), Hang(Reply("x"))])
async def test_failed_classification_sends_the_prompt_without_a_type(
    start: Start, item: Item, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(classification, "TIMEOUT_S", 0.3)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    with ModelServer([item, Reply("done")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await start(model="anthropic/small")

        result = await assembly.agent.prompt("Add a button")

    assert (result.text, texts_of(assembly.agent)) == ("done", ["Add a button"])


async def test_stopping_the_classification_keeps_the_prompt(start: Start, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    with ModelServer([Hang(Reply("x"))]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await start(model="anthropic/small")

        prompted = asyncio.create_task(assembly.agent.prompt("Add a button"))
        await until(lambda: server.requests)
        assembly.agent.abort()

        assert (await prompted).stop_reason == "aborted"
    assert texts_of(assembly.agent) == ["Add a button"]


async def test_changed_settings_keep_the_task_types(start: Start, server: ModelServer):
    assembly = await start()

    apply_to_agent(assembly.agent, build({"limits.max_turns": 9}), {"limits.max_turns"})

    assert any(isinstance(each, RunTask) for each in assembly.agent.options.hooks)


async def test_command_lists_and_chooses_types(start: Start, server: ModelServer):
    assembly = await start()
    host = RecordingHost()
    [command] = task_commands(assembly.tasks).commands
    await assembly.agent.prompt("What is it?")

    await command.handler(host, "")
    await command.handler(host, "feature")

    assert "**query** Answer a question · tools: read_file, grep" in str(host.calls)
    assert "Of the last prompt: query (matches What)." in str(host.calls)
    assert assembly.tasks.chosen == "feature"
    assert command.arguments is not None
    assert [each.value for each in command.arguments(host)] == ["feature", "query", "none", "auto"]


async def test_broken_template_is_reported_and_the_prompt_is_sent(start: Start, project: Path, server: ModelServer):
    path = project / ".cinch" / "tasks" / "query.toml"
    path.write_text("keywords = ['what']\ntemplate = '{{ prompt | join }}'")
    assembly = await start()
    notices: list[str] = []
    assembly.agent.subscribe(lambda event: notices.append(event.text) if isinstance(event, Notice) else None)

    await assembly.agent.prompt("What?")

    assert texts_of(assembly.agent)[1] == "[Task type: query (matches What).]"
    assert str(path) in notices[0]


def test_without_task_types_nothing_is_loaded(tmp_path: Path):
    code = (
        "import asyncio, os, sys; from pathlib import Path\n"
        "from cinch_tui.assembly.building import assemble\n"
        "from cinch_tui.cli.start import config_sources\n"
        "from cinch_tui.config.names import build\n"
        "from cinch_tui.config.options import Options\n"
        "from cinch_tui.config.paths import find_paths\n"
        "from harness.ports.interaction import NonInteractive\n"
        "paths, here = find_paths(os.environ), Path.cwd()\n"
        "options = Options(here, paths, os.environ, config_sources(paths, here), keep_session=False)\n"
        "settings = build({'model.name': 'demo/tour'})\n"
        "assembly = asyncio.run(assemble(options, settings, NonInteractive()))\n"
        "print([name for name in sys.modules if name.startswith(('extensions.lifecycle', 'jinja2', 'dotenv'))])"
    )
    done = run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("[]\n", "")


async def test_classifier_of_a_package_is_asked_and_a_broken_one_reported(
    start: Start, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "packages"
    info = folder / "by_length-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: by-length\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[cinch.task_classifiers]\nb = by_length:ByLength\nc = by_length:Missing\n")
    (folder / "by_length.py").write_text(
        "from extensions.lifecycle.classification import Classification\n"
        "class ByLength:\n"
        "    async def classify(self, prompt, types):\n"
        "        return Classification('feature', 'a short prompt')\n"
    )
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    assembly = await start()

    await assembly.agent.prompt("Add a button")

    assert texts_of(assembly.agent)[1] == "[Task type: feature (a short prompt).]"
    assert any("the task classifier 'c' of the package by-length 1" in each for each in assembly.warnings)
