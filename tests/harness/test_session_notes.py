from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, rounded, tell, tour, written

from harness.context.normalize import DID_NOT_RUN, MAY_HAVE_RUN, NO_RESULT
from harness.events import (
    AgentEnd,
    Event,
    MessageEnd,
    RequestStart,
    SubagentEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from harness.messages import CustomMessage, ModelSpec, ToolResult, Usage, new_id, user
from harness.session.doctor import examine
from harness.session.fork import fork_session
from harness.session.index import list_sessions
from harness.session.line_index import conversation, scan
from harness.session.notes import (
    CheckpointNote,
    CompactionNote,
    EvictionNote,
    HeaderNote,
    Note,
    RewindNote,
    UsageNote,
    hash_of,
)
from harness.session.paths import subagent_path
from harness.session.recorder import SessionRecorder
from harness.session.records import to_bytes
from harness.session.resume import LoadedSession, load_session


@pytest.fixture
def store(tmp_path: Path):
    made = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    yield made
    made.close()


def append(path: Path, *notes: Note) -> LoadedSession:
    with path.open("ab") as file:
        file.writelines(map(to_bytes, notes))
    return load_session(path)


def texts(session: LoadedSession) -> list[str]:
    return [message.text for message in session.messages if not isinstance(message, CustomMessage)]


def open_results(session: LoadedSession) -> dict[str, str]:
    return {
        message.call_id: message.text for message in session.messages.completed() if isinstance(message, ToolResult)
    }


def test_call_that_began_may_have_been_executed_and_one_that_did_not_was_not(store: SessionRecorder):
    began, waiting, done = call("a"), call("b"), call("c")
    tell(store, user("go"), reply(began, waiting, done))
    for each in (began, done):
        store.store(ToolExecutionStart(call=each, label="", summary=""))
    tell(store, result("c", "finished"))

    session = load_session(store.path)

    assert open_results(session) == {"a": MAY_HAVE_RUN, "b": DID_NOT_RUN, "c": "finished"}


def test_call_that_did_not_begin_was_not_executed_even_if_none_began(store: SessionRecorder):
    tell(store, user("go"), reply(call("a")))

    assert open_results(load_session(store.path)) == {"a": DID_NOT_RUN}


def test_open_call_of_a_session_without_call_lines_has_an_unknown_result(store: SessionRecorder):
    tell(store, user("go"), reply(call("a")))
    store.path.write_bytes(store.path.read_bytes().replace(b'"recordsCalls":true', b'"later":true'))

    assert open_results(load_session(store.path)) == {"a": NO_RESULT}


def test_result_of_a_lost_call_is_in_the_file_after_the_next_message(store: SessionRecorder, tmp_path: Path):
    tell(store, user("go"), reply(call("a")))
    store.store(ToolExecutionStart(call=call("a"), label="", summary=""))
    store.close()
    resumed = load_session(store.path)

    again = SessionRecorder(tmp_path / "data", tmp_path, store.path.stem, resumed=resumed)
    tell(again, user("next"))
    again.close()

    session = load_session(store.path)
    assert texts(session) == ["go", "", MAY_HAVE_RUN, "next"]
    assert examine(store.path).healthy


def test_custom_messages_come_back_at_their_places(store: SessionRecorder):
    first, second, last = (CustomMessage("note", {"n": n}) for n in range(3))
    store.store(MessageEnd(message=first))
    tell(store, user("one"), reply("two"))
    store.store(MessageEnd(message=second))
    tell(store, user("three"))
    store.store(MessageEnd(message=last))

    session = load_session(store.path)

    kinds = [each.data["n"] if isinstance(each, CustomMessage) else each.text for each in session.messages]
    assert kinds == [0, "one", "two", 1, "three", 2]
    assert rounded([session.messages[3]]) == rounded([second])


def test_custom_message_of_another_branch_is_left_out(store: SessionRecorder):
    tell(store, user("one"))
    fork = load_session(store.path).last_uuid
    tell(store, user("two"))
    store.store(MessageEnd(message=CustomMessage("note", {})))

    session = append(store.path, RewindNote(leaf=fork or ""))

    assert texts(session) == ["one"]
    assert len(session.messages) == 1


def test_system_prompt_is_recorded_with_its_hash_and_when_it_changes(store: SessionRecorder):
    store.prefix.system = lambda: "be brief"
    tell(store, user("hello"))
    first = next(iter(scan(store.path).notes))
    assert isinstance(first, HeaderNote)
    assert (first.system, first.system_hash) == ("be brief", hash_of("be brief"))
    assert load_session(store.path).system == "be brief"

    store.store(RequestStart(spec=ModelSpec("demo", "m"), message_count=1, tokens=1))
    store.prefix.system = lambda: "be thorough"
    store.store(RequestStart(spec=ModelSpec("demo", "m"), message_count=1, tokens=1))

    headers = [note for note in scan(store.path).notes if isinstance(note, HeaderNote)]
    assert [each.system for each in headers] == ["be brief", "be thorough"]
    assert load_session(store.path).system == "be thorough"


def test_resumed_session_does_not_record_the_same_system_prompt_again(store: SessionRecorder, tmp_path: Path):
    store.prefix.system = lambda: "be brief"
    tell(store, user("hello"))
    store.close()

    again = SessionRecorder(tmp_path / "data", tmp_path, store.path.stem, resumed=load_session(store.path))
    again.prefix.system = lambda: "be brief"
    tell(again, user("more"))
    again.store(RequestStart(spec=ModelSpec("demo", "m"), message_count=1, tokens=1))
    again.close()

    assert sum(isinstance(note, HeaderNote) for note in scan(store.path).notes) == 1


def test_rewind_counts_with_nothing_said_after_it(tmp_path: Path):
    path = written(tmp_path, user("one"), reply("two"), user("three"), reply("four"))
    second = load_session(path).messages[1].id

    session = append(path, RewindNote(leaf=second))
    assert texts(session) == ["one", "two"]
    assert session.last_uuid == second

    store = SessionRecorder(tmp_path / "data", tmp_path, path.stem, resumed=session)
    tell(store, user("another way"))
    store.close()
    assert texts(load_session(path)) == ["one", "two", "another way"]


def test_rewind_to_a_lost_place_is_ignored(tmp_path: Path):
    path = written(tmp_path, user("one"), reply("two"))

    assert texts(append(path, RewindNote(leaf="nowhere"))) == ["one", "two"]


def test_reset_conversation_is_empty_after_a_resume(store: SessionRecorder):
    tell(store, user("one"), reply("two"))
    store.restart()
    store.close()

    session = load_session(store.path)
    assert (texts(session), session.last_uuid) == ([], None)


def test_compactions_evictions_and_checkpoints_belong_to_their_branch(tmp_path: Path):
    path = written(tmp_path, user("one"), reply("two"), user("three"), reply("four"))
    ids = [message.id for message in load_session(path).messages]
    compaction = CompactionNote(id="c1", after=ids[3], last=ids[1], kept=(ids[0],), summary="so far", tokens_before=900)
    notes = (compaction, EvictionNote(ids=(ids[2],), after=ids[3]), CheckpointNote(id="p1", leaf=ids[1], label="start"))

    session = append(path, *notes)
    assert session.compactions == (compaction,)
    assert [each.ids for each in session.evictions] == [(ids[2],)]
    assert [each.label for each in session.checkpoints] == ["start"]
    assert texts(session) == ["one", "two", "three", "four"]

    rewound = append(path, RewindNote(leaf=ids[1], checkpoint="p1"))
    assert (rewound.compactions, rewound.evictions) == ((), ())
    assert len(rewound.checkpoints) == 1


def subagent_events(run_id: str, *events: Event) -> list[SubagentEvent]:
    from msgspec.structs import replace

    return [SubagentEvent(call_id="a", event=replace(event, run_id=run_id)) for event in events]


def test_subagent_has_a_file_of_its_own_and_its_usage_counts(store: SessionRecorder, tmp_path: Path):
    tell(store, user("go"), reply(call("a", "delegate")))
    from msgspec.structs import replace

    inner = replace(reply("looking", call("x")), usage=Usage(70, 7))
    for event in subagent_events(
        "run-7",
        MessageEnd(message=user("look at it")),
        MessageEnd(message=inner),
        ToolExecutionEnd(result=result("x", "seen")),
        AgentEnd(stop_reason="stop"),
    ):
        store.store(event)
    tell(store, result("a", "done", "delegate"))

    path = subagent_path(store.path, "run-7")
    lines = [line for line in map(json.loads, path.read_bytes().splitlines()) if "uuid" in line]
    assert {(line["isSidechain"], line["agentId"], line["sessionId"]) for line in lines} == {
        (True, "run-7", store.path.stem)
    }
    assert len(conversation(scan(path, is_sidechain=True))) == 3
    session = load_session(store.path)
    assert texts(session) == ["go", "", "done"]
    assert session.other_usage == (("demo/m-1", Usage(70, 7)),)
    (note,) = (note for note in session.notes if isinstance(note, UsageNote))
    assert note.source == "subagent"
    assert [each.path for each in list_sessions(tmp_path / "data", None)] == [store.path]


def test_fork_takes_the_notes_of_its_branch_along(store: SessionRecorder):
    store.prefix.system = lambda: "be brief"
    tell(store, *tour())
    ids = [message.id for message in load_session(store.path).messages]
    store.close()
    append(
        store.path,
        CompactionNote(id="c", after=ids[4], first=ids[0], last=ids[1], summary="short"),
        EvictionNote(ids=(ids[2],), after=ids[4]),
    )

    copy = load_session(fork_session(store.path, new_id()))

    own = [message.id for message in copy.messages]
    assert copy.system == "be brief"
    assert [(each.first, each.last, each.after) for each in copy.compactions] == [(own[0], own[1], own[4])]
    assert [each.ids for each in copy.evictions] == [(own[2],)]


def test_unknown_notes_and_fields_are_skipped(tmp_path: Path):
    path = written(tmp_path, user("one"))
    with path.open("ab") as file:
        file.write(b'{"type":"cinch-mode","sessionId":"s","mode":"plan","later":1}\n')
        file.write(b'{"type":"cinch-future","sessionId":"s"}\n{"type":"cinch-mode","mode":7}\n')

    session = load_session(path)

    assert (session.mode, texts(session), session.warnings) == ("plan", ["one"], ())


@pytest.mark.parametrize("torn", [b"", b'{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"t","ti'])
def test_note_glued_to_another_line_is_read(tmp_path: Path, torn: bytes):
    path = written(tmp_path, user("one"), reply("two"))
    body = path.read_bytes().rstrip(b"\n") if not torn else path.read_bytes() + torn

    path.write_bytes(body + b'{"type":"cinch-mode","sessionId":"s","mode":"plan"}\n')

    session = load_session(path)
    assert (texts(session), session.mode) == (["one", "two"], "plan")
