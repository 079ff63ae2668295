from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.script import Reply
from fakes.talk import call, reply, written

from cinch_tui.app.app import CinchApp
from cinch_tui.screens.context import ContextScreen
from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import UserBlock, transcript_text
from cinch_tui.transcript.history_blocks import blocks_of
from cinch_tui.transcript.image import TranscriptImage
from cinch_tui.transcript.tool_block import ToolBlock
from harness.messages import (
    AssistantMessage,
    Image,
    ModelMessage,
    Text,
    Thinking,
    ToolResult,
    UserMessage,
    new_id,
    user,
)
from harness.session.repaired import repaired_messages
from harness.session.resume import load_session
from harness.views import DiffView, TerminalView, TextView, View
from tools import builtin_tools

LONG = "A line of a long output, which is not needed at once.\n" * 200
SHOT = Image("image/png", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" + "AAAA" * 2_000)


def turn(number: int, view: View | None = None, text: str = LONG) -> list[ModelMessage]:
    call_id = f"call-{number}"
    return [
        user(f"prompt {number}"),
        AssistantMessage((Thinking(f"thought {number}\n{LONG}"), call(call_id, path=f"{number}.py")), "m-1", "demo"),
        ToolResult(call_id, "read_file", (Text(f"{text}{number}"),), view=view),
        reply(f"# Reply {number}\n\n{text}"),
    ]


def conversation() -> list[ModelMessage]:
    """Return a conversation with a long result of each kind."""
    views: list[View | None] = [
        None,
        TextView(LONG),
        TerminalView("make", LONG, 2),
        DiffView("a.py", LONG, LONG + "more"),
    ]
    pictured = ToolResult("shot", "read_file", (Text("seen"), SHOT))
    return [
        *(message for number, view in enumerate(views) for message in turn(number, view)),
        reply(call("shot", path="shot.png")),
        pictured,
        reply("the end"),
    ]


def test_blocks_of_messages_on_disk_show_what_those_in_memory_show(tmp_path: Path):
    session = load_session(written(tmp_path, *conversation()))
    stored, kept = repaired_messages(session, 0), repaired_messages(session, 1 << 30)

    blocks, expected = (blocks_of(each, builtin_tools(), session) for each in (stored, kept))

    assert len(stored.on_disk) == 13
    assert [facts(each) for each in blocks] == [facts(each) for each in expected]
    assert transcript_text(blocks) == transcript_text(expected)
    assert [each.message_id for each in blocks if isinstance(each, UserBlock)] == [
        stored[at].id for at in (0, 4, 8, 12)
    ]


def facts(block: TranscriptBlock) -> tuple[object, ...]:
    call_facts = (block.headline, block.outcome, block.view, block.text) if isinstance(block, ToolBlock) else ()
    images = [(each.label, each.width, each.height) for each in block.images]
    return (block.source, block.search_text, block.code, block.folded, block.foldable, block.time, images, *call_facts)


def test_heights_of_blocks_on_disk_are_estimated_without_reading_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    session = load_session(written(tmp_path, *conversation()))
    blocks = blocks_of(repaired_messages(session, 0), builtin_tools(), session)
    read = Mock()
    monkeypatch.setattr(session.messages, "read", read)

    heights = [block.guess(80) for block in blocks]

    assert not read.called
    replies = [height for height, block in zip(heights, blocks, strict=True) if block.source.startswith("# Reply")]
    assert all(100 < height < 400 for height in replies)


def long_session(
    tmp_path: Path, app: CinchApp, *first: ModelMessage, turns: int = 45, text: str = LONG * 10
) -> list[ModelMessage]:
    """Write a session of ten megabytes, which starts with `first`, to the folder of the app as `long`."""
    messages = [*first, *(message for number in range(turns) for message in turn(number, text=text))]
    path = written(tmp_path, *messages, session_id="long")
    target = app.controller.options.paths.data / path.relative_to(tmp_path / "data")
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    return messages


async def test_long_session_is_shown_searched_and_read_completely_for_a_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    with ModelServer([Reply("Answer")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        app = chat(tmp_path, "-r", "long")
        messages = long_session(tmp_path, app)
        async with app.run_test() as pilot:
            await ready(pilot, app)
            agent, transcript = app.controller.agent, app.controller.view.widgets.transcript
            stored = agent.history.stored
            assert stored is not None
            assert 0 < len(stored.on_disk) < len(messages)
            assert sum(isinstance(block, UserBlock) for block in transcript.blocks) == 45

            await pilot.press("ctrl+f", *"reply 7")
            await until(pilot, lambda: transcript._search and transcript._search.current)
            await pilot.press("escape")
            transcript.action_scroll_home()
            await transcript.drained()
            assert "prompt 0" in transcript._rows[0].line.text
            assert agent.history.stored is stored

            await pilot.press(*"go", "enter")
            await until(pilot, lambda: server.requests and not app.controller.is_running)

        # The model summarizes a conversation of this length, which does not fit its context window.
        assert agent.history.stored is None
        assert [each.text for each in agent.history.messages[: len(messages)]] == [each.text for each in messages]


async def test_requests_after_the_resume_of_a_long_session_are_valid_and_share_their_beginning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    monkeypatch.setenv("CINCH_SESSIONS_TITLES", "false")
    (tmp_path / "a.py").write_text("print(1)\n")

    def answer(body: dict[str, Any]) -> Reply:
        if is_for_summary(body):
            return Reply("## Goal\nAll prompts are answered. Next: wait for the user.")
        return Reply("Done.") if "print(1)" in str(body["messages"][-1]) else Reply(calls=[("read_file", READ)])

    with ModelServer(answer) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        app = chat(tmp_path, "-r", "long")
        long_session(tmp_path, app, turns=60, text=LONG)
        async with app.run_test() as pilot:
            await ready(pilot, app)
            window = app.controller.agent.state.model_info.context_window
            await pilot.press(*"go", "enter")
            await until(pilot, lambda: len(server.requests) > 2 and not app.controller.is_running)

    bodies = [request.body for request in server.requests if not is_for_summary(request.body)]
    first, second = (without_marks(body["messages"]) for body in bodies)
    assert len(second) > len(first)
    assert second[: len(first)] == first
    for body in bodies:
        calls, results = ids_in(body, "tool_use", "id"), ids_in(body, "tool_result", "tool_use_id")
        assert len(calls) >= 2
        assert calls == results
        assert len(json.dumps(body)) / 4 < window


READ = {"path": "a.py"}


def is_for_summary(body: dict[str, Any]) -> bool:
    return "the summary that replaces" in json.dumps([body.get("system"), body["messages"][-1]])


def without_marks(messages: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(each).replace(', "cache_control": {"type": "ephemeral"}', "") for each in messages]


def ids_in(body: dict[str, Any], kind: str, key: str) -> list[list[str]]:
    """Return the ids of the blocks of a kind, by message; a message without any is left out."""
    blocks = [[each for each in message["content"] if isinstance(each, dict)] for message in body["messages"]]
    ids = [[each[key] for each in message if each["type"] == kind] for message in blocks]
    return [each for each in ids if each]


@pytest.mark.parametrize("by_command", [False, True])
async def test_session_is_opened_at_a_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, by_command: bool):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, *([] if by_command else ["-r", "long@9"]))
    messages = long_session(tmp_path, app)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        if by_command:
            await pilot.press(*f"/resume long@{messages[8].id[:8]}", "enter")
        transcript = app.controller.view.widgets.transcript
        await until(pilot, lambda: transcript._selected is not None)
        await transcript.drained()

        selected = transcript._selected
        wanted = messages[8] if by_command else messages[11]
        assert selected is not None
        assert selected.message_id == wanted.id
        assert transcript._rows[0].block is selected
        assert not transcript.following
        assert sum(isinstance(block, UserBlock) for block in transcript.blocks) == 45


async def test_result_is_a_message_that_a_session_can_be_opened_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)
    messages = long_session(tmp_path, app, turns=3)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        await app.controller.load_session(f"long@{messages[6].id}")
        selected = app.controller.view.widgets.transcript._selected

        assert isinstance(selected, ToolBlock)
        assert selected.call_id == "call-1"


