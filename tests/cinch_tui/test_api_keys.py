from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer, Recorded
from fakes.script import Failure, Item, Reply
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Static

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.api_keys.leak_check import provider_of, without_keys
from cinch_tui.api_keys.provider_key import KeyAccepted, KeyRefused, KeyUnchecked, check_key
from cinch_tui.app.app import CinchApp
from cinch_tui.config.paths import find_paths
from cinch_tui.screens.choice_dialogs import ShortList
from cinch_tui.screens.key_entry import KeyEntry
from cinch_tui.transcript.blocks import NoticeBlock
from providers.preset import presets

GOOD, BAD = "sk-ant-good-0123456789abcdef", "sk-ant-bad-fedcba9876543210"
ANTHROPIC = presets()["anthropic"]


class KeyedServer(ModelServer):
    """Accepts one key."""

    def next_item(self, recorded: Recorded) -> tuple[Item, int]:
        with self._lock:
            self.requests.append(recorded)
        is_good = recorded.headers.get("x-api-key") == GOOD
        return (Reply("heard you") if is_good else Failure(401, "invalid x-api-key")), len(self.requests)

    @property
    def prompts(self) -> list[str]:
        return [str(each.body["messages"]) for each in self.requests if "Say OK." not in str(each.body["messages"])]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    with KeyedServer() as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        yield running


async def paste(pilot: Pilot[object], text: str) -> None:
    pilot.app.post_message(Paste(text))
    await pilot.pause()


def notices(app: CinchApp) -> str:
    blocks = app.controller.view.widgets.transcript.blocks
    return "\n".join(block.text for block in blocks if isinstance(block, NoticeBlock))


def files_with(secret: str, home: Path) -> list[str]:
    return [path.name for path in home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


@pytest.mark.usefixtures("server")
async def test_key_check_distinguishes_accepted_refused_and_unreachable(monkeypatch: pytest.MonkeyPatch):
    accepted = await check_key(ANTHROPIC, GOOD, model_id="a")
    refused = await check_key(ANTHROPIC, BAD, model_id="a")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    unreachable = await check_key(ANTHROPIC, GOOD, model_id="a")

    assert accepted == KeyAccepted()
    assert isinstance(refused, KeyRefused)
    assert "invalid x-api-key" in refused.reason
    assert isinstance(unreachable, KeyUnchecked)
    assert BAD not in refused.reason


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure(429, "slow down"), KeyAccepted),
        (Failure(404, "model: a"), KeyAccepted),
        (Failure(403, "not for this workspace"), KeyUnchecked),
        (Failure(500, "oops"), KeyUnchecked),
    ],
)
async def test_key_check_judges_other_errors(monkeypatch: pytest.MonkeyPatch, failure: Failure, kind: type):
    with ModelServer([failure]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)

        assert isinstance(await check_key(ANTHROPIC, GOOD, model_id="a"), kind)


@pytest.mark.parametrize("command", ["#key", "/key"])
async def test_key_command_masks_checks_stores_and_applies_the_key_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_home: Path, server: KeyedServer, command: str
):
    KeyStore(find_paths({"CINCH_HOME": str(own_home / "cinch")}), {"CINCH_KEYRING": "off"}).store("anthropic", BAD)
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await pilot.press(*f"{command} anthropic", "enter")
        await until(pilot, lambda: isinstance(app.screen, KeyEntry) and not app.screen.waiting)
        await paste(pilot, BAD)
        await pilot.press("enter")
        note = app.screen.query_one("KeyField .note", Static)
        await until(pilot, lambda: "Rejected" in str(note.render()))
        await pilot.press("ctrl+u")
        await paste(pilot, GOOD)
        picture = app.export_screenshot()
        await pilot.press("enter")
        await until(pilot, lambda: "accepted the key" in notices(app))
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: server.prompts)

    assert server.requests[-1].headers["x-api-key"] == GOOD
    assert GOOD not in picture
    assert "uses it from the next request on" in notices(app)
    assert files_with(GOOD, own_home) == ["credentials.json"]


