from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.dialogs import Host
from fakes.list_server import ListServer
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.config.paths import find_paths
from cinch_tui.models.model_catalog import ModelCatalog, items, pick_model, typed, used_in
from cinch_tui.models.offers import ready_providers, summary
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.widgets.item_list import ItemList
from harness.messages import AssistantMessage, ModelSpec, Text, UserMessage
from harness.ports.provider import Price
from providers.installed import each_preset
from providers.model_catalog.local_servers import LocalServer
from providers.model_catalog.metadata import ModelMetadata

CLAUDES: dict[str, Any] = {
    "data": [
        {"id": "claude-opus-99", "created_at": "2030-01-01T00:00:00Z", "max_input_tokens": 1_000_000},
        {"id": "claude-sonnet-4-5", "created_at": "2025-09-29T00:00:00Z", "max_input_tokens": 200_000},
    ]
}
SPEC = ModelSpec("anthropic", "claude-haiku-4-5")


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> KeyStore:
    for preset in each_preset():
        for variable in (*preset.variables, preset.base_url_variable):
            if variable:
                monkeypatch.delenv(variable, raising=False)
    environ = {"CINCH_HOME": str(tmp_path), "CINCH_KEYRING": "off", "ANTHROPIC_API_KEY": "sk-ant-market"}
    monkeypatch.setattr("cinch_tui.models.offers.models_folder", lambda: tmp_path)

    async def no_servers() -> list[LocalServer]:
        return []

    monkeypatch.setattr("cinch_tui.models.offers.find_local_servers", no_servers)
    return KeyStore(find_paths(environ), environ)


@pytest.fixture
def claudes(keys: KeyStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[ListServer]:
    # The variables were cleared before.
    del keys
    with ListServer({"/v1/models": CLAUDES}) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


class Choosing(App[None]):
    chosen: str | None = "unasked"

    def __init__(self, market: ModelCatalog, used: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.market = market
        self.used = used

    def on_mount(self) -> None:
        self.run_worker(self.choose())

    async def choose(self) -> None:
        self.chosen = await pick_model(self, self.market, SPEC, self.used)


async def until(pilot: Pilot[None], text: str) -> list[str]:
    """The lines of the picker, as soon as one of them, or the count, holds the text."""
    while True:
        await pilot.pause(0.01)
        screen = pilot.app.screen
        if isinstance(screen, Picker) and screen.focused is not None:
            shown = screen.query_one(ItemList)
            lines = [line for y in range(shown.size.height) if (line := shown.render_line(y).text.strip())]
            if any(text in line for line in (*lines, str(screen.query_one("#count", Static).render()))):
                return lines


def cursor_line(pilot: Pilot[None]) -> str:
    shown = pilot.app.screen.query_one(ItemList)
    return shown.render_line(shown.cursor - shown.scroll_offset.y).text.split()[0]


async def test_the_picker_opens_before_any_response_and_responses_replace_the_price_data(
    keys: KeyStore, claudes: ListServer
) -> None:
    claudes.released.clear()
    app = Choosing(ModelCatalog(keys), used=("openai/gpt-5",))

    async with app.run_test(size=(120, 40)) as pilot:
        before = await until(pilot, "anthropic/claude-opus-4-5")
        await until(pilot, "asking anthropic")
        claudes.released.set()
        after = await until(pilot, "anthropic/claude-opus-99")
        await pilot.press(*"opus", "enter")
        await app.workers.wait_for_complete()

    assert before[0].startswith("anthropic/claude-haiku-4-5")
    assert "in use · 200k · $1 / $5 · images tools thinking" in before[0]
    assert before[1].startswith("openai/gpt-5")
    assert before[1].endswith("used here")
    assert [line.split()[0] for line in after] == [
        "anthropic/claude-haiku-4-5",
        "openai/gpt-5",
        "anthropic/claude-opus-99",
        "anthropic/claude-sonnet-4-5",
        "demo/tour",
    ]
    assert "$1 / $5" in after[0]
    assert app.chosen == "anthropic/claude-opus-99"


async def test_an_answer_moves_neither_filter_nor_cursor(keys: KeyStore, claudes: ListServer) -> None:
    claudes.released.clear()
    app = Choosing(ModelCatalog(keys))

    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, "anthropic/claude-sonnet-4-5")
        await pilot.press(*"sonnet")
        await until(pilot, " of ")
        while cursor_line(pilot) != "anthropic/claude-sonnet-4-5":
            await pilot.press("down")
        claudes.released.set()
        lines = await until(pilot, "1 of 4")
        under_cursor = cursor_line(pilot)
        await pilot.press("enter")
        await app.workers.wait_for_complete()

    assert len(lines) == 1
    assert under_cursor == app.chosen == "anthropic/claude-sonnet-4-5"


async def test_a_name_that_is_on_no_list_is_taken_as_typed(keys: KeyStore, claudes: ListServer) -> None:
    app = Choosing(ModelCatalog(keys))

    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, "anthropic/claude-opus-99")
        await pilot.press(*"anthropic", "slash", *"claude-4")
        await until(pilot, "as typed")
        await pilot.press("enter")
        await app.workers.wait_for_complete()

    assert app.chosen == "anthropic/claude-4"
    assert claudes.asked == ["/v1/models"]


