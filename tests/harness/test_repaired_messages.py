from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, rounded, tell, written
from msgspec.structs import replace

from harness.context.history import History
from harness.context.normalize import normalize
from harness.errors import SessionMissing
from harness.events import MessageEnd
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    ModelMessage,
    Text,
    Thinking,
    ToolResult,
    UserMessage,
    new_id,
    user,
)
from harness.session.outline import LIMIT, LOST
from harness.session.recorder import SessionRecorder
from harness.session.references import SessionReference, load_reference, message_at
from harness.session.repaired import repaired_messages
from harness.session.resume import LoadedSession, load_session
from harness.views import DiffView, TodoItem, TodoView

LONG = "A line of a long text, which is not needed at once.\n" * 200
STEPS = TodoView((TodoItem("read", "completed"),))


def long_conversation(number: int = 0) -> list[ModelMessage]:
    """Return a conversation with a long message of every kind, short ones in between."""
    a, b, c = (f"{name}{number}" for name in "abc")
    view = DiffView("x.py", LONG, LONG + "more")
    return [
        UserMessage((Text(LONG), Image("image/png", "iVBORw0KGgo" * 500))),
        AssistantMessage((Thinking(LONG, "signed"), Text(LONG), call(a), call(b, text=LONG)), "m-1", "demo"),
        ToolResult(a, "read_file", (Text(LONG),), details={"notes": [LONG, 1]}),
        ToolResult(b, "edit_file", (Text("done"),), view=view),
        reply("short", call(c, "todo")),
        ToolResult(c, "todo", (Text("Noted."),), view=STEPS),
        reply(" " * 3_000 + LONG),
        user("and?"),
        reply("the end"),
    ]


def loaded(tmp_path: Path, *messages: ModelMessage) -> LoadedSession:
    return load_session(written(tmp_path, *messages))


def text_in(messages: object) -> int:
    return len(str(messages))


@pytest.mark.parametrize("kept", [0, 50_000, 1 << 30])
def test_messages_are_the_same_whether_they_are_kept_in_memory_or_on_disk(tmp_path: Path, kept: int):
    conversation = long_conversation()
    session = loaded(tmp_path, *conversation)

    messages = repaired_messages(session, kept)

    assert list(messages) == rounded(conversation)
    assert messages[-1] == messages[len(messages) - 1] == rounded(conversation)[-1]
    assert messages[1:3] == tuple(rounded(conversation)[1:3])
    assert bool(messages.on_disk) is (kept < 1 << 30)


def test_long_messages_before_the_end_are_not_kept_in_memory(tmp_path: Path):
    session = loaded(tmp_path, *(each for number in range(5) for each in long_conversation(number)))

    messages = repaired_messages(session, 0)

    list(messages)
    assert len(messages.on_disk) == 5 * 5
    assert text_in(messages.outline) < len(messages) * 10 * LIMIT
    assert text_in(session.messages._read) < text_in(list(messages)) / 5
    assert [each.id for each in messages.outline] == [each.id for each in messages]


def test_open_call_gets_a_result_and_custom_messages_keep_their_places(tmp_path: Path):
    store = SessionRecorder(tmp_path, tmp_path, new_id())
    tell(store, user(LONG))
    store.store(MessageEnd(message=CustomMessage("app/mark", {"n": 1})))
    tell(store, user(" "), AssistantMessage((Text(LONG), call("a"), call("b")), "m-1", "demo"), result("b", LONG))
    store.close()
    complete = repaired_messages(load_session(store.path), 1 << 30)

    messages = repaired_messages(load_session(store.path), 0)

    assert messages.on_disk == {0, 2, 4}
    assert list(messages) == list(complete)
    kinds = [type(each).__name__ for each in messages]
    assert kinds == ["UserMessage", "CustomMessage", "AssistantMessage", "ToolResult", "ToolResult"]
    sent = [each for each in messages if not isinstance(each, CustomMessage)]
    assert list(normalize(sent)) == sent


def test_calls_with_the_same_id_are_repaired_with_their_complete_texts(tmp_path: Path):
    turn = [reply(LONG, call("same")), result("same", LONG)]
    again = [reply(LONG, call("same")), result("same", LONG)]
    session = loaded(tmp_path, user("go"), *turn, *again)

    messages = repaired_messages(session, 0)

    assert not messages.on_disk
    replies = [each for each in messages if isinstance(each, AssistantMessage)]
    assert [each.tool_calls[0].id for each in replies] == ["same", "same_2"]
    assert [each.text for each in messages if isinstance(each, ToolResult)] == [LONG, LONG]


