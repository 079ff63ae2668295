"""Requests of a session: each begins with all that was sent before, byte for byte, so that services find it cached."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fakes.asking import said_in
from fakes.model_server import Cut, ModelServer, Reply
from fakes.people import ScriptedUser
from fakes.prompt_cache import MARK

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.assembly.building import assemble, wanted_session
from cinch_tui.cli.arguments import parse_arguments
from cinch_tui.cli.start import prepare
from harness.approval.modes import EXECUTE, PLAN
from harness.events import Event, ToolExecutionStart

MODELS = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "openai": "openai/gpt-5",
    "openrouter": "openrouter/anthropic/claude-sonnet-4.5",
}
TODOS = [{"content": "Look", "status": "in_progress"}, {"content": "Write", "status": "pending"}]
SCRIPT = [
    Reply("Looking.", thinking="Where?", calls=[("read_file", {"path": "a.py"}), ("todo", {"todos": TODOS})]),
    Cut(Reply("half of a reply"), after_events=3),
    Reply("It says é\u2028ü."),
    Reply(calls=[("write_file", {"path": "b.py", "content": "x"})]),
    Reply("", thinking="Hm.", calls=[("todo", {"todos": [{**TODOS[0], "status": "completed"}]})]),
    Reply("A plan."),
    Reply(
        "Writing.", calls=[("write_file", '{"path": "b.py", '), ("write_file", {"content": "x = 1\n", "path": "b.py"})]
    ),
    Reply(calls=[("bash", {"command": "seq 3000"}), ("read_file", {"path": "missing"})]),
    Reply("Done."),
    Reply("Other."),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / "AGENTS.md").write_text("Use tabs.")
    (root / "a.py").write_text("print('é')\n" * 50)
    return root


@pytest.fixture(params=MODELS)
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer([*SCRIPT, *[Reply("More.")] * 10]) as server:
        monkeypatch.setenv(f"{request.param.upper()}_API_KEY", "sk-x")
        monkeypatch.setenv("CINCH_MODEL", MODELS[request.param])
        monkeypatch.setenv("CINCH_MODEL_BASE_URL", server.url if request.param == "anthropic" else server.openai_url)
        yield server


async def opened(folder: Path, *arguments: str) -> Assembly:
    """Return the agent as the app assembles it, in a trusted folder, with approval off."""
    options, settings = prepare(parse_arguments(["--cwd", str(folder), "--trust", "--approve", "off", *arguments]))
    return await assemble(options, settings, ScriptedUser(), wanted_session(options))


async def closed(assembly: Assembly) -> None:
    await assembly.agent.close()
    assembly.close()


def in_new_process(folder: Path, prompt: str, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "cinch_tui", "-p", prompt, "--trust", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )


def steer_at_a_command(assembly: Assembly) -> None:
    def steer(event: Event) -> None:
        if isinstance(event, ToolExecutionStart) and event.call.name == "bash":
            assembly.agent.steer("be brief")

    assembly.agent.subscribe(steer)


def without_marks(value: Any) -> Any:
    """Return part of a request without its cache markers, whose places move."""
    if isinstance(value, dict):
        return {name: without_marks(each) for name, each in value.items() if name != MARK}
    return [without_marks(each) for each in value] if isinstance(value, list) else value


def pieces(body: dict[str, Any]) -> list[str]:
    """Return the beginning of a request in caching order: tools, system prompt, and each block of a message."""
    beginning = [body.get("tools"), body.get("system"), body.get("instructions")]
    blocks: list[Any] = []
    for message in said_in(body):
        content = message.get("content")
        # Blocks are compared one by one, because a prompt after a failed reply joins the user's turn before it.
        parts = content if isinstance(content, list) else [content]
        blocks += [{**message, "content": part} for part in parts]
    return [json.dumps(without_marks(each), ensure_ascii=False) for each in (*beginning, *blocks)]


async def test_each_request_of_a_session_begins_with_all_that_was_sent_before(
    folder: Path, server: ModelServer
) -> None:
    assembly = await opened(folder)
    agent = assembly.agent
    steer_at_a_command(assembly)
    await agent.prompt("look")
    agent.set_mode(PLAN)
    await agent.prompt("plan")
    agent.set_mode(EXECUTE)
    (folder / "AGENTS.md").write_text("Use spaces.")
    (folder / ".git/HEAD").write_text("ref: refs/heads/topic\n")
    await agent.prompt("write")
    session = agent.session_id
    await closed(assembly)
    in_new_process(folder, "go on", "-r", session)
    resumed = await opened(folder, "-r", session)
    await resumed.agent.prompt("and on")
    await closed(resumed)
    in_new_process(folder, "differently", "-r", session, "--fork")

    bodies = [recorded.body for recorded in server.requests]
    assert len(bodies) == len(SCRIPT) + 2
    sent_at_last = json.dumps(said_in(bodies[-1]))
    assert all(text in sent_at_last for text in ("Plan mode is on", "Plan mode is off", "Use spaces.", "be brief"))
    for number, (before, after) in enumerate(pairwise(bodies)):
        sent, begun = pieces(before), pieces(after)[: len(pieces(before))]
        changed = [place for place in range(len(sent)) if sent[place : place + 1] != begun[place : place + 1]]
        assert changed == [], (number, sent[changed[0]][:500], (begun[changed[0] :] or [""])[0][:500])
    marks = [json.dumps(body).count(f'"{MARK}"') for body in bodies]
    assert max(marks) <= 4
