"""Skills and commands of files in a run: their text, commands, rules and model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from fakes.file_templates import sent, start_agent, use_of, write
from fakes.model_server import ModelServer, Reply

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.assembly.folder import read_folder
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.template_offers import offer_templates
from cinch_tui.user_input import user_input_of
from harness.approval.rules import parse_rule
from harness.errors import CinchError
from harness.messages import ToolResult, UserMessage, text_of

Start: TypeAlias = Callable[[], Awaitable[Assembly]]
DENIED = "needs the user's approval"


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


async def test_command_sends_its_text_files_and_output(folder: Path, server: ModelServer, start: Start) -> None:
    write(folder, "commands/git/check.md", "Check $1 with @a.txt.\nNow: !`cat a.txt | tr a-z A-Z`")
    assembly = await start()
    reports: list[str] = []

    result = await use_of(assembly, "/git:check parser").run(reports.append)

    assert (result.text, reports) == ("Done.", [])
    assert all(each in sent(server) for each in ("Check parser with", "Now: ALPHA", "alpha\\n"))
    prompt = assembly.agent.messages[0]
    assert isinstance(prompt, UserMessage)
    assert user_input_of(prompt).text == "/git:check parser"
    assert not any(isinstance(message, ToolResult) for message in assembly.agent.messages)


@pytest.mark.parametrize(
    ("command", "reason"),
    [("touch x", DENIED), ("cat missing.txt", "missing.txt: No such file"), ("rm -rf /", "This never runs")],
)
async def test_denied_or_failing_command_sends_nothing(
    folder: Path, server: ModelServer, start: Start, command: str, reason: str
) -> None:
    write(folder, "commands/a.md", f"Now: !`{command}`")
    assembly = await start()

    with pytest.raises(CinchError, match="/a was not sent") as raised:
        await use_of(assembly, "/a").run(print)

    assert reason in str(raised.value)
    assert (server.requests, assembly.agent.messages) == ([], ())
    assert not (folder / "x").exists()


async def test_allowed_tools_allow_calls_until_the_run_ends(folder: Path, server: ModelServer, start: Start) -> None:
    write(folder, "commands/a.md", "---\nallowed-tools: Bash(touch:*)\n---\nMade: !`touch x`")
    assembly = await start()

    await use_of(assembly, "/a").run(print)

    assert (folder / "x").exists()
    assert assembly.agent.state.permissions.store.of("allow") == ()


@pytest.mark.parametrize(("name", "variable"), [("commands/a.md", "PROJECT"), ("skills/a/SKILL.md", "SKILL")])
async def test_allowed_tools_may_name_folders(
    folder: Path, server: ModelServer, start: Start, name: str, variable: str
) -> None:
    place = f"${{CLAUDE_{variable}_DIR}}"
    path = write(folder, name, f'---\nallowed-tools: ["Bash({place}/make.sh:*)"]\n---\n!`"{place}/make.sh" $ARGUMENTS`')
    script = (folder if variable == "PROJECT" else path.parent) / "make.sh"
    script.write_text("#!/bin/sh\ntouch $1\n")
    script.chmod(0o700)
    assembly = await start()

    await use_of(assembly, "/a x").run(print)

    assert (folder / "x").exists()


async def test_deny_rules_win_over_allowed_tools(folder: Path, server: ModelServer, start: Start) -> None:
    write(folder, "commands/a.md", "---\nallowed-tools: Bash\n---\nMade: !`touch x`")
    assembly = await start()
    assembly.agent.state.permissions.store.add(parse_rule("bash(touch:*)", "deny"))

    with pytest.raises(CinchError, match="This call is denied"):
        await use_of(assembly, "/a").run(print)

    assert not (folder / "x").exists()


@pytest.mark.parametrize("name", ["commands/a.md", "skills/a/SKILL.md"])
async def test_file_that_changed_since_it_was_trusted_runs_nothing(
    folder: Path, server: ModelServer, start: Start, name: str
) -> None:
    path = write(folder, name, "---\nname: a\ndescription: A\nallowed-tools: Bash(ls:*)\n---\nNow: !`ls`")
    assembly = await start()
    path.write_text(path.read_text().replace("Bash(ls:*)", "Bash"))

    with pytest.raises(CinchError, match="has changed since you trusted it"):
        await use_of(assembly, "/a").run(print)

    assert server.requests == []


async def test_skill_of_the_model_allows_its_tools_for_the_run(
    folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "skills/a/SKILL.md", "---\nname: a\ndescription: A\nallowed-tools: Bash(touch:*)\n---\nBody of a.")
    calls: list[Any] = [[("skill", {"name": "a"})], [("bash", {"command": "touch x"})]]
    with ModelServer([*(Reply(calls=each) for each in calls), Reply("Done.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await start()

        await assembly.agent.prompt("Go")

        assert "Body of a." in sent(server)
    assert (folder / "x").exists()
    assert assembly.agent.state.permissions.store.of("allow") == ()


async def test_changed_skill_of_the_model_allows_nothing(
    folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder, "skills/a/SKILL.md", "---\nname: a\ndescription: A\nallowed-tools: Bash(ls:*)\n---\nBody.")
    calls: list[Any] = [[("skill", {"name": "a"})], [("bash", {"command": "touch x"})]]
    with ModelServer([*(Reply(calls=each) for each in calls), Reply("Done.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await start()
        path.write_text(path.read_text().replace("Bash(ls:*)", "Bash(touch:*)"))

        await assembly.agent.prompt("Go")

        assert "Its allowed-tools and hooks have no effect" in sent(server)
    assert not (folder / "x").exists()


@pytest.mark.parametrize(("written", "model"), [("anthropic/other", "other"), ("haiku", "claude-haiku-")])
async def test_model_of_a_command_answers_this_run_only(
    folder: Path, server: ModelServer, start: Start, written: str, model: str
) -> None:
    write(folder, "commands/a.md", f"---\nmodel: {written}\n---\nGo")
    assembly = await start()

    await use_of(assembly, "/a").run(print)
    await assembly.agent.prompt("Again")

    first, second = (each.body["model"] for each in server.requests)
    assert (first.startswith(model), second) == (True, "main")


async def test_unavailable_model_is_reported_and_the_current_one_answers(
    folder: Path, server: ModelServer, start: Start
) -> None:
    write(folder, "commands/a.md", "---\nmodel: openai/gpt\n---\nGo")
    assembly = await start()
    reports: list[str] = []

    await use_of(assembly, "/a").run(reports.append)

    assert server.requests[-1].body["model"] == "main"
    assert "/a names the model openai/gpt, which is not available" in reports[0]


async def test_stopped_command_sends_nothing(folder: Path, server: ModelServer, start: Start) -> None:
    write(folder, "commands/a.md", "---\nallowed-tools: Bash\n---\nNow: !`sleep 60`")
    assembly = await start()
    agent = assembly.agent
    agent.subscribe(lambda event: agent.abort() if type(event).__name__ == "ToolExecutionStart" else None)

    with pytest.raises(CinchError, match="was stopped before it was sent"):
        await use_of(assembly, "/a").run(print)

    assert (server.requests, agent.messages) == ([], ())


async def test_message_for_an_active_run_runs_no_commands(folder: Path, start: Start) -> None:
    write(folder, "commands/a.md", "Look at $1")
    write(folder, "commands/b.md", "!`ls`")
    assembly = await start()

    content = await use_of(assembly, "/a x").steering(print)

    assert "Look at x" in text_of(content)
    with pytest.raises(CinchError, match="has to wait until the agent is idle"):
        await use_of(assembly, "/b").steering(print)


async def test_files_that_are_new_count_after_reloading(folder: Path, start: Start) -> None:
    assembly = await start()
    write(folder, "commands/new.md", "Go")
    write(folder, "skills/fresh/SKILL.md", "---\nname: fresh\ndescription: Fresh\n---\nGo")

    problems = await assembly.reload_folder(assembly.options, assembly.settings)

    assert problems == []
    assert assembly.folder.template("new") is not None
    assert "- fresh: Fresh" in assembly.agent.state.system_prompt
    assert assembly.agent.state.tools[-1].name == "skill"


def test_print_mode_uses_commands_and_skills(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "commands/check.md", "Check $1: !`cat a.txt`")
    write(folder, "skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploy\n---\nBody of the skill.")
    call = Reply(calls=[("skill", {"name": "deploy"})])
    with ModelServer([Reply("Checked."), call, Reply("Deployed.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        command = [sys.executable, "-m", "cinch_tui", "-p", "--trust", "-m", "anthropic/main"]
        run = partial(subprocess.run, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)

        checked = run([*command, "--output-format", "stream-json", "/check parser"], timeout=60)
        assert "Check parser: alpha" in sent(server)
        deployed = run([*command, "Deploy it"], timeout=60)
        assert "Body of the skill." in sent(server)

    first = json.loads(checked.stdout.splitlines()[0])
    assert {"check", "deploy", "commit"} <= set(first["slash_commands"])
    assert {"deploy", "commit"} <= set(first["skills"])
    assert (checked.returncode, deployed.returncode, deployed.stdout) == (0, 0, "Deployed.\n")


async def test_names_of_cinch_hide_commands_of_files(folder: Path, start: Start) -> None:
    write(folder, "commands/help.md", "Go")
    write(folder, "commands/own.md", "Go")
    assembly = await start()

    problems = offer_templates(assembly.folder)

    registry = builtin_commands()
    assert problems == ["Commands of files are hidden by others of the same name; use /project:help"]
    assert {"/own", "/project:help"} < {each.name for each in registry.commands}
    assert [assembly.folder.template(each) for each in ("project:help", "Project:Own", "user:own")] == [
        *sorted(assembly.folder.commands, key=lambda each: each.name),
        None,
    ]
    (folder / ".claude" / "commands" / "help.md").unlink()
    assert offer_templates(await read_folder(assembly.options, assembly.settings, folder)) == []
    assert registry.find("/project:help") is None


async def test_hidden_command_is_used_with_its_scope(folder: Path, server: ModelServer, start: Start) -> None:
    write(folder, "commands/help.md", "Assist with $1.")
    assembly = await start()

    await use_of(assembly, "/project:help parsers").run(print)

    assert "Assist with parsers." in sent(server)
