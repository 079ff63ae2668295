"""Script tools of a start: trust, permission rules, and files that change during a session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.model_server import ModelServer, Reply

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.assembly.building import assemble
from cinch_tui.cli.start import config_sources
from cinch_tui.config.layers import load_config
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import TrustStore
from harness.events import Notice
from harness.messages import ToolResult, text_of
from harness.ports.interaction import NonInteractive


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    (tmp_path / ".git").mkdir()
    return tmp_path


def write(folder: Path, command: str = "echo one", name: str = "greet") -> Path:
    path = folder / "tools" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'description = "Greets"\ncommand = "{command}"\n')
    return path


def trust(project: Path) -> None:
    paths = find_paths(os.environ)
    TrustStore(paths.trust_file).trust(inventory(project, paths.config_file))


async def started(project: Path, *allowed: str) -> Assembly:
    paths = find_paths(os.environ)
    paths.config.mkdir(exist_ok=True)
    paths.config_file.write_text(f'[model]\nname = "anthropic/main"\n[permissions]\nallow = {list(allowed)}\n')
    sources = config_sources(paths, project)
    config = load_config(sources)
    options = Options(project, paths, os.environ, sources, keep_session=False, headless=True, rules=config.rules)
    return await assemble(options, config.settings, NonInteractive())


def names(assembly: Assembly) -> list[str]:
    return [tool.name for tool in assembly.agent.state.late.sources.tools]


async def test_tools_of_a_project_need_trust_of_their_content(project: Path):
    path = write(project / ".cinch")
    before = await started(project)
    trust(project)
    trusted = await started(project)
    path.write_text(path.read_text().replace("one", "two"))
    changed = await started(project)

    assert (names(before), names(trusted), names(changed)) == ([], ["greet"], [])
    assert "tools/greet.toml" in " ".join(changed.warnings)


async def test_call_is_denied_without_a_rule_and_runs_with_one(
    project: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
):
    write(own_home / "cinch")
    results: list[str] = []
    for allowed in ((), ("greet",)):
        with ModelServer([Reply(calls=(("greet", {}),)), Reply("Done")]) as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            assembly = await started(project, *allowed)
            await assembly.agent.prompt("Greet")
            await assembly.agent.close()
        (result,) = (each for each in assembly.agent.history.messages if isinstance(each, ToolResult))
        results.append(text_of(result.content))
        assert "greet" in [tool["name"] for tool in server.requests[0].body["tools"]]

    assert "approval" in results[0]
    assert results[1] == "one"


async def test_changed_files_are_read_again_before_a_run(
    project: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
):
    path = write(own_home / "cinch")
    call = Reply(calls=(("greet", {}),))
    with ModelServer([call, Reply("1"), call, Reply("2"), Reply("3"), Reply("4")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await started(project, "greet")
        agent, notices = assembly.agent, list[str]()
        agent.subscribe(lambda event: notices.append(event.text) if isinstance(event, Notice) else None)
        await agent.prompt("Greet")
        path.write_text(path.read_text().replace("echo one", "echo second"))
        await agent.prompt("Greet")
        path.write_text("description =")
        await agent.prompt("Hello")
        kept = names(assembly)
        path.unlink()
        await agent.prompt("Hello")
        await agent.close()

    results = [text_of(each.content) for each in agent.history.messages if isinstance(each, ToolResult)]
    assert results == ["one", "second"]
    assert (kept, names(assembly)) == (["greet"], [])
    assert notices[0] == "Script tools were read again: greet."
    assert "its last valid version is used" in notices[1]
    assert notices[2] == "Script tools were read again: greet."


async def test_file_of_a_project_that_changes_has_no_effect_until_it_is_trusted(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    path = write(project / ".cinch")
    trust(project)
    with ModelServer([Reply("1"), Reply("2")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assembly = await started(project)
        notices: list[str] = []
        assembly.agent.subscribe(lambda event: notices.append(event.text) if isinstance(event, Notice) else None)
        path.write_text(path.read_text().replace("echo one", "touch hacked"))
        await assembly.agent.prompt("Hello")
        after_change = names(assembly)
        trust(project)
        await assembly.reload_folder(assembly.options, assembly.settings)
        await assembly.agent.close()

    assert (after_change, names(assembly)) == ([], ["greet"])
    assert "Ignored: .cinch/tools/greet.toml" in notices[0]


async def test_name_of_a_tool_of_cinch_is_kept(project: Path, own_home: Path):
    write(own_home / "cinch", name="bash")

    assembly = await started(project)

    assert names(assembly) == []
    assert "cinch has a tool named bash" in " ".join(assembly.warnings)


async def test_nothing_is_declared_without_script_tools(project: Path):
    assembly = await started(project)

    assert not assembly.agent.state.late.is_searchable
