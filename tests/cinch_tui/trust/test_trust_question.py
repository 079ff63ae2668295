from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.foreign_folder import foreign_folder
from fakes.fork_server import run_forked
from fakes.model_server import ModelServer, Reply
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.screens.trust import TrustScreen
from cinch_tui.trust.prompt import apply_answer, folder_state, question

RHYMES = "Always answer in rhymes."
# The server of the folder is a command that ends at once.
STARTED = (
    "cinch: MCP server helper failed: the server ended the connection before the handshake was complete: "
    "exited with status 0"
)


@pytest.fixture
def folder(tmp_path: Path, own_home: Path) -> Path:
    # On a busy machine, the server may need longer than the default to end.
    (own_home / "cinch/config.toml").write_text("[mcp]\nstartup_wait_s = 60\n")
    (tmp_path / "project").mkdir()
    return foreign_folder(tmp_path / "project")


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(lambda _: Reply("Fine.")) as server:
        for name, value in {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_BASE_URL": server.url}.items():
            monkeypatch.setenv(name, value)
        yield server


def ask(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = run_forked(["-p", "-m", "anthropic/fake-model", "hello", *arguments], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


def system_prompt(server: ModelServer, request: int = -1) -> str:
    return json.dumps(server.requests[request].body["system"])


async def answer(pilot: Pilot[object], app: CinchApp, key: str) -> None:
    await until(pilot, lambda: isinstance(app.screen, TrustScreen) and not app.screen.waiting)
    await pilot.press(key)
    await ready(pilot, app)


async def test_the_app_asks_once_and_uses_what_is_trusted(folder: Path):
    app, later = chat(folder), chat(folder)
    async with app.run_test() as pilot:
        await answer(pilot, app, "2")
        first = app.controller.agent.state.system_prompt
        approval = app.controller.agent.state.approval
    async with later.run_test() as pilot:
        await ready(pilot, later)
        second = later.controller.agent.state.system_prompt

    assert RHYMES in first
    assert RHYMES in second
    assert approval == "off"


@pytest.mark.parametrize(("key", "asks_again"), [("1", True), ("escape", True), ("3", False)])
async def test_an_untrusted_folder_has_no_effect(folder: Path, key: str, asks_again: bool):
    app, later = chat(folder), chat(folder)
    async with app.run_test() as pilot:
        await answer(pilot, app, key)
        agent = app.controller.agent
        texts = agent.state.system_prompt
        approval = agent.state.approval
        warnings = app.controller.assembly.warnings
    async with later.run_test() as pilot:
        await until(pilot, lambda: later.controller.sender.ready.is_set() or isinstance(later.screen, TrustScreen))
        assert isinstance(later.screen, TrustScreen) is asks_again

    assert RHYMES not in texts
    assert approval == "smart"
    assert warnings[-1].startswith("Ignored: AGENTS.md, ")
    assert not (folder / "pwned").exists()


async def test_text_typed_before_the_question_is_kept(folder: Path):
    app = chat(folder)
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, TrustScreen))
        await pilot.press(*"fix it")
        await answer(pilot, app, "1")

        assert app.controller.view.prompt.text == "fix it"


async def test_a_changed_file_is_shown_with_its_change(folder: Path):
    app = chat(folder)
    async with app.run_test() as pilot:
        await answer(pilot, app, "2")
    (folder / ".cinch/config.toml").write_text('approval.mode = "off"\nui.editor = "touch pwned"\n')

    later = chat(folder)
    async with later.run_test() as pilot:
        await until(pilot, lambda: isinstance(later.screen, TrustScreen) and not later.screen.waiting)
        shown = " ".join(str(each.render()) for each in later.screen.query("Static"))
        await answer(pilot, later, "1")
        state, settings = later.controller.agent.state, later.controller.settings

    assert "AGENTS.md" not in shown
    assert "configuration · changed · sets approval.mode, ui.editor" in shown
    assert shown.index('+ ui.editor = "touch pwned"') < shown.index('- ui.status_command = "touch pwned"')
    assert RHYMES in state.system_prompt
    assert (state.approval, settings.ui.editor) == ("smart", "")


def test_print_mode_trusts_only_with_the_flag(folder: Path, server: ModelServer):
    without = ask(folder)
    assert not (folder / "pwned").exists()
    with_flag = ask(folder, "--trust")
    afterwards = ask(folder)

    assert [RHYMES in system_prompt(server, number) for number in range(3)] == [False, True, False]
    assert without.stderr == afterwards.stderr
    assert "Ignored: AGENTS.md, " in without.stderr
    assert "to use them, add --trust" in without.stderr
    assert "approval.mode, ui.status_command, permissions.allow" in without.stderr
    assert with_flag.stderr.splitlines() == [STARTED]


def test_print_mode_uses_a_folder_that_was_trusted_before(folder: Path, server: ModelServer):
    run_forked(["config", "trust"], cwd=folder)

    done = ask(folder)

    assert RHYMES in system_prompt(server)
    assert done.stderr.splitlines() == [STARTED]


def test_a_session_that_began_before_trust_gets_the_instructions(folder: Path, server: ModelServer):
    ask(folder)
    ask(folder, "-c", "--trust")
    ask(folder, "-c")

    assert [RHYMES in system_prompt(server, number) for number in range(3)] == [False, True, False]


def test_plain_mode_in_a_pipe_does_not_ask(folder: Path, server: ModelServer):
    done = run_forked(["--plain", "-m", "anthropic/fake-model"], cwd=folder, stdin="2\n")

    assert "Ignored: AGENTS.md, " in done.stdout
    assert RHYMES not in system_prompt(server)


async def test_trust_that_is_given_later_applies_from_the_next_request(folder: Path):
    app = chat(folder)
    async with app.run_test() as pilot:
        await answer(pilot, app, "1")
        assembly = app.controller.assembly
        before, ignored = assembly.agent.state.system_prompt, assembly.folder.ignored
        files, trust = folder_state(assembly.options)
        options, settings = apply_answer(assembly.options, question(assembly.options, files, trust), "trust")
        await assembly.reload_folder(options, settings)

    assert "AGENTS.md" in ignored
    assert (RHYMES in before, RHYMES in assembly.agent.state.system_prompt) == (False, True)
    assert (assembly.folder.ignored, settings.approval.mode) == ((), "off")
