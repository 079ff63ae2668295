from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.chat_stage import chat_stage
from fakes.recording_host import RecordingHost
from fakes.talk import written

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Invocation
from cinch_tui.reports.notices import context_text
from cinch_tui.transcript.blocks import NoticeBlock, SummaryBlock, summary_markdown
from cinch_tui.transcript.history_blocks import blocks_of
from harness.context.summary_text import prose_of
from harness.events import CompactionEnd, CompactionStart, Event, Evicted
from harness.messages import AssistantMessage, Message, Text, UserMessage, user
from harness.session.notes import CompactionNote, CompactionUndoNote
from harness.session.records import to_bytes
from harness.session.resume import load_session
from providers.demo import Reply, Say, scripted

PROSE = "**Goal**: fix the parser. Next: run the tests."


def conversation() -> list[Message]:
    turns = ((user(f"Request {n}: {'details ' * 90}"), AssistantMessage((Text(f"Answer {n}."),))) for n in range(12))
    return [message for turn in turns for message in turn]


@pytest.fixture
def host() -> RecordingHost:
    """Return a host whose agent has a long conversation, and a model that writes a summary once."""
    host = RecordingHost()
    host.agent.new_session(messages=conversation())
    host.agent.set_model(scripted(PROSE))
    return host


async def run(text: str, host: RecordingHost) -> None:
    parsed = builtin_commands().parse(text)
    assert isinstance(parsed, Invocation), parsed
    await builtin_commands().run(parsed, host)


async def test_compact_replaces_older_messages_and_undo_restores_them(host: RecordingHost):
    before = host.agent.context_messages

    await run("/compact the parser", host)
    compacted = host.agent.context_messages
    await run("/compact undo", host)

    assert len(compacted) < len(before)
    assert any("fix the parser" in message.text for message in compacted if isinstance(message, UserMessage))
    assert host.agent.context_messages == before
    assert host.notices == [("info", "The model sees the original messages again, instead of their summary.")]


async def test_edited_summary_replaces_the_prose(host: RecordingHost):
    await run("/compact", host)
    host.picked = "Goal: nothing is left to do."

    await run("/compact edit", host)

    assert host.calls == [("edit_text", PROSE, "summary.md")]
    assert prose_of(host.agent.state.context.overlay.compactions[-1].summary) == host.picked


@pytest.mark.parametrize("command", ["undo", "edit"])
async def test_undo_and_edit_need_a_summary(host: RecordingHost, command: str):
    await run(f"/compact {command}", host)

    assert host.notices == [("error", f"there is no summary to {command}")]


async def test_failed_summary_is_reported_and_returns_queued_messages(host: RecordingHost):
    host.agent.set_model(scripted(*[Reply((Say(" "),))] * 3))
    before = host.agent.context_messages

    await run("/compact", host)

    assert [level for level, _ in host.notices] == ["error"]
    assert host.calls == [("return_queued",)]
    assert host.agent.context_messages == before


async def test_message_typed_while_summarizing_is_sent_afterwards(host: RecordingHost):
    work = asyncio.create_task(run("/compact", host))
    await asyncio.sleep(0)
    host.agent.steer("and now the tests")
    await work

    assert host.calls == [("continue_run",)]


async def test_messages_are_pinned_removed_and_restored_by_number_and_id(host: RecordingHost):
    ids = [message.id for message in host.agent.history]

    await run("/context drop 3 6", host)
    removed = host.agent.state.context.overlay.dropped
    await run(f"/context restore {ids[2][:8]}", host)
    await run("/context pin 4", host)
    await run("/context unpin 5", host)

    overlay = host.agent.state.context.overlay
    assert removed == {ids[2], ids[5]}
    assert (overlay.dropped, overlay.pinned) == ({ids[5]}, {ids[3]})
    done = [text.partition(" details")[0] for _, text in host.notices if not text.startswith("The context has")]
    assert done == [
        "Removed: you Request 1:",
        "Removed: reply Answer 2.",
        "Restored: you Request 1:",
        "Pinned: reply Answer 1.",
        "Unchanged: you Request 2:",
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("drop 3 99", "99 names no message; /context lists the numbers"),
        ("drop", "/context pin|unpin|drop|restore N takes numbers of messages, which /context lists, or ids"),
        ("delete 3", "/context pin|unpin|drop|restore N takes numbers of messages, which /context lists, or ids"),
    ],
)
async def test_context_changes_nothing_if_an_argument_is_wrong(host: RecordingHost, arguments: str, problem: str):
    await run(f"/context {arguments}", host)

    assert host.notices == [("error", problem)]
    assert not host.agent.state.context.overlay