@pytest.mark.parametrize(("environment", "used"), [(BAD, GOOD), (GOOD, GOOD)])
async def test_environment_key_wins_over_the_entered_one_unless_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: KeyedServer, environment: str, used: str
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", environment)
    entered = GOOD if environment == BAD else "sk-ant-other-0123456789abcdef"
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await pilot.press(*"#key anthropic ")
        await paste(pilot, entered)
        await pilot.press("enter")
        if environment == GOOD:
            await until(pilot, lambda: "not stored" in notices(app))
        else:
            await until(
                pilot, lambda: "ANTHROPIC_API_KEY was rejected, so this process uses the new one" in notices(app)
            )
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: server.prompts)

    assert server.requests[-1].headers["x-api-key"] == used


async def test_key_entry_names_the_variable_that_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: KeyedServer
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", GOOD)
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await pilot.press(*"#key anthropic", "enter")
        await until(pilot, lambda: isinstance(app.screen, KeyEntry) and app.screen.is_attached)
        about = str(app.screen.query_one("#about", Static).render())
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, KeyEntry))

    assert about == "ANTHROPIC_API_KEY is set in the environment and wins over a stored key."
    assert not server.requests


async def test_key_that_cannot_be_checked_is_stored_only_when_confirmed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_home: Path
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await pilot.press(*"#key anthropic", "enter")
        await until(pilot, lambda: isinstance(app.screen, KeyEntry) and not app.screen.waiting)
        await paste(pilot, GOOD)
        await pilot.press("enter")
        note = app.screen.query_one("KeyField .note", Static)
        await until(pilot, lambda: "could not be checked" in str(note.render()))
        before = files_with(GOOD, own_home)
        await pilot.press("enter")
        await until(pilot, lambda: "was not checked" in notices(app))

    assert before == []
    assert files_with(GOOD, own_home) == ["credentials.json"]


@pytest.mark.parametrize(
    ("keys", "restored"),
    [("enter", "use  please"), ("escape", f"use {GOOD} please"), ("3", "")],
)
async def test_prompt_with_a_key_needs_confirmation_before_it_is_sent_or_kept(
    tmp_path: Path, own_home: Path, server: KeyedServer, keys: str, restored: str
):
    sent = not restored
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await paste(pilot, f"use {GOOD} please")
        await until(pilot, lambda: list(own_home.rglob("drafts/*.txt")))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ShortList) and not app.screen.waiting)
        before = files_with(GOOD, own_home)
        await pilot.press(*keys.split())
        if sent:
            await until(pilot, lambda: server.prompts)
        else:
            await until(pilot, lambda: app.controller.view.prompt.text)
        assert app.controller.view.prompt.text == restored

    assert before == []
    assert bool(server.prompts) == sent
    assert len(files_with(GOOD, own_home)) == sent  # the session file
    assert "history.jsonl" not in files_with(GOOD, own_home)


async def test_key_in_a_prompt_can_be_stored_instead_of_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_home: Path, server: KeyedServer
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await paste(pilot, GOOD)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ShortList) and not app.screen.waiting)
        await pilot.press("down", "enter")
        await until(pilot, lambda: "accepted the key" in notices(app))

    assert server.prompts == []
    assert files_with(GOOD, own_home) == ["credentials.json"]


@pytest.mark.parametrize(
    ("secret", "provider"),
    [("sk-ant-1", "anthropic"), ("sk-or-v1-1", "openrouter"), ("sk-1", "openai"), ("AIza1", "gemini"), ("AKIA1", "")],
)
def test_provider_is_recognised_by_the_beginning_of_its_keys(secret: str, provider: str):
    assert provider_of(secret) == provider


def test_stored_text_contains_no_api_keys():
    text = f"#key openai x\nfirst {GOOD} then sk-your-api-key-goes-here, AKIAABCDEFGHIJKLMNO1 end"

    assert without_keys(text) == "first [key removed] then sk-your-api-key-goes-here, [key removed] end"
