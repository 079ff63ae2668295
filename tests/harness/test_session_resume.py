from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, rounded, tell, tour, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.context.normalize import normalize
from harness.errors import SessionError, SessionMissing, SessionTooNew
from harness.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage, new_id, user
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session

KEYS = (
    "type",
    "uuid",
    "parentUuid",
    "message",
    "content",
    "id",
    "usage",
    "text",
    "input",
    "cinch",
    "view",
    "toolUseResult",
    "timestamp",
    "tool_use_id",
    "source",
    "format",
    "spec",
    "stop_reason",
)


def foreign(tmp_path: Path, *lines: Mapping[str, object] | str) -> Path:
    """Write a file in Claude Code's own key order; strings are written verbatim."""
    path = tmp_path / f"{uuid.uuid4()}.jsonl"
    raw = [line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines]
    path.write_text("\n".join(raw) + "\n", encoding="utf-8")
    return path


def line(kind: str, own: str, parent: str | None, content: object, **more: object) -> dict[str, object]:
    message: dict[str, object] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": more.pop("id", f"msg_{own}"), "model": "claude-x", "usage": {"input_tokens": 3}}
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "type": kind,
        "message": message,
        "uuid": own,
        "timestamp": "2026-01-02T03:04:05.678Z",
        "cwd": "/srv/project",
        "sessionId": "s",
        **more,
    }


def texts(path: Path) -> list[str]:
    return [message.text for message in load_session(path).messages]  # type: ignore[union-attr]  # none is custom


def test_resumed_session_has_results_in_call_order(tmp_path: Path):
    opening, looking, first, second, end = tour()

    session = load_session(written(tmp_path, opening, looking, second, first, end))

    assert list(session.messages) == rounded([opening, looking, first, second, end])


def test_messages_stored_before_a_crash_are_restored(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    tell(store, *tour()[:3])

    session = load_session(store.path)

    assert [type(message) for message in session.messages] == [UserMessage, AssistantMessage, ToolResult]
    assert [message.call_id for message in normalize(session.messages)[2:]] == ["a", "b"]
    store.close()


def test_messages_can_be_sliced_from_the_end(tmp_path: Path):
    messages = load_session(written(tmp_path, *tour())).messages

    assert len(messages) == 5
    assert messages[-2:] == (messages[3], messages[4])
    assert messages[0] is messages[0]


def test_file_truncated_at_any_byte_opens_as_a_prefix_of_the_conversation(tmp_path: Path):
    whole = written(tmp_path, *tour())
    data, full = whole.read_bytes(), list(load_session(whole).messages)
    cut = tmp_path / f"{new_id()}.jsonl"

    for size in range(len(data)):
        cut.write_bytes(data[:size])
        session = load_session(cut)
        read = list(session.messages)
        assert session.warnings == ()
        assert len(read) <= len(full)
        assert all(part_of(one, other) for one, other in zip(read, full, strict=False))
        assert_sound(read)


def part_of(read: object, full: object) -> bool:
    if isinstance(read, AssistantMessage) and isinstance(full, AssistantMessage):
        return read.id == full.id and read.content == full.content[: len(read.content)]
    return read == full


def assert_sound(read: list[object]) -> None:
    healed = normalize(read)  # type: ignore[arg-type]  # what a file holds are messages
    assert normalize(healed) == healed


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_file_with_any_damage_opens(tmp_path: Path, data: st.DataObject):
    whole = tmp_path / "11111111-1111-1111-1111-111111111111.jsonl"
    if not whole.exists():
        store = SessionRecorder(tmp_path / "data", tmp_path, whole.stem)
        tell(store, *tour(), user("again"), reply(call("c")), result("c"))
        store.close()
        whole.write_bytes(store.path.read_bytes())
    broken = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(broken)))
        broken[start : start + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=12))
    damaged = tmp_path / "22222222-2222-2222-2222-222222222222.jsonl"
    damaged.write_bytes(broken)

    try:
        session = load_session(damaged)
    except SessionTooNew:
        return

    assert_sound(list(session.messages))


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.sampled_from(["user", "assistant", "a", "b", "tool_use"]),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(
                    st.sampled_from(KEYS),
                    inner,
                )
            ),
            max_leaves=12,
        ),
        max_size=8,
    )
)
def test_lines_of_any_shape_are_tolerated(tmp_path: Path, values: list[object]):
    path = tmp_path / "33333333-3333-3333-3333-333333333333.jsonl"
    path.write_text("\n".join(map(json.dumps, values)) + "\n", encoding="utf-8")

    try:
        assert_sound(list(load_session(path).messages))
    except SessionTooNew:
        return


def test_garbage_line_is_skipped_with_a_warning(tmp_path: Path):
    path = foreign(tmp_path, line("user", "u", None, "hi"), "no json", "[1]", line("assistant", "a", "u", "ho"))

    session = load_session(path)

    assert [message.text for message in session.messages] == ["hi", "ho"]
    assert [warning.split(" of ")[0] for warning in session.warnings] == ["line 2", "line 3"]


def test_later_format_is_rejected_with_a_clear_error(tmp_path: Path):
    path = foreign(tmp_path, {"type": "cinch-session", "format": 2}, line("user", "u", None, "hi"))

    with pytest.raises(SessionTooNew, match="format 2, this cinch reads up to 1; update"):
        load_session(path)


def test_missing_file_and_folder_have_different_errors(tmp_path: Path):
    with pytest.raises(SessionMissing):
        load_session(tmp_path / "none.jsonl")
    with pytest.raises(SessionError, match="cannot be read"):
        load_session(tmp_path)


