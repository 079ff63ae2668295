from __future__ import annotations

import pytest
from fakes.dialogs import Host

from cinch_tui.context_edits import ContextEdits
from cinch_tui.screens.context import ContextScreen
from cinch_tui.widgets.item_list import ItemList
from harness.agent.agent import Agent
from harness.context.breakdown import context_inputs
from harness.context.overlay import Compaction, ContextOverlay, Eviction
from harness.errors import CinchError
from harness.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, synthetic, user
from providers.demo import scripted

READ = AssistantMessage((Text("Let me look."), ToolCall("call-c1", "read_file", {"path": "a.py"})))
OUTPUT = ToolResult("call-c1", "read_file", (Text("line\n" * 300),))
CONVERSATION: list[Message] = [
    user("Fix the parser."),
    READ,
    OUTPUT,
    AssistantMessage((Text("It is fixed."),)),
    user("Thanks."),
]
NO_CHANGES = ContextOverlay()
SUMMARY = synthetic("<context_summary>\nIntro.\n<summary>\nIt works.\n</summary>\n</context_summary>")


def stage(overlay: ContextOverlay = NO_CHANGES) -> tuple[Host, Agent]:
    agent = Agent(scripted("Hello."), [], "You are cinch.")
    agent.new_session(messages=CONVERSATION)
    agent.state.context.overlay = overlay
    edits = ContextEdits(agent, context_inputs(agent.state, agent.options.window))
    return Host(ContextScreen(edits.usage(), edits)), agent


def rows(app: Host) -> list[str]:
    """Return the messages in the list, without their numbers, tokens and marks of the cache."""
    items = app.screen.query_one(ItemList)
    lines = (items.render_line(y).text[13:].split() for y in range(items.size.height))
    return [" ".join(words) for words in lines if words and words[0] != "system"]


async def test_pinned_message_is_marked_and_the_pin_ends_with_the_same_key():
    app, agent = stage()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("home", "down", "p")
        pinned, marked = agent.state.context.overlay.pinned, rows(app)
        await pilot.press("p")

        assert pinned == {CONVERSATION[0].id}
        assert marked[0] == "you Fix the parser. pinned · kept"
        assert agent.state.context.overlay.pinned == frozenset()
        assert rows(app)[0] == "you Fix the parser. kept"


async def test_removed_reply_leaves_with_its_result_and_can_be_restored():
    app, agent = stage()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("home", "down", "down", "x")
        removed, context = rows(app), agent.context_messages
        await pilot.press("u")

        assert removed[1] == "reply Let me look. → read_file removed · left out"
        assert [each.id for each in context] == [CONVERSATION[at].id for at in (0, 3, 4)]
        assert list(agent.context_messages) == CONVERSATION


async def test_message_is_found_by_number_id_and_call():
    _, agent = stage()
    edits = await ContextEdits.open(agent)

    assert edits.find("3") is edits.find(OUTPUT.id[:8]) is edits.find("call-c1") is OUTPUT
    for unknown in ("0", "6", "c1", "nothing"):
        with pytest.raises(CinchError, match=f"{unknown} names no message"):
            edits.find(unknown)


async def test_cleared_result_is_marked_and_restored():
    app, agent = stage(ContextOverlay(evictions=(Eviction(frozenset({OUTPUT.id})),)))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("home", "down", "down", "down")
        marked = [row for row in rows(app) if "cleared" in row]
        await pilot.press("u")

        assert len(marked) == 1
        assert list(agent.context_messages) == CONVERSATION


async def test_summary_and_system_prompt_are_not_changed_here():
    before = ContextOverlay((Compaction(SUMMARY, frozenset({READ.id, OUTPUT.id})),))
    app, agent = stage(before)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("home", "x", "down", "down", "x", "p")

        assert rows(app)[1].startswith("summary It works.")
        assert agent.state.context.overlay == before
