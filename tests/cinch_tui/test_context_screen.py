from __future__ import annotations

from collections.abc import Callable

import pytest
from fakes.dialogs import Host
from textual.pilot import Pilot
from textual.widgets import Static

from cinch_tui.app.themes import BUILTIN_FOLDER, load_theme
from cinch_tui.context_edits import ContextEdits
from cinch_tui.reports.context import report, section_sizes, segment_text
from cinch_tui.screens.context import ContextScreen
from cinch_tui.widgets.item_list import ItemList
from cinch_tui.widgets.view_pane import ViewPane
from harness.agent.agent import Agent
from harness.context.breakdown import ContextInputs
from harness.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, Usage, UserMessage, user
from harness.ports.provider import ToolSpec
from providers.demo import scripted

RULES = "# Instruction files\nWrite tests first."
FRAME = ContextInputs(
    f"{'You are cinch. ' * 150}\n\n{RULES}",
    [ToolSpec("bash", "runs it " * 90, {})],
    RULES,
    size=200_000,
    reserve=16_000,
)


def conversation(turns: int) -> list[Message]:
    messages: list[Message] = [
        user("fix the [red]failing[/] test\x1b[2J"),
        UserMessage((Text("hurry"),), synthetic=True),
    ]
    for number in range(turns):
        call = ToolCall(f"c{number}", "read_file", {"path": f"shop/{number}.py"})
        usage = Usage(input=2, output=60, cache_read=1_500 + number * 400, cache_write=340)
        messages.append(AssistantMessage((Text(f"Looking at {number}."), call), "m", "p", usage))
        messages.append(ToolResult(f"c{number}", "read_file", (Text(f"line {number}\n" * 200),)))
    return messages


def edits_of(turns: int) -> ContextEdits:
    agent = Agent(scripted("Hello."))
    agent.new_session(messages=conversation(turns))
    return ContextEdits(agent, FRAME)


def host(turns: int = 12) -> Host:
    edits = edits_of(turns)
    return Host(ContextScreen(edits.usage(), edits))


def lines(app: Host) -> list[str]:
    items = app.screen.query_one(ItemList)
    return [" ".join(items.render_line(y).text.split()) for y in range(items.size.height)]


def cursor(app: Host) -> int:
    return app.screen.query_one(ItemList).cursor


async def test_each_message_shows_its_mark_its_tokens_and_what_it_is():
    app = host(1)

    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.press("home")
        shown = [line for line in lines(app) if line]

    assert [line.split("~")[0].split()[:2] for line in shown[:3]] == [["●"]] * 3
    assert [line.split()[:2] for line in shown[3:]] == [["1", "●"], ["2", "◑"], ["3", "⌇"], ["4", "⌇"]]
    assert shown[3].split(maxsplit=3)[3] == "you fix the [red]failing[/] test kept"
    assert shown[4].split()[3:] == ["reminder", "hurry", "kept"]
    assert shown[5].split()[2:] == ["60", "reply", "Looking", "at", "0.", "→", "read_file", "kept"]
    assert shown[6].split()[2].startswith("~")
    assert shown[6].split()[3:5] == ["result", "read_file(shop/0.py):"]


async def test_sections_and_what_is_free_are_reported():
    app = host()

    async with app.run_test(size=(80, 30)):
        sections = str(app.screen.query_one("#sections", Static).render()).splitlines()

    assert [line.split("  ")[0] for line in sections] == [
        "tools",
        "system prompt",
        "instructions",
        "reminders",
        "files",
        "chat",
        "free",
        "room for the reply",
    ]
    assert sections[-1].split()[-3:] == ["16,000", "8", "%"]


@pytest.mark.parametrize(
    ("keys", "place"),
    [("home", 0), ("home down down", 2), ("home pagedown", 10), ("end", 28), ("end pageup up", 17), ("", 28)],
)
async def test_each_key_moves_the_cursor(keys: str, place: int):
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys.split())

        assert cursor(app) == place


@pytest.mark.parametrize("key", ["escape", "c", "enter"])
async def test_a_message_is_read_and_closed_before_the_view(key: str):
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("end", "up", "enter")
        await pilot.pause()
        pane = app.screen.query_one(ViewPane)
        read = pane.render_line(0).text.strip()
        await pilot.press(key)
        await pilot.pause()
        is_list, at = app.screen.query_one(ItemList).display, cursor(app)
        await pilot.press("escape")
        await pilot.pause()

    assert (read, is_list, at) == ("Looking at 11.", True, 27)
    assert app.results == [None]


async def test_system_prompt_can_be_read():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("home", "down", "down", "enter")
        await pilot.pause()
        pane = app.screen.query_one(ViewPane)

        assert [pane.render_line(y).text.strip() for y in (0, 1)] == RULES.splitlines()


def test_tools_of_each_mcp_server_are_listed_apart():
    agent = Agent(scripted("Hello."))
    tools = [ToolSpec("mcp__github__get_issue", "Get an issue. " * 80, {}), ToolSpec("bash", "runs it " * 90, {})]
    edits = ContextEdits(agent, ContextInputs("You are cinch.", tools, size=200_000))
    usage = edits.usage()
    segment = next(each for each in usage.segments if each.server)

    assert [name for name, _ in section_sizes(usage)][:2] == ["tools", "MCP github"]
    assert segment_text(segment, edits.texts).startswith("mcp__github__get_issue: Get an issue.")


async def test_ten_thousand_messages_are_there_and_only_those_seen_are_drawn():
    app = host(5_000)

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("end")

        assert cursor(app) == 10_004
        assert "Looking at 4999." in lines(app)[-2]


def test_without_a_screen_it_is_reported_in_lines():
    edits = edits_of(1)
    reported = report(edits.usage(), edits.numbers, edits.mark).splitlines()

    assert reported[0].endswith("of 200,000 tokens, 1 %")
    assert reported[-1].startswith("4. about ")
    assert "tokens: result read_file(shop/0.py): line 0" in reported[-1]
    assert not any("\x1b" in line for line in reported)


@pytest.mark.parametrize("theme", ["cinch-dark", "cinch-light"])
@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_picture_of_the_context(snap_compare: Callable[..., bool], size: tuple[int, int], theme: str):
    app = host()

    async def show(pilot: Pilot[None]) -> None:
        app.register_theme(load_theme(theme, (BUILTIN_FOLDER,)))
        app.theme = theme
        await pilot.press("up", "up")
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=show)


def test_picture_of_a_message_that_is_read(snap_compare: Callable[..., bool]):
    assert snap_compare(host(), terminal_size=(80, 24), press=["end", "enter"])