async def test_short_conversation_needs_no_summary():
    host = RecordingHost()

    await run("/compact", host)

    assert host.notices == [("info", "Not summarized: a summary would not make the context shorter.")]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            CompactionEnd(reason="auto", replaced=214, tokens_before=168_000, tokens=21_000, summary="…"),
            "Summarized 214 messages: 168k → 21k tokens. /compact undo, /compact edit",
        ),
        (CompactionEnd(reason="edit", summary="…"), "The summary was changed. /compact undo, /compact edit"),
        (
            CompactionEnd(reason="tool", replaced=1, tokens_before=9_500, tokens=950),
            "The model removed 1 message from its context: 9.5k → 950 tokens. /compact undo",
        ),
        (CompactionEnd(reason="auto", error="it is down"), "Older messages were not summarized: it is down."),
        (CompactionEnd(reason="manual", error="it is down"), ""),
        (CompactionEnd(reason="auto", error="the compaction was aborted", is_aborted=True), ""),
        (
            Evicted(ids=("a",) * 14, can_recall=True, tokens_before=152_000, tokens=60_000),
            "Cleared 14 old results: 152k → 60k tokens",
        ),
    ],
)
def test_changes_of_the_context_are_one_line(event: Event, text: str):
    assert context_text(event) == text


async def test_summary_is_one_line_that_unfolds():
    app, widgets, bridge = chat_stage()
    async with app.run_test():
        bridge.receive(CompactionStart(reason="manual", tokens=9))
        while_it_runs = widgets.status.status.state
        bridge.receive(CompactionEnd(reason="manual", summary_id="s", summary="It works.", replaced=3))
        bridge.receive(Evicted(ids=("a",), can_recall=True, tokens_before=9, tokens=3))

    block, cleared = widgets.transcript.blocks
    assert (while_it_runs, widgets.status.status.state) == ("running", "idle")
    assert isinstance(block, SummaryBlock)
    assert (block.foldable, block.folded, len(block.make_parts())) == (True, True, 1)
    block.folded = False
    assert [part.text for part in block.make_parts()] == ["", "It works."]
    assert isinstance(cleared, NoticeBlock)


def test_tags_of_a_summary_become_headings():
    text = "<context_summary>\nIntro.\n<read_files>\n- a.py\n</read_files>\n\\<plan>\n</context_summary>"

    assert summary_markdown(text) == "**Read files**\n\n- a.py\n\n\\<plan>"
    assert summary_markdown("Prose only.") == "Prose only."


def test_resumed_conversation_shows_summaries_that_were_not_undone(tmp_path: Path):
    messages = conversation()
    ids = [message.id for message in messages]
    notes = [
        CompactionNote(
            id="a", first=ids[1], last=ids[3], after=ids[3], summary="1", tokens_before=9_000, tokens_after=900
        ),
        CompactionNote(id="b", first=ids[1], last=ids[5], after=ids[5], summary="Undone."),
        CompactionUndoNote(id="b", after=ids[5]),
        CompactionNote(id="c", first=ids[1], last=ids[6], after=ids[7], summary="2"),
        CompactionNote(id="d", first=ids[7], last=ids[7], after=ids[8], summary="[1 message was removed with prun.]"),
    ]
    path = written(tmp_path, *messages)
    with path.open("ab") as file:
        file.writelines(map(to_bytes, notes))

    blocks = blocks_of(messages, (), load_session(path))

    assert [(at, block.text) for at, block in enumerate(blocks) if isinstance(block, SummaryBlock)] == [
        (4, "Summarized 3 messages: 9k → 900 tokens. /compact undo, /compact edit"),
        # Three messages and the first summary.
        (9, "Summarized 4 messages. /compact undo, /compact edit"),
        (11, "The model removed 1 message from its context. /compact undo"),
    ]
