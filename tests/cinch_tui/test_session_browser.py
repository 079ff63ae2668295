from __future__ import annotations

import threading
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.painting import paint
from fakes.talk import reply, tell
from textual.pilot import Pilot
from textual.widgets import Input, Static

from cinch_tui.app.app import CinchApp
from cinch_tui.saved_sessions import SavedSessions
from cinch_tui.screens.choice_dialogs import ShortList
from cinch_tui.screens.session_browser import SessionBrowser
from cinch_tui.transcript.blocks import NoticeBlock, UserBlock, transcript_text
from harness.messages import new_id, user
from harness.session.journal import Journal
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session
from harness.session.trash import trashed_sessions


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CinchApp:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    (tmp_path / "shop").mkdir()
    return chat(tmp_path / "shop")


def saved(app: CinchApp, prompt: str, answer: str = "fine", folder: str = "") -> Path:
    options = app.controller.options
    store = SessionRecorder(options.paths.data, options.cwd / folder, new_id())
    tell(store, user(prompt), reply(answer), user(f"thanks for {prompt}"), reply("you are welcome"))
    store.close()
    return store.path


async def browse(pilot: Pilot[object], app: CinchApp, count: int) -> SessionBrowser:
    """Open the browser and wait for its list."""
    await ready(pilot, app)
    await pilot.press("alt+s")
    await until(pilot, lambda: isinstance(app.screen, SessionBrowser) and len(app.screen._all) == count)
    assert isinstance(app.screen, SessionBrowser)
    return app.screen


def text_of(browser: SessionBrowser, selector: str) -> str:
    return str(browser.query_one(selector, Static).render())


async def type_text(pilot: Pilot[object], browser: SessionBrowser, selector: str, text: str) -> None:
    browser.query_one(selector, Input).value = text
    await pilot.pause()


async def test_unreadable_session_is_reported(app: CinchApp):
    path = saved(app, "first")
    # A link to itself cannot be read, not even by root.
    (path.parent / "aaaa.jsonl").symlink_to("aaaa.jsonl")

    async with app.run_test(size=(80, 24)) as pilot:
        await browse(pilot, app, 1)
        await pilot.press("escape")
        # The notice is wrapped by the length of the path.
        await until(pilot, lambda: "aaaa.jsonlcannotbe" in "".join("".join(paint(app).rows).split()))


async def test_browser_shows_the_end_of_the_selected_session(app: CinchApp):
    saved(app, "first")
    saved(app, "second")

    async with app.run_test(size=(80, 24)) as pilot:
        browser = await browse(pilot, app, 2)
        await until(pilot, lambda: "thanks for second" in text_of(browser, "#messages"))
        await pilot.press("down")
        await until(pilot, lambda: "thanks for first" in text_of(browser, "#messages"))
        rows = paint(app).rows

    assert any("second" in row and "just now" in row for row in rows)
    assert any("undo · Esc closes" in row for row in rows)


async def test_enter_on_found_text_opens_the_session_at_that_message(app: CinchApp):
    saved(app, "stripes", "zebras have them")
    wanted = saved(app, "spots", "leopards have them")

    async with app.run_test(size=(80, 24)) as pilot:
        browser = await browse(pilot, app, 2)
        await type_text(pilot, browser, "#filter", "leopards")
        await until(pilot, lambda: browser._hits)
        await until(pilot, lambda: "leopards have them" in text_of(browser, "#messages"))
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.agent.session_id == wanted.stem)


async def test_title_filter_applies_before_the_text_is_searched(app: CinchApp):
    saved(app, "stripes")
    wanted = saved(app, "spots")

    async with app.run_test() as pilot:
        browser = await browse(pilot, app, 2)
        await pilot.press(*"spo")
        shown = [row.id for row in browser._shown if row]
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.agent.session_id == wanted.stem)

    assert shown[0] == wanted.stem


async def test_rename_and_tag_keys_write_to_the_file(app: CinchApp):
    path = saved(app, "first")

    async with app.run_test() as pilot:
        browser = await browse(pilot, app, 1)
        await pilot.press("ctrl+r")
        await type_text(pilot, browser, "#value", "A better title")
        await pilot.press("enter")
        await until(pilot, lambda: load_session(path).title == "A better title")
        await pilot.press("ctrl+t")
        await type_text(pilot, browser, "#value", "bug #later")
        await pilot.press("enter")
        await until(pilot, lambda: load_session(path).tags == ("bug", "later"))
        await until(pilot, lambda: "#bug #later" in browser._all[0].line.label)

    assert browser._all[0].line.label.startswith("A better title")


