"""Hooks in the metadata of skills and commands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from fakes.file_templates import sent, start_agent, use_of, write
from fakes.model_server import ModelServer, Reply

from cinch_tui.assembly.assembly import Assembly
from harness.errors import CinchError

Start: TypeAlias = Callable[[], Awaitable[Assembly]]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer([Reply("Done.")] * 3) as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.txt").write_text("alpha\n")
    return tmp_path


@pytest.fixture
async def start(folder: Path) -> AsyncIterator[Start]:
    """Start an agent in the folder, which is trusted as it is then."""
    started: list[Assembly] = []

    async def start() -> Assembly:
        started.append(await start_agent(folder))
        return started[-1]

    yield start
    for each in started:
        await each.agent.close()


RUN_HOOKS = """---
name: a
description: A
allowed-tools: Bash(touch:*)
hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: >-
            grep -q keep && { echo 'not this one' >&2; exit 2; } || true
  Stop:
    - hooks:
        - type: command
          command: test -f made || { echo 'make it first' >&2; exit 2; }
---
Make $1
"""


@pytest.mark.parametrize("name", ["commands/a.md", "skills/a/SKILL.md"])
async def test_hooks_of_a_file_apply_to_its_run_only(
    folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(folder, name, RUN_HOOKS)
    script: list[Any] = [("touch", "keep"), "Done.", ("touch", "made"), "Done.", "No hooks."]
    replies = [
        Reply(calls=[("bash", {"command": " ".join(each)})]) if each[0] == "touch" else Reply(each) for each in script
    ]
    with ModelServer(replies) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await start()

        await use_of(assembly, "/a it").run(print)
        (folder / "made").unlink()
        result = await assembly.agent.prompt("Again")

        assert "Blocked by a hook: not this one" in sent(server)
        assert "make it first" in sent(server)
    assert result.text == "No hooks."


async def test_hooks_of_a_skill_that_the_model_starts_apply_until_the_run_ends(
    folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "skills/a/SKILL.md", RUN_HOOKS)
    skill = Reply(calls=[("skill", {"name": "a"})])

    def touch(name: str) -> Reply:
        return Reply(calls=[("bash", {"command": f"touch {name}"})])

    # Used twice, its hooks run once.
    replies = [skill, skill, touch("keep"), Reply("Done."), touch("made"), Reply("Done."), Reply("No hooks.")]
    with ModelServer(replies) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await start()

        await assembly.agent.prompt("Use the skill a.")
        (folder / "made").unlink()
        result = await assembly.agent.prompt("Again")

        assert sent(server).count("Blocked by a hook: not this one") == 1
        assert sent(server).count("make it first") == 1
    assert result.text == "No hooks."
    assert not (folder / "keep").exists()


async def test_hooks_of_a_skill_that_changed_do_not_run_for_the_model(
    folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder, "skills/a/SKILL.md", RUN_HOOKS.replace("allowed-tools: Bash(touch:*)\n", ""))
    with ModelServer([Reply(calls=[("skill", {"name": "a"})]), Reply("Done.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await start()
        path.write_text(path.read_text().replace("test -f", "touch ran; test -f"))

        await assembly.agent.prompt("Go")

        assert "hooks have no effect" in sent(server)
    assert not (folder / "ran").exists()


async def test_hooks_of_a_file_that_changed_do_not_run(folder: Path, server: ModelServer, start: Start) -> None:
    path = write(folder, "commands/a.md", RUN_HOOKS)
    assembly = await start()
    path.write_text(path.read_text().replace("test -f", "touch ran; test -f"))

    with pytest.raises(CinchError, match="has changed since you trusted it"):
        await use_of(assembly, "/a").run(print)

    assert not (folder / "ran").exists()


async def test_hook_of_a_file_whose_script_changed_does_not_run(
    folder: Path, server: ModelServer, start: Start
) -> None:
    script = write(folder, "hooks/check.sh", "touch checked\n")
    hook = '{type: command, command: sh "$CLAUDE_PROJECT_DIR/.claude/hooks/check.sh"}'
    write(folder, "commands/a.md", f"---\nhooks:\n  Stop:\n    - hooks: [{hook}]\n---\nGo")
    assembly = await start()
    await use_of(assembly, "/a").run(print)
    ran = (folder / "checked").exists()
    script.write_text("touch other\n")
    await assembly.reload_folder(assembly.options, assembly.settings)

    await use_of(assembly, "/a").run(print)

    assert ran
    assert len(server.requests) == 2
    assert not (folder / "other").exists()
