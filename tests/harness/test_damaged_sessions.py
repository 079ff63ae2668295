"""Session files that lost lines, or that another program wrote to: only the lost lines are missing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, rounded, tell, tour, written

from harness.messages import AssistantMessage, JsonObject, JsonValue, ModelMessage, ToolResult, new_id, user
from harness.session.doctor import examine, repair
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session


def long_tour() -> list[ModelMessage]:
    """Return a history with reordered parallel calls, a reply of several blocks, and an interrupted one."""
    return [
        *tour(),
        user("and this?"),
        reply("I look", call("c"), call("d"), call("e")),
        result("e", "fifth"),
        result("c", "third"),
        result("d", "fourth"),
        reply("well", "so"),
        user("go on"),
        AssistantMessage((), "m-1", "demo", stop_reason="aborted", error="stopped by the user"),
        user("again"),
        reply("done"),
    ]


def pieces(messages: list[ModelMessage]) -> set[tuple[str, str]]:
    """Return each block of a reply and each other message, by a name that does not depend on its neighbours."""
    found: set[tuple[str, str]] = set()
    for message in messages:
        match message:
            case AssistantMessage(content=content):
                found |= {("reply", repr(block)) for block in content or (message.error,)}
            case ToolResult(call_id=call_id):
                found.add(("result", f"{call_id} {message.text}"))
            case _:
                found.add(("user", message.text))
    return found


def deleted(lines: list[bytes], index: int) -> bytes:
    return b"".join(lines[:index] + lines[index + 1 :])


def garbled(lines: list[bytes], index: int) -> bytes:
    return b"".join([*lines[:index], b"\x00\xff no json\n", *lines[index + 1 :]])


def beheaded(lines: list[bytes], index: int) -> bytes:
    return b"".join([*lines[:index], lines[index][9:], *lines[index + 1 :]])


def cut_short(lines: list[bytes], index: int) -> bytes:
    return b"".join([*lines[:index], lines[index][:-20] + b"\n", *lines[index + 1 :]])


def spoiled(lines: list[bytes], index: int) -> bytes:
    return b"".join([*lines[:index], lines[index][:-20] + b'"' + lines[index][-20:], *lines[index + 1 :]])


def conversation_lines(lines: list[bytes]) -> list[int]:
    return [index for index, line in enumerate(lines) if line.startswith(b'{"parentUuid"')]


def conversation_of(data: bytes) -> list[bytes]:
    lines = data.splitlines()
    return [lines[index] for index in conversation_lines(lines)]


@pytest.mark.parametrize("damage", [deleted, garbled, beheaded, cut_short, spoiled])
def test_a_damaged_line_loses_only_itself(damage: Callable[[list[bytes], int], bytes], tmp_path: Path):
    path = written(tmp_path, *long_tour())
    lines, whole = path.read_bytes().splitlines(keepends=True), pieces(list(load_session(path).messages))
    assert len(conversation_lines(lines)) == 21

    for index in conversation_lines(lines):
        path.write_bytes(damage(lines, index))
        session = load_session(path)
        read = pieces(list(session.messages))

        assert len(whole - read) == 1, f"line {index + 1}"
        # A lost line at the very end cannot be noticed.
        assert len(session.warnings) == 1 or (damage is deleted and not session.warnings)


def test_warning_names_the_location_of_a_lost_line(tmp_path: Path):
    path = written(tmp_path, user("one"), reply("two"), user("three"), reply("four"))
    lines = path.read_bytes().splitlines(keepends=True)

    path.write_bytes(deleted(lines, 2))
    missing = load_session(path).warnings
    path.write_bytes(garbled(lines, 2))
    unread = load_session(path).warnings

    assert missing == ("before line 3 of the session file at least one message is missing",)
    assert unread == ("line 3 of the session file cannot be read; its content is lost",)


def test_two_lines_joined_by_a_lost_newline_are_both_read(tmp_path: Path):
    path = written(tmp_path, *long_tour())
    data, whole = path.read_bytes(), pieces(list(load_session(path).messages))
    ends = [place for place in range(len(data) - 1) if data[place : place + 1] == b"\n"]

    for place in ends:
        path.write_bytes(data[:place] + data[place + 1 :])
        session = load_session(path)
        read = pieces(list(session.messages))
        if data[place + 1 :].startswith(b'{"parentUuid"'):
            assert (whole - read, session.warnings) == (set(), ()), data[place - 40 : place + 40]


def test_joined_lines_at_the_end_are_read_without_a_final_newline(tmp_path: Path):
    path = written(tmp_path, user("one"), reply("two"))
    path.write_bytes(b"".join(conversation_of(path.read_bytes())))

    session = load_session(path)

    assert [message.text for message in session.messages] == ["one", "two"]
    assert session.warnings == ()


def test_abandoned_branch_is_not_revived_by_a_lost_line(tmp_path: Path):
    path = written(tmp_path, user("one"), reply("lost"))
    before = load_session(path)
    for branch in ((user("given up"), reply("given up too")), (user("instead"), reply("end"))):
        store = SessionRecorder(tmp_path / "data", tmp_path, path.stem, resumed=before)
        tell(store, *branch)
        store.close()
    lines = path.read_bytes().splitlines(keepends=True)

    path.write_bytes(deleted(lines, 2))

    assert [message.text for message in load_session(path).messages] == ["one", "instead", "end"]


def test_foreign_bytes_do_not_corrupt_the_next_line(tmp_path: Path):
    messages = tour()
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id(), on_problem=pytest.fail)
    tell(store, *messages)
    with store.path.open("ab") as file:
        file.write(b'{"type":"tag","tag":"no newline"}')
    tell(store, user("still here?"))
    with store.path.open("ab") as file:
        file.write(b'{"type":"tag","tag":"with newline"}\n')
    tell(store, reply("yes"))
    store.close()

    session = load_session(store.path)
    assert list(session.messages)[:5] == rounded(messages)
    assert [message.text for message in session.messages[5:]] == ["still here?", "yes"]
    assert session.warnings == ()
    assert b"\n\n" not in store.path.read_bytes()


@pytest.mark.parametrize("kept", [0, 1, 300, -30])
def test_file_truncated_by_another_program_is_rewritten_from_memory(kept: int, tmp_path: Path):
    problems: list[str] = []
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id(), on_problem=problems.append)
    store.rename("the title")
    messages = long_tour()
    tell(store, *messages)
    size = store.path.stat().st_size

    os.truncate(store.path, kept if kept >= 0 else size + kept)
    tell(store, user("still here?"))
    tell(store, reply("yes"))
    store.close()

    session = load_session(store.path)
    assert session.title == "the title"
    assert {message.id for message in messages} < {message.id for message in session.messages}
    assert pieces(list(session.messages)) == pieces([*messages, user("still here?"), reply("yes")])
    assert len(problems) == 1
    assert "truncated the session file" in problems[0]
    assert "restored from memory" in problems[0]
    ids = re.findall(rb'"uuid":"([^"]+)"', store.path.read_bytes())
    # One id may occur twice: in the truncated line and in its replacement.
    assert len(ids) - len(set(ids)) <= 1


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def rewritten_longer(path: Path) -> None:
    path.write_bytes(b'{"type":"tag","tag":"' + b"x" * path.stat().st_size + b'"}\n')


@pytest.mark.parametrize("damage", [emptied, rewritten_longer])
def test_restored_file_continues_the_conversation_after_the_last_new_one(
    damage: Callable[[Path], None], tmp_path: Path
):
    problems: list[str] = []
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id(), on_problem=problems.append)
    tell(store, user("old"), reply("answer"))
    store.restart()
    tell(store, user("new"), reply("other"))

    damage(store.path)
    tell(store, user("more"))
    store.close()

    assert [message.text for message in load_session(store.path).messages] == ["new", "other", "more"]
    assert b'"old"' in store.path.read_bytes()
    assert len(problems) == 1


def test_restored_file_is_empty_for_readers_if_the_conversation_had_just_begun_anew(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    tell(store, user("old"), reply("answer"))
    store.restart()

    emptied(store.path)
    store.rename("A title")
    store.close()

    session = load_session(store.path)
    assert (len(session.messages), session.title) == (0, "A title")
    assert b'"old"' in store.path.read_bytes()


def test_restored_file_of_a_killed_session_ends_with_the_latest_message(tmp_path: Path):
    path = written(tmp_path, user("one"), reply(call("a")), user("two"), reply("three"))
    resumed = load_session(path)
    store = SessionRecorder(tmp_path / "data", tmp_path, "", resumed=resumed)
    store.acquire()
    tell(store, user("four"), reply("five"))
    assert len(list(resumed.messages)) == 4

    emptied(path)
    tell(store, user("six"))
    store.close()

    session = load_session(path)
    messages = session.messages.completed()
    assert [type(message).__name__ for message in messages[1:3]] == ["AssistantMessage", "ToolResult"]
    assert [message.text for message in session.messages if not isinstance(message, AssistantMessage | ToolResult)] == [
        "one",
        "two",
        "four",
        "six",
    ]
    assert examine(path).unanswered == ()


def test_title_that_another_program_appended_to_a_torn_line_is_found(tmp_path: Path):
    path = written(tmp_path, user("one"), reply("two"))
    (*lines, last) = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        b"".join(lines) + last[:-20] + b'{"type":"custom-title","customTitle":"The title","sessionId":"x"}\n'
    )

    assert load_session(path).title == "The title"
    found = examine(path)
    assert (found.joined, found.garbage) == ((len(lines) + 1,), (len(lines) + 1,))
    repair(found)

    assert path.read_bytes().endswith(b'\n{"type":"custom-title","customTitle":"The title","sessionId":"x"}\n')
    assert [message.text for message in load_session(path).messages] == ["one"]
    assert examine(path).joined == ()


def claude_session() -> list[bytes]:
    """Return a session of Claude Code, whose ids of lines are not derived from those of messages."""

    def line(number: int, parent: int, message: JsonObject, **more: str) -> bytes:
        start = {"parentUuid": f"id-{parent}" if parent else None, "isSidechain": False, "userType": "external"}
        own = {"type": message["role"], "uuid": f"id-{number}", "timestamp": "2026-01-01T00:00:00.000Z", **more}
        return json.dumps({**start, "message": message, **own}, separators=(",", ":")).encode() + b"\n"

    def block(message_id: str, **content: JsonValue) -> JsonObject:
        return {"id": message_id, "role": "assistant", "model": "claude-x", "content": [content]}

    def answer(call_id: str) -> JsonObject:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": call_id}]}

    return [
        line(1, 0, {"role": "user", "content": "go"}),
        line(2, 1, block("msg_1", type="text", text="I look")),
        line(3, 2, block("msg_1", type="tool_use", id="a", name="Read", input={})),
        line(4, 3, block("msg_1", type="tool_use", id="b", name="Read", input={})),
        line(5, 3, answer("a"), sourceToolAssistantUUID="id-3"),
        line(6, 4, answer("b"), sourceToolAssistantUUID="id-4"),
        line(7, 6, block("msg_2", type="text", text="done")),
    ]


@pytest.mark.parametrize("kept", range(8))
def test_truncated_session_of_another_program_gets_each_line_back_once(tmp_path: Path, kept: int):
    path = tmp_path / "data" / "projects" / "x" / "session.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(claude_session()))
    resumed = load_session(path)
    before = list(resumed.messages)
    store = SessionRecorder(tmp_path / "data", tmp_path, "", resumed=resumed)
    store.acquire()

    os.truncate(path, len(b"".join(claude_session()[:kept])))
    tell(store, user("next"))
    store.close()

    (*messages, last) = load_session(path).messages
    assert [(each.id, getattr(each, "content", ())) for each in messages] == [
        (each.id, getattr(each, "content", ())) for each in before
    ]
    assert getattr(last, "text", "") == "next"