def test_deleted_file_is_still_read(tmp_path: Path):
    conversation = long_conversation()
    session = loaded(tmp_path, *conversation)
    messages = repaired_messages(session, 0)

    session.path.unlink()

    assert list(messages) == rounded(conversation)


def test_result_without_content_is_read_from_disk(tmp_path: Path):
    result = ToolResult("a", "edit_file", (), view=DiffView("x.py", LONG, LONG + "more"))
    conversation = [user("go"), reply(call("a")), result, reply("the end")]

    messages = repaired_messages(loaded(tmp_path, *conversation), 0)

    assert messages.on_disk == {2}
    assert list(messages) == rounded(conversation)


def test_message_that_another_program_removed_keeps_its_beginning(tmp_path: Path):
    session = loaded(tmp_path, *long_conversation())
    messages = repaired_messages(session, 0)
    calls = [each.tool_calls for each in messages.outline if isinstance(each, AssistantMessage)]

    os.truncate(session.path, 0)

    first, second = messages[0], messages[1]
    assert isinstance(first, UserMessage)
    assert isinstance(second, AssistantMessage)
    assert first.text == f"{LOST}\n{LONG[:LIMIT]}"
    assert [each.signature for each in second.content if isinstance(each, Thinking)] == [None]
    assert [each.id for each in second.tool_calls] == [each.id for each in calls[0]]
    assert list(normalize(messages.load())) == messages.load()


def test_emptied_file_gets_back_the_beginnings_of_the_messages_that_were_on_disk(tmp_path: Path):
    conversation = long_conversation()
    session = loaded(tmp_path, *conversation)
    repaired_messages(session, 0)
    problems: list[str] = []
    store = SessionRecorder(
        tmp_path / "data", tmp_path, session.session_id, resumed=session, on_problem=problems.append
    )
    tell(store, user("before"))

    os.truncate(session.path, 0)
    tell(store, user("after"))
    store.close()

    restored = load_session(session.path).messages
    assert [each.id for each in restored][: len(conversation)] == [each.id for each in conversation]
    assert [each.text for each in restored[-3:] if not isinstance(each, CustomMessage)] == [
        "the end",
        "before",
        "after",
    ]
    assert getattr(restored[2], "text", "") == f"{LOST}\n{LONG[:LIMIT]}"
    assert "long messages of which only the beginning is left: 5" in problems[0]


async def test_history_reads_what_is_on_disk_before_a_request(tmp_path: Path):
    messages = long_conversation()
    conversation = rounded(messages)
    history = History(repaired_messages(loaded(tmp_path, *messages), 0))
    history.append(user("more"))

    assert history.stored is not None
    assert history.context == 0
    assert history.at_rest is False
    assert history.last_reply() == conversation[-1]
    assert text_in(history.outline) < text_in(conversation) / 4
    assert list(history)[:-1] == conversation
    assert history.prompts()[0] == conversation[0]
    assert history.since(len(conversation) - 1)[0] == conversation[-1]

    await history.load()

    assert history.stored is None
    assert list(history.messages[:-1]) == list(history.outline[:-1]) == conversation


def test_short_session_is_in_memory_completely(tmp_path: Path):
    history = History(repaired_messages(loaded(tmp_path, *long_conversation())))

    assert history.stored is None


def test_message_is_found_by_number_and_by_the_start_of_a_uuid(tmp_path: Path):
    conversation = long_conversation()
    session = loaded(tmp_path, *conversation)
    second_line = session.messages._groups[1][1].id

    for number, index in enumerate((0, 1, 4, 6, 7, 8), 1):
        assert message_at(session, str(number)) == conversation[index].id
    for message in conversation:
        assert message_at(session, message.id[:8].upper()) == message.id
    assert message_at(session, second_line) == conversation[1].id


def test_copy_of_a_session_opens_at_the_same_message(tmp_path: Path):
    conversation = long_conversation()
    session = loaded(tmp_path, *conversation)

    fork = load_reference(SessionReference(session.path, conversation[4].id), fork=True)

    assert [each.id for each in fork.messages].index(fork.target) == 4


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("0", "has no message 0; its messages have the numbers 1 to 6"),
        ("7", "has no message 7; its messages have the numbers 1 to 6"),
        ("abc", "has no message abc"),
        ("ffffff-none", "has no message ffffff-none"),
        ("abcdef", "several messages of session .* start with abcdef"),
    ],
)
def test_unknown_or_ambiguous_message_is_an_error(tmp_path: Path, message: str, error: str):
    first, *middle, last = long_conversation()
    session = loaded(tmp_path, replace(first, id="abcdef01"), *middle, replace(last, id="abcdef02"))

    with pytest.raises(SessionMissing, match=error):
        load_reference(SessionReference(session.path, message))
