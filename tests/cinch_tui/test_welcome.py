from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from fakes.dialogs import Host
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from cinch_tui.api_keys.provider_key import KeyAccepted, KeyCheck, KeyRefused, KeyUnchecked
from cinch_tui.screens.picker import Picker
from cinch_tui.screens.welcome import Leave, TakeTour, UseKey, UseLocal, WelcomeChoice, WelcomeScreen
from providers.model_catalog.local_servers import LocalServer

OLLAMA = LocalServer("ollama", "http://127.0.0.1:11434/v1", ("qwen3:8b", "[red]gpt[/]"))
EMPTY = LocalServer("lmstudio", "http://127.0.0.1:1234/v1", ())


class Machine:
    """A machine on which these servers answer."""

    def __init__(self, *servers: LocalServer) -> None:
        self.servers: Sequence[LocalServer] = servers
        self.answers = asyncio.Event()
        self.answers.set()

    async def find(self) -> Sequence[LocalServer]:
        await self.answers.wait()
        return self.servers


def host(*servers: LocalServer) -> Host:
    return Host(WelcomeScreen(Machine(*servers).find, accept, grace=0))


async def accept(choice: UseKey) -> KeyCheck:
    del choice
    return KeyAccepted()


async def judge(choice: UseKey) -> KeyCheck:
    """Refuses short keys and cannot check long ones."""
    return KeyRefused("Anthropic: invalid x-api-key") if len(choice.secret) < 9 else KeyUnchecked("no network")


async def settled(pilot: Pilot[object], condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await pilot.pause(0.01)


def key_note(app: Host) -> str:
    return str(app.screen.query_one("KeyField .note", Static).render())


def note(app: Host) -> str:
    return str(app.screen.query_one("#note", Static).render())


def options(app: Host) -> list[str]:
    return [str(option.prompt) for option in app.screen.query_one(OptionList).options]


def typed(text: str) -> list[str]:
    names = {":": "colon", "/": "slash", "-": "minus", ".": "full_stop", " ": "space"}
    return [names.get(character, character) for character in text]


@pytest.mark.parametrize(
    ("keys", "choice"),
    [
        ("escape", Leave()),
        ("4", Leave()),
        ("3", TakeTour()),
        ("down down enter", TakeTour()),
        ("1 escape escape", Leave()),
        ("1 1 escape escape 3", TakeTour()),
        ("1 6 escape escape escape", Leave()),
        ("9 3", TakeTour()),
    ],
)
async def test_each_key_leads_on_or_back(keys: str, choice: WelcomeChoice):
    app = host()

    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press(*keys.split())
        await pilot.pause()

    assert app.results == [choice]


async def test_typing_a_prompt_while_it_appears_neither_picks_nor_leaves():
    dialog = WelcomeScreen(Machine().find, accept, grace=60)
    app = Host(dialog)

    async with app.run_test() as pilot:
        await pilot.press("f", "i", "x", "4", "enter", "escape")
        assert app.results == []
        dialog.accept_keys()
        await pilot.press("4")

    assert app.typed == ["fix4"]
    assert app.results == [Leave()]


async def test_a_pasted_key_is_masked_and_never_in_a_repr():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("1", "1", *typed("sk-secret"))
        picture = app.export_screenshot()
        await pilot.press("enter")
        await settled(pilot, lambda: bool(app.results))

    assert app.results == [UseKey("anthropic", "sk-secret", verdict=KeyAccepted())]
    assert "sk-secret" not in picture
    assert "sk-secret" not in repr(app.results)


async def test_a_compatible_service_needs_its_address_first():
    app = host()

    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("1", "6", *typed("example.org"), "enter")
        assert "https://" in note(app)
        await pilot.press("home", *typed("https://"), "enter", "enter")
        assert "Paste the key" in key_note(app)
        await pilot.press(*typed("a b"), "enter")
        assert "no spaces" in key_note(app)
        await pilot.press("backspace", "backspace", *typed("-1"), "enter")
        await settled(pilot, lambda: bool(app.results))

    assert app.results == [UseKey("openai-chat", "a-1", "https://example.org", KeyAccepted())]


async def test_refused_key_stays_in_the_field_and_an_unchecked_one_needs_a_second_enter():
    app = Host(WelcomeScreen(Machine().find, judge, grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("1", "1", *typed("sk-1"), "enter")
        await settled(pilot, lambda: "invalid x-api-key" in key_note(app))
        await pilot.press(*typed("23456789"), "enter")
        await settled(pilot, lambda: "no network" in key_note(app))
        assert app.results == []
        await pilot.press("enter")
        await settled(pilot, lambda: bool(app.results))

    assert app.results == [UseKey("anthropic", "sk-123456789", verdict=KeyUnchecked("no network"))]


async def test_menu_offers_the_best_known_services_first_and_all_others_by_search():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("1")
        offered = [option.split()[1] for option in options(app)[:4]]
        await pilot.press("5")
        await settled(pilot, lambda: isinstance(app.screen, Picker) and not app.screen.waiting)
        await pilot.press(*"groq", "enter")
        await settled(pilot, lambda: isinstance(app.screen, WelcomeScreen))
        await pilot.press(*typed("gsk-1"), "enter")
        await settled(pilot, lambda: bool(app.results))

    assert offered == ["Anthropic", "OpenAI", "Gemini", "OpenRouter"]
    assert app.results == [UseKey("groq", "gsk-1", verdict=KeyAccepted())]


async def test_local_servers_are_looked_for_and_their_models_offered():
    machine = Machine(OLLAMA, EMPTY)
    machine.answers.clear()
    app = Host(WelcomeScreen(machine.find, accept, grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        assert note(app) == "looking for local servers…"
        machine.answers.set()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert options(app) == [
            "1  qwen3:8b  ollama at http://127.0.0.1:11434/v1",
            "2  [red]gpt[/]  ollama at http://127.0.0.1:11434/v1",
            "3  Search again",
        ]
        await pilot.press("2")

    assert app.results == [UseLocal("ollama", "http://127.0.0.1:11434/v1", "[red]gpt[/]")]


@pytest.mark.parametrize(
    ("servers", "word"), [((), "No server found"), ((EMPTY,), "lmstudio is running but has no models")]
)
async def test_a_missing_model_is_reported_and_looked_up_again(servers: tuple[LocalServer, ...], word: str):
    machine = Machine(*servers)
    app = Host(WelcomeScreen(machine.find, accept, grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        await app.workers.wait_for_complete()
        assert word in note(app)
        machine.servers = [OLLAMA]
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        await pilot.press("1")

    assert app.results == [UseLocal("ollama", "http://127.0.0.1:11434/v1", "qwen3:8b")]


async def test_going_back_while_servers_are_looked_for_stays_back():
    machine = Machine(OLLAMA)
    machine.answers.clear()
    app = Host(WelcomeScreen(machine.find, accept, grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2", "escape")
        machine.answers.set()
        await app.workers.wait_for_complete()
        await pilot.pause()

        assert len(options(app)) == 4
        assert note(app) == ""


def test_picture_of_the_welcome(snap_compare):
    assert snap_compare(host(), terminal_size=(80, 24))


def test_picture_of_local_models(snap_compare):
    assert snap_compare(host(OLLAMA), terminal_size=(80, 24), press=["2"])


def test_picture_of_the_welcome_on_a_small_screen(snap_compare):
    assert snap_compare(host(), terminal_size=(40, 10))
