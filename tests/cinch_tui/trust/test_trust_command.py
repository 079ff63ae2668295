"""The command `/trust` in the app."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.foreign_folder import foreign_folder
from fakes.model_server import ModelServer, Reply
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.screens.trust import TrustScreen
from cinch_tui.transcript.blocks import NoticeBlock
from cinch_tui.trust.prompt import pending_question

RHYMES = "Always answer in rhymes."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return foreign_folder(tmp_path / "project", "AGENTS.md", ".cinch/config.toml", ".claude/settings.json")


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(lambda _: Reply("Fine.")) as server:
        for name, value in {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_BASE_URL": server.url}.items():
            monkeypatch.setenv(name, value)
        yield server


async def answer(pilot: Pilot[object], app: CinchApp, key: str) -> str:
    """Answer the open question, and return its text."""
    await until(pilot, lambda: isinstance(app.screen, TrustScreen) and not app.screen.waiting)
    shown = "\n".join(str(each.render()) for each in app.screen.query("Static"))
    await pilot.press(key)
    await until(pilot, lambda: not isinstance(app.screen, TrustScreen))
    return shown


async def command(pilot: Pilot[object], text: str) -> None:
    await pilot.press(*text)
    await pilot.press("enter")


def notices(app: CinchApp) -> list[str]:
    return [each.text for each in app.controller.view.widgets.transcript.blocks if isinstance(each, NoticeBlock)]


def skipped(app: CinchApp) -> tuple[str, ...]:
    return app.controller.view.widgets.status.status.skipped


async def test_trust_is_given_and_revoked_for_the_next_request(folder: Path) -> None:
    app = chat(folder)
    async with app.run_test() as pilot:
        await answer(pilot, app, "1")
        await ready(pilot, app)
        before = skipped(app)
        await command(pilot, "/trust")
        question = await answer(pilot, app, "2")
        await until(pilot, lambda: not skipped(app))
        trusted = app.controller.agent.state.system_prompt, app.controller.agent.state.approval
        rules = [str(rule) for rule in app.controller.agent.state.permissions.store.rules]
        await command(pilot, "/trust revoke")
        await until(pilot, lambda: skipped(app))
        revoked = app.controller.agent.state.system_prompt, app.controller.agent.state.approval

    assert before[0] == "AGENTS.md"
    assert f"{folder} is not trusted" in question
    assert "instructions · 1 line · ignored" in question
    assert (RHYMES in trusted[0], trusted[1]) == (True, "off")
    assert rules == []
    assert (RHYMES in revoked[0], revoked[1]) == (False, "smart")
    assert notices(app)[-5:-3] == [
        "This folder is trusted. Its files apply from the next request on.",
        "Approval off: no call needs approval",
    ]
    assert notices(app)[-2:] == [
        "This folder is not trusted. Its files are ignored from the next request on.",
        "Approval smart: calls that change files or run programs need approval",
    ]


async def test_trusted_folder_shows_its_files_and_closing_changes_nothing(folder: Path) -> None:
    app = chat(folder)
    async with app.run_test() as pilot:
        await answer(pilot, app, "2")
        await ready(pilot, app)
        await command(pilot, "/trust")
        unchanged = await answer(pilot, app, "enter")
        (folder / ".cinch/config.toml").write_text('approval.mode = "edits"\n')
        await command(pilot, "/trust")
        changed = await answer(pilot, app, "escape")
        state = app.controller.agent.state

    assert "is trusted since 20" in unchanged
    assert "instructions · 1 line · used" in unchanged
    assert "have changed since you trusted it" in changed
    assert '+ approval.mode = "edits"' in changed
    assert (RHYMES in state.system_prompt, state.approval) == (True, "off")


async def test_permissions_of_claude_code_are_imported_on_request(folder: Path, own_home: Path) -> None:
    claude = {"permissions": {"allow": ["Bash(make:*)"], "defaultMode": "acceptEdits"}}
    (folder / ".claude/settings.json").write_text(json.dumps(claude))
    (folder / ".cinch/config.toml").unlink()
    app, later = chat(folder), chat(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        question = await answer(pilot, app, "4")
        await ready(pilot, app)
        state = app.controller.agent.state
        rules = [str(rule) for rule in state.permissions.store.of("allow")]
    async with later.run_test() as pilot:
        await ready(pilot, later)
        await command(pilot, "/trust")
        afterwards = await answer(pilot, later, "enter")

    assert "1 permission rule · rules not imported" in question
    assert (rules, state.approval) == (["bash(make:*)"], "edits")
    assert "import_claude = true" in (own_home / "cinch/config.toml").read_text()
    assert "1 permission rule · used" in afterwards


@pytest.mark.parametrize(("key", "is_offered"), [("permissions", True), ("hooks", False)])
def test_import_of_permissions_is_offered_where_there_are_any(tmp_path: Path, key: str, is_offered: bool) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(json.dumps({key: {"Stop": []}}))

    asked = pending_question(chat(tmp_path).controller.options)

    assert asked is not None
    assert ("import" in [choice.answer for choice in asked.choices]) is is_offered


async def test_long_list_is_scrolled_and_hostile_names_stay_on_one_line(tmp_path: Path) -> None:
    commands = tmp_path / ".claude/commands"
    commands.mkdir(parents=True)
    for number in range(40):
        (commands / f"cmd{number:02}.md").write_text("Do it: !`make`\n")
    (commands / "zz\x1b[2J\n\u202egnp.md").write_text("Do it: !`make`\n")
    app = chat(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, TrustScreen) and not app.screen.waiting)
        files = app.screen.query_one("#files")
        for _ in range(10):
            await pilot.press("pagedown")
        await until(pilot, lambda: files.scroll_y == files.max_scroll_y > 0)
        last = str(files.query_one("Static").render()).splitlines()[-1]
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: app.screen.query_one("#options").size.height == 3)

    assert last.startswith(".claude/commands/zz␛[2J⟨U+000A⟩⟨U+202E⟩gnp.md  command")


def test_many_harmless_unused_files_are_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinch_tui.trust.prompt.LOADED", frozenset[str]())
    commands = tmp_path / ".claude/commands"
    commands.mkdir(parents=True)
    for number in range(6):
        (commands / f"cmd{number}.md").write_text("Do it.\n")
    (commands / "run.md").write_text("Do it: !`make`\n")

    asked = pending_question(chat(tmp_path).controller.options)

    assert asked is not None
    assert asked.rows == (
        (".claude/commands/", "command · 6 files · not used by this version"),
        (".claude/commands/run.md", "command · runs commands or changes permissions · not used by this version"),
    )


async def test_folder_without_files_can_be_trusted_for_language_servers(tmp_path: Path) -> None:
    app = chat(tmp_path)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        await command(pilot, "/trust")
        question = await answer(pilot, app, "2")
        await until(pilot, lambda: app.controller.assembly.language_servers.is_trusted)

    assert "language servers may run code of the project" in question
    assert notices(app)[-1].startswith("This folder is trusted.")