async def test_unreachable_services_are_named_next_to_the_count(
    keys: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    market = ModelCatalog(keys)
    app = Choosing(market)

    async with app.run_test(size=(120, 40)) as pilot:
        lines = await until(pilot, "no answer from anthropic: ")
        await pilot.press("escape")
        await app.workers.wait_for_complete()

    assert any(line.startswith("anthropic/claude-opus-4-5") for line in lines)
    assert app.chosen is None


async def test_closing_the_picker_cancels_the_requests(keys: KeyStore, claudes: ListServer) -> None:
    claudes.released.clear()
    market = ModelCatalog(keys)
    app = Choosing(market)

    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, "asking anthropic")
        await pilot.press("escape")
        await app.workers.wait_for_complete()

    assert app.chosen is None
    assert market.note == "asking anthropic…"


@pytest.mark.usefixtures("claudes")
async def test_the_second_time_everything_is_cached(keys: KeyStore) -> None:
    market = ModelCatalog(keys)
    await market.ask(SPEC, lambda: None)

    names = [item.value for item in items(market, SPEC.name, [])]

    assert names == [
        "anthropic/claude-haiku-4-5",
        "anthropic/claude-opus-99",
        "anthropic/claude-sonnet-4-5",
        "demo/tour",
    ]


async def test_a_model_from_another_address_is_looked_up_there(keys: KeyStore, claudes: ListServer) -> None:
    market = ModelCatalog(keys)

    with ListServer({"/v1/models": {"data": [{"id": "house-claude"}]}}) as house:
        spec = ModelSpec("anthropic", "house-claude", base_url=house.url)
        await market.ask(spec, lambda: None)

    assert [offer.name for offer in market.offers] == ["anthropic/house-claude"]
    assert claudes.asked == []


def test_the_active_provider_is_queried_whatever_its_credentials_and_each_service_once(keys: KeyStore) -> None:
    both = KeyStore(keys.paths, {**keys.environ, "OPENAI_API_KEY": "sk-openai"})

    assert [preset.name for preset in ready_providers(both)] == ["anthropic", "openai"]
    assert [preset.name for preset in ready_providers(both, "openai-chat")] == ["anthropic", "openai-chat"]
    assert [preset.name for preset in ready_providers(keys, "bedrock")] == ["anthropic", "bedrock"]
    assert [preset.name for preset in ready_providers(keys, "ollama")] == ["anthropic"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("anthropic/claude-99", "anthropic/claude-99"),
        (" openrouter/qwen/qwen9 ", "openrouter/qwen/qwen9"),
        ("claude-99", "mistral/claude-99"),
        ("qwen/qwen9", "mistral/qwen/qwen9"),
        ("anthropic/opus", None),
        ("anthropic/", None),
        ("two words", None),
    ],
)
def test_typed_text_is_offered_if_it_can_be_a_model_name(text: str, name: str | None) -> None:
    item = typed(text, "mistral")

    assert (item.value if item else None) == name


def test_the_models_that_replied_come_latest_first_and_once() -> None:
    replies = [AssistantMessage((), model=name, provider="p") for name in ("a", "b", "a")]

    assert used_in([UserMessage((Text("hi"),)), *replies]) == ["p/a", "p/b"]


def test_picture_of_the_models_while_a_provider_is_queried(snap_compare):
    known = {
        "anthropic/claude-sonnet-5-5": ModelMetadata(
            200_000, price=Price(3, 15), images=True, tools=True, thinking=True
        ),
        "openai/gpt-6-codex": ModelMetadata(400_000, price=Price(1.25, 10), tools=True, thinking=True),
        "openrouter/nvidia/nemotron-3-super-120b-a12b:free": ModelMetadata(262_144, price=Price(0, 0), tools=False),
        "openrouter/qwen/qwen3-coder-480b-a35b-instruct": ModelMetadata(262_144, price=Price(0.22, 0.95), tools=True),
        "ollama/qwen3:8b": ModelMetadata(32_768, images=False, tools=True, thinking=True),
        "vllm/Qwen/Qwen3-8B": ModelMetadata(40_960),
        "demo/tour": ModelMetadata(),
    }
    lines = [Item(name, summary(each), name) for name, each in known.items()]

    async def refill(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app.screen, Picker)
        pilot.app.screen.refill(lines, "asking mistral…")
        await pilot.press("down")

    assert snap_compare(Host(Picker("Which model?", lines[:1])), terminal_size=(80, 24), run_before=refill)