async def test_unknown_message_is_reported_and_the_session_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)
    long_session(tmp_path, app, turns=3)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        before = app.controller.agent.session_id
        await pilot.press(*f"/resume long@{new_id()}", "enter")
        transcript = app.controller.view.widgets.transcript
        await until(pilot, lambda: transcript.blocks)

        assert "has no message" in transcript_text(transcript.blocks)
        assert app.controller.agent.session_id == before


def test_unknown_message_on_the_command_line_ends_with_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, "-r", "long@99")
    long_session(tmp_path, app, turns=3)

    app.run(headless=True)

    assert app.controller.refusal == "session long has no message 99; its messages have the numbers 1 to 9"


async def test_copy_of_a_long_session_is_complete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, "-r", "long")
    messages = long_session(tmp_path, app)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press(*"/copy 45", "enter")
        await until(pilot, lambda: app.clipboard)

        assert app.clipboard == messages[3].text


async def test_context_of_a_long_session_counts_complete_messages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, "-r", "long")
    long_session(tmp_path, app)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press(*"/context", "enter")
        await until(pilot, lambda: isinstance(app.screen, ContextScreen))
        screen = app.screen

    assert isinstance(screen, ContextScreen)
    # Ten megabytes of text; the outlines have less than one.
    assert sum(segment.tokens for segment in screen._breakdown.segments) > 1_000_000


async def test_fork_of_a_long_session_reads_the_chosen_prompt_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, "-r", "long")
    long_session(tmp_path, app, user("start"), reply("started"), user(LONG), reply("fine"))
    async with app.run_test() as pilot:
        await ready(pilot, app)
        stored = app.controller.agent.history.stored
        await pilot.press(*"/fork 3", "enter")
        await until(pilot, lambda: app.controller.view.prompt.user_input.text == LONG)

        assert stored is not None
        assert stored.on_disk


def test_images_of_messages_on_disk_are_read_when_they_are_needed(tmp_path: Path):
    pasted = UserMessage((Text("see [image 1: shot.png]"), SHOT))
    session = load_session(written(tmp_path, pasted, reply(call("shot", path="shot.png")), *conversation()[-2:]))
    blocks = blocks_of(repaired_messages(session, 0), builtin_tools(), session)
    shown = [block for block in blocks if block.images]
    for block in shown:
        block.make_parts()

    assert [block.images[0].data for block in shown] == [SHOT.data, SHOT.data]
    assert not any(SHOT.data == each for block in shown for each in referenced_texts(block.images[0]))


def referenced_texts(image: TranscriptImage) -> list[object]:
    """Return the texts that an image keeps in memory."""
    fields = [getattr(image, name) for name in image.__struct_fields__]
    closed = [cell.cell_contents for cell in getattr(image.read, "__closure__", None) or ()]
    return [each for each in (*fields, *closed) if isinstance(each, str)]