async def test_deleted_session_comes_back_with_undo(app: CinchApp):
    path = saved(app, "first")
    data = app.controller.options.paths.data

    async with app.run_test() as pilot:
        browser = await browse(pilot, app, 1)
        await pilot.press("ctrl+d")
        await until(pilot, lambda: not browser._all)
        assert [each.id for each in trashed_sessions(data)] == [path.stem]
        await pilot.press("ctrl+underscore")
        await until(pilot, lambda: browser._all)

    assert path.exists()
    assert trashed_sessions(data) == []


async def test_fork_key_opens_a_copy(app: CinchApp):
    path = saved(app, "first")

    async with app.run_test() as pilot:
        await browse(pilot, app, 1)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: app.controller.assembly.loaded is not None)
        loaded = app.controller.assembly.loaded

    assert loaded is not None
    assert loaded.path != path
    assert loaded.title == "first (fork)"


async def test_export_key_writes_a_file_into_the_folder(app: CinchApp):
    path = saved(app, "first")

    async with app.run_test() as pilot:
        browser = await browse(pilot, app, 1)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, ShortList))
        assert isinstance(app.screen, ShortList)
        app.screen.answer("md")
        await until(pilot, lambda: "Exported" in text_of(browser, "#message"))

    exported = next(app.controller.options.cwd.glob(f"*{path.stem[:8]}*.md"))
    assert "thanks for first" in exported.read_text(encoding="utf-8")


async def test_end_of_an_export_is_reported_after_the_browser_is_closed(app: CinchApp, monkeypatch: pytest.MonkeyPatch):
    path, may_end = saved(app, "first"), threading.Event()
    export = SavedSessions._export
    monkeypatch.setattr(SavedSessions, "_export", lambda *args: may_end.wait(10) and export(*args))

    async with app.run_test(size=(80, 24)) as pilot:
        browser = await browse(pilot, app, 1)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, ShortList))
        await pilot.press("enter")
        await until(pilot, lambda: "Exporting" in text_of(browser, "#message"))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not browser)
        may_end.set()
        transcript = app.controller.view.widgets.transcript
        await until(pilot, lambda: f"first-{path.stem[:8]}.md" in transcript_text(transcript.blocks))


async def test_found_text_is_shown_from_shortly_before_its_match(app: CinchApp):
    saved(app, "first", f"{'much was said before we agreed ' * 3}to use connection pools")

    async with app.run_test(size=(80, 24)) as pilot:
        browser = await browse(pilot, app, 1)
        await type_text(pilot, browser, "#filter", "pools")
        await until(pilot, lambda: any("…connection pools" in row for row in paint(app).rows))
        await type_text(pilot, browser, "#filter", "leopards")
        await until(pilot, lambda: any("No matches in this folder · Tab all folders" in row for row in paint(app).rows))


async def test_tab_shows_the_sessions_of_all_folders(app: CinchApp):
    saved(app, "here")
    saved(app, "there", folder="other")

    async with app.run_test() as pilot:
        browser = await browse(pilot, app, 1)
        await pilot.press("tab")
        await until(pilot, lambda: len(browser._all) == 2)
        await pilot.press("tab")
        await until(pilot, lambda: len(browser._all) == 1)


async def test_session_open_elsewhere_is_shown_without_continuing_it(app: CinchApp):
    path = saved(app, "first")
    kept = path.read_bytes()
    journal = Journal(path, print)
    journal.acquire()

    async with app.run_test() as pilot:
        await browse(pilot, app, 1)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ShortList))
        await pilot.press("1")
        await until(pilot, lambda: app.controller.assembly.is_read_only)
        transcript = app.controller.view.widgets.transcript
        await until(pilot, lambda: any(isinstance(block, UserBlock) for block in transcript.blocks))
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: app.controller.view.prompt.text == "hello")
        notices = [block.text for block in transcript.blocks if isinstance(block, NoticeBlock)]

    journal.close()
    assert any("open read-only; /fork continues" in text for text in notices)
    assert path.read_bytes() == kept


async def test_session_that_is_open_here_is_not_deleted(app: CinchApp):
    path = saved(app, "first")

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await app.controller.load_session(path.stem)
        browser = await browse(pilot, app, 1)
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "open here" in text_of(browser, "#message"))

    assert path.exists()
