"""Subagents in files, in a start of cinch: trust, role, model, tools, the list."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.model_server import ModelServer, Reply

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.assembly.building import assemble
from cinch_tui.attached_files import AttachedFiles, attach_files
from cinch_tui.cli.start import config_sources
from cinch_tui.config.names import build
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.print_mode.stream_json import init_line
from cinch_tui.reports.subagents import subagents_report
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import TrustStore
from cinch_tui.widgets.prompt.completion import Candidate
from cinch_tui.widgets.prompt.path_completion import MentionCompletion
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.events import Event, Notice
from harness.ports.interaction import NonInteractive
from harness.workspace.workspace import Workspace
from providers.demo import scripted

REVIEWER = """---
name: reviewer
description: Reviews changes
tools: Read, Grep, Bash
model: {model}
skills: style
---
You review code.
"""
DELEGATES = Reply("", calls=[("delegate_subagent", {"task": "Review a.py.", "agent": "reviewer"})])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer([DELEGATES, Reply("No faults."), Reply("All is well.")]) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "AGENTS.md").write_text("Use tabs.\n")
    add(folder, REVIEWER.format(model="haiku"))
    skill = folder / ".claude" / "skills" / "style" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: style\ndescription: Style\n---\nLines are short.\n")
    return folder


def add(folder: Path, text: str) -> None:
    path = folder / ".claude" / "agents" / "reviewer.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def trust(project: Path) -> None:
    paths = find_paths(os.environ)
    TrustStore(paths.trust_file).trust(inventory(project, paths.config_file))


async def start(project: Path) -> Assembly:
    paths = find_paths(os.environ)
    options = Options(project, paths, os.environ, config_sources(paths, project), keep_session=False)
    settings = build({"model.name": "anthropic/main", "retry.max_retries": 0, "tools.disabled": ("bash",)})
    return await assemble(options, settings, NonInteractive())


def description_of_delegation(assembly: Assembly) -> str:
    return next(tool.description for tool in assembly.agent.state.tools if tool.name == "delegate_subagent")


async def test_subagent_works_in_its_role(server: ModelServer, project: Path):
    trust(project)
    assembly = await start(project)

    await assembly.agent.prompt("Review.")

    own, delegated, _ = (recorded.body for recorded in server.requests)
    system = str(delegated["system"])
    assert "- reviewer: Reviews changes" in str(own["tools"])
    assert "claude-haiku" in delegated["model"]
    assert "You review code." in system
    assert "Lines are short." in system
    assert "Use tabs." in system
    assert "You are cinch" not in system
    # The settings leave out bash, so the role cannot have it.
    assert [tool["name"] for tool in delegated["tools"]] == ["read_file", "grep"]
    await assembly.agent.close()


@pytest.mark.parametrize("is_changed", [False, True])
async def test_hooks_of_a_subagent_apply_to_its_runs(project: Path, monkeypatch: pytest.MonkeyPatch, is_changed: bool):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    command = "grep -q SubagentStop && test -f first || { touch first; echo 'look again' >&2; exit 2; }"
    stop = f'{{type: command, command: "{command}"}}'
    add(project, REVIEWER.format(model="haiku").replace("skills:", f"hooks:\n  Stop:\n    - hooks: [{stop}]\nskills:"))
    trust(project)
    with ModelServer([DELEGATES, Reply("No faults."), Reply("Still none."), Reply("All is well.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await start(project)
        if is_changed:
            add(project, (project / ".claude/agents/reviewer.md").read_text() + "More.\n")

        await assembly.agent.prompt("Review.")

        sent = [str(each.body["messages"]) for each in server.requests]
    assert [("look again" in each) for each in sent] == ([False] * 3 if is_changed else [False, False, True, False])
    assert (project / "first").exists() is not is_changed
    await assembly.agent.close()


async def test_model_that_is_not_available_is_replaced_and_reported(server: ModelServer, project: Path):
    add(project, REVIEWER.format(model="nowhere/model-7"))
    trust(project)
    assembly = await start(project)
    seen: list[Event] = []
    assembly.agent.subscribe(seen.append)

    await assembly.agent.prompt("Review.")

    notices = [each.text for each in seen if isinstance(each, Notice)]
    assert server.requests[1].body["model"] == "main"
    assert [text.partition("; ")[0] for text in notices] == [
        "The model nowhere/model-7 of the subagent reviewer is not available"
    ]
    await assembly.agent.close()


async def test_subagents_of_a_project_come_and_go_with_trust(server: ModelServer, project: Path):
    del server
    assembly = await start(project)
    untrusted = description_of_delegation(assembly)
    trust(project)
    await assembly.reload_folder(assembly.options, assembly.settings)
    trusted = description_of_delegation(assembly)
    started = init_line(assembly.agent, folder=assembly.folder)["agents"]
    (project / ".claude" / "agents" / "reviewer.md").unlink()
    await assembly.reload_folder(assembly.options, assembly.settings)

    assert "reviewer" not in untrusted
    assert "- reviewer: Reviews changes" in trusted
    assert description_of_delegation(assembly) == untrusted
    assert (started, init_line(assembly.agent, folder=assembly.folder)["agents"]) == (["reviewer"], [])
    await assembly.agent.close()


async def test_list_names_tools_model_and_file(server: ModelServer, project: Path):
    del server
    trust(project)
    assembly = await start(project)

    report = subagents_report(assembly.folder.subagents, Path("/config/agents"))

    assert report.splitlines() == [
        "- **reviewer** Reviews changes",
        "  - tools `read_file`, `grep`, `bash`; model haiku",
        f"  - `{project / '.claude' / 'agents' / 'reviewer.md'}` (project)",
    ]
    await assembly.agent.close()


async def test_mention_of_a_subagent_is_no_missing_file(tmp_path: Path):
    agent = Agent(scripted(), options=AgentOptions(workspace=Workspace(tmp_path)))

    assert await attach_files("ask @agent-reviewer", agent) == AttachedFiles()


def test_mention_of_a_subagent_is_completed(tmp_path: Path):
    named = [("agent-reviewer", "Reviews changes"), ("agent-writer", "Writes")]
    mentions = MentionCompletion(tmp_path, subagents=lambda: named)
    reviewer = Candidate("agent-reviewer", "Reviews changes")

    def offered(before: str) -> tuple[Candidate, ...]:
        completion = mentions.complete(before)
        return tuple(completion.candidates) if completion else ()

    assert offered("ask @rev") == offered("ask @agent-rev") == (reviewer,)
    assert offered("ask @ag") == (reviewer, Candidate("agent-writer", "Writes"))
    assert offered("ask @") == offered("ask @x") == ()
