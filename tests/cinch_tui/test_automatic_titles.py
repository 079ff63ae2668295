from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.script import Failure, Hang, Item, Reply
from genai_prices import Usage, calc_price
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from harness.session.notes import UsageNote
from harness.session.resume import LoadedSession, load_session
from providers.preset import presets

NAMED = ("CINCH_SESSIONS_TITLE_MODEL", "anthropic/small")


async def ask(pilot: Pilot[object], app: CinchApp) -> Path:
    await ready(pilot, app)
    await pilot.press(*"fix the tests", "enter")
    await until(pilot, lambda: app.controller.agent.history.last_reply() and not app.controller.is_running)
    store = app.controller.assembly.store
    assert store is not None
    return store.path


def usage_of_titles(session: LoadedSession) -> list[UsageNote]:
    return [note for note in session.notes if isinstance(note, UsageNote) and note.source == "title"]


async def test_title_is_written_after_the_first_exchange(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with ModelServer([Reply("They pass now."), Reply('"Fixing the tests."'), Reply("Sure.")]) as server:
        app = started(monkeypatch, tmp_path, server, dict([NAMED]))
        async with app.run_test() as pilot:
            path = await ask(pilot, app)
            await until(pilot, lambda: load_session(path).title == "Fixing the tests")
            await pilot.press(*"more", "enter")
            await until(pilot, lambda: len(server.requests) == 3 and not app.controller.is_running)

        session = load_session(path)
        title_request = server.requests[1].body

    assert title_request["model"] == "small"
    assert "tools" not in title_request
    assert "They pass now." in str(title_request["messages"])
    assert [note.model for note in usage_of_titles(session)] == ["anthropic/small"]
    assert [line.get("type") for line in session.labels] == ["ai-title"]


@pytest.mark.parametrize("item", [Failure(500, "overloaded"), Reply("word " * 50), Hang(Reply("x"), after_events=1)])
async def test_failed_title_does_not_disturb_the_conversation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, item: Item
):
    with ModelServer([Reply("They pass now."), item, Reply("Sure.")]) as server:
        app = started(monkeypatch, tmp_path, server, dict([NAMED]))
        async with app.run_test() as pilot:
            path = await ask(pilot, app)
            await until(pilot, lambda: len(server.requests) == 2)
            await pilot.press(*"more", "enter")
            await until(pilot, lambda: len(load_session(path).messages) == 4)

    assert load_session(path).title == ""


async def test_title_of_the_user_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with ModelServer([Reply("They pass now."), Reply("Never asked for.")]) as server:
        app = started(monkeypatch, tmp_path, server, dict([NAMED]))
        async with app.run_test() as pilot:
            await ready(pilot, app)
            await pilot.press(*"/rename Mine", "enter")
            path = await ask(pilot, app)
            await pilot.pause()

        assert len(server.requests) == 1

    assert load_session(path).title == "Mine"


@pytest.mark.parametrize(
    "settings", [{"CINCH_SESSIONS_TITLES": "false", **dict([NAMED])}, {}], ids=["switched off", "other address"]
)
async def test_without_a_model_for_titles_none_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: dict[str, str]
):
    with ModelServer([Reply("They pass now."), Reply("Never asked for.")]) as server:
        app = started(monkeypatch, tmp_path, server, settings)
        async with app.run_test() as pilot:
            path = await ask(pilot, app)
            titles = app.controller._titles
            await until(pilot, lambda: titles is None or titles._task is None or titles._task.done())

        assert len(server.requests) == 1

    assert load_session(path).labels == ()


@pytest.mark.parametrize("name", [preset.name for preset in presets().values() if preset.small_model])
def test_model_for_titles_costs_less_than_the_default_model(name: str):
    preset = presets()[name]

    def price(model: str) -> float:
        tokens = Usage(input_tokens=1_000, output_tokens=100)
        return float(calc_price(tokens, model_ref=model, provider_id=preset.prices).total_price)

    assert price(preset.small_model) < price(preset.default_model)


def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ModelServer, settings: dict[str, str]) -> CinchApp:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return chat(tmp_path)