def test_claude_code_transcript_is_read(tmp_path: Path):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    path = foreign(
        tmp_path,
        {"type": "summary", "summary": "Fixing the tests", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        line("user", "u1", None, [{"type": "text", "text": "look"}, image]),
        line("assistant", "s1", None, "aside", isSidechain=True),
        line("assistant", "a1", "u1", [{"type": "thinking", "thinking": "hm", "signature": "sig"}], id="m1"),
        line("assistant", "a2", "a1", [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"p": 1}}], id="m1"),
        line("assistant", "a3", "a2", [{"type": "tool_use", "id": "t2", "name": "Grep", "input": {}}], id="m1"),
        line("user", "r2", "a3", [{"type": "tool_result", "tool_use_id": "t2", "content": "two", "is_error": True}]),
        line("user", "r1", "a2", [{"type": "tool_result", "tool_use_id": "t1", "content": [image]}]),
        {"type": "system", "uuid": "y1", "parentUuid": "r1", "subtype": "informational", "isSidechain": False},
        line("assistant", "a4", "y1", [{"type": "text", "text": "done"}]),
        {"type": "system", "uuid": "y2", "parentUuid": "a4", "subtype": "turn_duration", "isSidechain": False},
    )

    session = load_session(path)

    opening, looking, first, second, end = session.messages
    assert opening.content == (Text("look"), Image("image/png", "AAAA"))
    assert looking.content == (Thinking("hm", "sig"), ToolCall("t1", "Read", {"p": 1}), ToolCall("t2", "Grep", {}))
    assert (looking.model, looking.provider, looking.stop_reason) == ("claude-x", "anthropic", "tool_use")
    assert (first.call_id, first.tool_name, first.content) == ("t1", "Read", (Image("image/png", "AAAA"),))
    assert (second.call_id, second.tool_name, second.is_error) == ("t2", "Grep", True)
    assert end.text == "done"
    assert (session.title, session.cwd, session.last_uuid) == ("Fixing the tests", Path("/srv/project"), "a4")
    assert normalize(session.messages) == tuple(session.messages)


def test_only_messages_after_a_compaction_are_loaded(tmp_path: Path):
    path = foreign(
        tmp_path,
        line("user", "u1", None, "old"),
        line("assistant", "a1", "u1", "old too"),
        {"type": "system", "uuid": "c", "parentUuid": None, "logicalParentUuid": "a1", "subtype": "compact_boundary"},
        line("user", "u2", "c", "what was said before", isCompactSummary=True),
        line("assistant", "a2", "u2", "new"),
    )

    session = load_session(path)

    assert [message.text for message in session.messages] == ["what was said before", "new"]
    assert session.messages[0].synthetic


def test_last_branch_of_the_tree_is_the_conversation(tmp_path: Path):
    path = foreign(
        tmp_path,
        line("user", "u1", None, "one"),
        line("assistant", "a1", "u1", "two"),
        line("user", "u2", "a1", "given up"),
        line("assistant", "a2", "u2", "given up too"),
        line("user", "u3", "a1", "instead"),
    )

    assert texts(path) == ["one", "two", "instead"]


def test_linear_chain_of_results_is_read(tmp_path: Path):
    calls = [{"type": "tool_use", "id": each, "name": "Read", "input": {}} for each in "xy"]
    path = foreign(
        tmp_path,
        line("user", "u1", None, "go"),
        line("assistant", "a1", "u1", calls),
        line("user", "r1", "a1", [{"type": "tool_result", "tool_use_id": "x", "content": "1"}]),
        line("user", "r2", "r1", [{"type": "tool_result", "tool_use_id": "y", "content": "2"}]),
        line("assistant", "a2", "r2", "done"),
    )

    assert texts(path) == ["go", "", "1", "2", "done"]


def test_tombstone_removes_a_message_and_keeps_its_descendants(tmp_path: Path):
    path = foreign(
        tmp_path,
        line("user", "u1", None, "one"),
        line("assistant", "a1", "u1", "two"),
        line("user", "u2", "a1", "three"),
        {"type": "tombstone", "deletedUuid": "a1"},
    )

    assert texts(path) == ["one", "three"]


def test_cyclic_parents_terminate(tmp_path: Path):
    path = foreign(
        tmp_path, line("user", "u1", "u2", "a"), line("user", "u2", "u1", "b"), line("user", "u3", "u2", "c")
    )

    assert texts(path) == ["a", "b", "c"]


def test_line_damaged_after_its_envelope_keeps_its_position(tmp_path: Path):
    path = written(tmp_path, *tour())
    path.write_bytes(path.read_bytes().replace(b'"content":"second"', b'"content":"sec"ond"'))

    session = load_session(path)

    assert len(session.messages) == 5
    assert [message.text for message in normalize(session.messages)][-2:] == [
        "The call was interrupted and has no result.",
        "both are fine",
    ]


def test_claude_code_api_error_is_a_failed_reply(tmp_path: Path):
    said = line("assistant", "a1", "u1", [{"type": "text", "text": "API Error: 529"}], isApiErrorMessage=True)

    reply_read = load_session(foreign(tmp_path, line("user", "u1", None, "go"), said)).messages[1]

    assert (reply_read.content, reply_read.stop_reason, reply_read.error) == ((), "error", "API Error: 529")


def test_runs_of_a_session_are_restored(tmp_path: Path):
    note = {"type": "cinch-run", "sessionId": "S", "timestamp": "2026-01-02T03:04:05.678Z"}
    path = foreign(
        tmp_path,
        {**note, "phase": "start", "loopId": "S.c.1"},
        line("user", "u1", None, "hi"),
        {**note, "phase": "end", "loopId": "S.c.1"},
        {**note, "phase": "start", "loopId": "S.c.2"},
    )

    assert load_session(path).run_ids == ("S.c.1", "S.c.2")
