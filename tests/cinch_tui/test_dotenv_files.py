"""Variables of `.env` files: who gets them, and who does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.model_server import ModelServer, Reply
from fakes.runs import results_of

from cinch_tui.assembly.building import assemble
from cinch_tui.cli.arguments import parse_arguments
from cinch_tui.cli.start import prepare
from cinch_tui.config.config import Config
from cinch_tui.config.layers import Sources, load_config
from harness.ports.interaction import NonInteractive

KEY = "sk-ant-from-the-file-0123456789"


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    """Sources of a trusted project, with a folder of the user beside it."""
    project, own = tmp_path / "project", tmp_path / "own"
    for folder in (project, own):
        folder.mkdir()
    return Sources(
        own / "config.toml",
        None,
        {"KEPT_API_KEY": "of the process"},
        own / "trusted.json",
        folder=project,
        session_pins={},
    )


def loaded(sources: Sources, names: list[str]) -> Config:
    sources.user_file.write_text(f"[environment]\ndotenv = {names}\n")
    return load_config(sources)


def write(folder: Path, text: str) -> None:
    (folder / ".env").write_text(text)


def test_process_precedes_project_and_project_precedes_user(sources: Sources):
    assert sources.folder is not None
    write(sources.folder, "# keys\nexport A_API_KEY='project'\nKEPT_API_KEY=project\nEMPTY_API_KEY=\n")
    write(sources.user_file.parent, 'A_API_KEY=user\nB_API_KEY="user"\n')

    found = loaded(sources, ["*_API_KEY"])

    assert found.environ == {"KEPT_API_KEY": "of the process", "A_API_KEY": "project", "B_API_KEY": "user"}
    assert found.warnings == ()


def test_only_named_variables_are_read_and_never_settings(sources: Sources):
    write(sources.user_file.parent, "CINCH_APPROVAL_MODE=off\nHTTPS_PROXY=http://evil\nTOKEN=${KEPT_API_KEY}\n")

    assert loaded(sources, ["TOKEN"]).environ == {**sources.environ, "TOKEN": "${KEPT_API_KEY}"}
    assert "CINCH_APPROVAL_MODE" not in loaded(sources, ["*"]).environ


def test_file_of_an_untrusted_project_is_not_read(sources: Sources):
    assert sources.folder is not None
    write(sources.folder, "A_API_KEY=project")
    untrusted = Sources(sources.user_file, None, {}, sources.trust_file, folder=sources.folder)

    found = loaded(untrusted, ["*"])

    assert found.environ == {}
    assert "is not read, since this folder is not trusted" in found.warnings[0]


def test_project_that_is_not_trusted_cannot_turn_it_on(sources: Sources, tmp_path: Path):
    config = tmp_path / "project" / ".cinch" / "config.toml"
    config.parent.mkdir()
    config.write_text('[environment]\ndotenv = ["*"]\n')
    write(sources.user_file.parent, "A_API_KEY=user")
    untrusted = Sources(sources.user_file, config, {}, sources.trust_file, folder=sources.folder)

    assert load_config(untrusted).environ == {}


def test_damaged_file_is_reported(sources: Sources):
    (sources.user_file.parent / ".env").write_bytes(b"A_API_KEY=\xff")

    assert "is not read" in loaded(sources, ["*"]).warnings[0]


async def test_key_reaches_the_service_and_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home, project):
        folder.mkdir()
    (home / "config.toml").write_text('[environment]\ndotenv = ["ANTHROPIC_API_KEY", "OTHER"]\n')
    write(project, f"ANTHROPIC_API_KEY={KEY}\nOTHER=other-secret\n")
    monkeypatch.setenv("CINCH_HOME", str(home))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with ModelServer([Reply(calls=[("bash", {"command": "env"})]), Reply("done")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        flags = [
            "-p",
            "-m",
            "anthropic/main",
            "--trust",
            "--approve",
            "off",
            "--no-session",
            "--cwd",
            str(project),
            "Hi",
        ]
        options, settings = prepare(parse_arguments(flags))
        assembly = await assemble(options, settings, NonInteractive())
        await assembly.agent.prompt("Hi")
        await assembly.agent.close()

    assert server.requests[0].headers["x-api-key"] == KEY
    [output] = results_of(assembly.agent)
    assert "PATH=" in output.text
    assert KEY not in output.text
    assert "other-secret" not in output.text
    assert (options.environ["OTHER"], "OTHER" in os.environ) == ("other-secret", False)


def test_values_are_not_shown_with_the_configuration(sources: Sources):
    sources.user_file.write_text('[environment]\ndotenv = ["*"]\n')
    write(sources.user_file.parent, "A_API_KEY=topsecret")

    config = load_config(sources)

    assert config.environ["A_API_KEY"] == "topsecret"
    assert "topsecret" not in repr(config)
