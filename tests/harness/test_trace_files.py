from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from fakes.runs import calls
from fakes.simple_tools import SimpleTool
from filelock import FileLock

from harness.codec import decode, encode
from harness.errors import SessionError, SessionLocked, SessionMissing
from harness.events import AgentEnd, AgentStart, Continuation, Notice
from harness.messages import CustomMessage, ModelSpec, Usage, user
from harness.tracing.recorder import TraceRecorder
from harness.tracing.records import ChildRunRef, ParallelGroup, RunTrace, SessionTrace, SpawnRef
from harness.tracing.store import TraceFiles

LOOP = RunTrace(
    run_id="s.c.1",
    session_id="s",
    agent_id="a",
    parent_run_id="s.c.0",
    continuation=Continuation("rerun", "now"),
    started_at=1.5,
    ended_at=2.5,
    status="completed",
    rejection="no",
    stop_reason="stop",
    error="none",
    config=ModelSpec("demo", "script", "low", {"low": 5}),
    messages=(user("hi"), CustomMessage("note", {"a": [1, None]})),
    usage=Usage(1, 2),
    events=(AgentStart(agent_id="a"), AgentEnd(stop_reason="stop", messages=(user("hi"),))),
    children_run_ids=("s.c.2",),
    child_run_refs=(ChildRunRef("1", "delegate", "t.sub.1", "t"),),
    parallel_group=ParallelGroup(("s.c.1", "s.d.1"), "s.c.1", 0, Usage(3), is_selected=True),
)
SESSION = SessionTrace(
    session_id="s",
    agent_id="a",
    created_at=1.0,
    last_active_at=2.0,
    formation="explicit",
    parent_spawn_ref=SpawnRef("p", "p.c.1", "1", "delegate"),
    runs=(LOOP, RunTrace(run_id="s.c.2", session_id="s")),
)


@pytest.fixture
def files(tmp_path: Path) -> TraceFiles:
    return TraceFiles(tmp_path / "recorded", patience=0.0)


def test_every_session_content_round_trips_through_json():
    assert decode(SessionTrace, json.loads(json.dumps(encode(SESSION)))) == SESSION


async def test_recorded_run_loads_as_it_was_saved(make_agent, files):
    recorder = TraceRecorder(include_streaming_events=True)
    agent = make_agent(calls("look", where="ü"), "done", tools=[SimpleTool("look")])
    agent.subscribe(recorder.on_event)
    await agent.prompt("go")
    (session,) = recorder.sessions()

    path = files.save(session)

    assert path.name == f"{session.session_id}.json"
    assert files.load(session.session_id) == session
    text = path.read_text(encoding="utf-8")
    assert "ü" in text
    assert text.startswith('{\n  "type": "session_trace",\n  "session_id": ')


def test_trace_written_with_former_field_names_is_read(files):
    former = {
        "type": "session_record",
        "session_id": "s",
        "loops": [
            {
                "type": "loop_record",
                "loop_id": "s.a.1",
                "session_id": "s",
                "children_loop_ids": ["s.a.2"],
                "child_loop_refs": [
                    {
                        "type": "child_loop_ref",
                        "call_id": "1",
                        "tool_name": "d",
                        "child_loop_id": "t.1",
                        "child_session_id": "t",
                    }
                ],
            }
        ],
    }
    files.save(SessionTrace(session_id="s"))
    (files._folder / "s.json").write_text(json.dumps(former))

    [run] = files.load("s").runs

    assert (run.run_id, run.children_run_ids) == ("s.a.1", ("s.a.2",))
    assert run.child_run_refs == (ChildRunRef("1", "d", "t.1", "t"),)


def test_saving_again_replaces_the_file_and_leaves_no_temporary_file(files, tmp_path):
    files.save(SESSION)
    files.save(SessionTrace(session_id="s", agent_id="b"))

    assert files.load("s").agent_id == "b"
    assert [path.name for path in (tmp_path / "recorded").iterdir()] == ["s.json"]


def test_saved_file_is_private_to_its_owner(files):
    path = files.save(SESSION)

    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_failed_save_keeps_the_previous_file(files, tmp_path, monkeypatch):
    files.save(SESSION)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.save(SessionTrace(session_id="s"))

    assert files.load("s") == SESSION
    assert [path.name for path in (tmp_path / "recorded").iterdir()] == ["s.json"]


def test_session_being_saved_by_another_is_locked(files, tmp_path):
    files.save(SESSION)

    with FileLock(tmp_path / "recorded" / "s.json.lock"), pytest.raises(SessionLocked, match="session s"):
        files.save(SESSION)

    files.save(SESSION)


def test_concurrent_saves_never_tear_a_file(tmp_path):
    files = TraceFiles(tmp_path)
    sessions = [SessionTrace(session_id="s", agent_id=str(number) * 1000) for number in range(8)]

    threads = [threading.Thread(target=files.save, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert files.load("s") in sessions
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


def test_newest_session_is_listed_first(files, tmp_path):
    for age, name in enumerate(["new", "middle", "old"]):
        path = files.save(SessionTrace(session_id=name, agent_id="b" if name == "middle" else "a"))
        os.utime(path, (1000 - age, 1000 - age))
    (tmp_path / "recorded" / "notes.txt").touch()
    (tmp_path / "recorded" / ".hidden.json").touch()

    assert files.ids() == ["new", "middle", "old"]
    assert [session.session_id for session in files.of_agent("a")] == ["new", "old"]


def test_broken_file_hides_no_other_session(files, tmp_path, caplog):
    files.save(SESSION)
    (tmp_path / "recorded" / "broken.json").write_text("{", encoding="utf-8")

    assert [session.session_id for session in files.of_agent("a")] == ["s"]
    assert "broken.json" in caplog.text


def test_missing_folder_lists_nothing(files):
    assert files.ids() == []
    assert files.of_agent("a") == []


def test_deleted_session_is_not_listed_or_loaded(files):
    files.save(SESSION)

    files.delete("s")

    assert files.ids() == []
    with pytest.raises(SessionMissing, match="session s not found"):
        files.load("s")
    with pytest.raises(SessionMissing, match="session s not found"):
        files.delete("s")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b'{"type": "loop_record"}', b"[" * 100_000])
def test_file_without_a_session_is_named_in_the_error(files, tmp_path, content):
    files.save(SESSION)
    (tmp_path / "recorded" / "s.json").write_bytes(content)

    with pytest.raises(SessionError, match=r"s\.json is not a recorded session"):
        files.load("s")


@pytest.mark.parametrize(
    "session_id", ["", ".", "..", "../s", "a/b", "/etc/passwd", "a\\b", "a\0b", "a\n", ".s", "s" * 300]
)
def test_id_with_path_components_is_rejected(files, tmp_path, session_id):
    for attempt in (
        lambda: files.save(SessionTrace(session_id=session_id)),
        lambda: files.load(session_id),
        lambda: files.delete(session_id),
    ):
        with pytest.raises(SessionError, match="cannot be used as a file name"):
            attempt()

    assert not (tmp_path / "recorded").exists()


def test_lone_surrogates_and_infinity_are_saved(files):
    broken = Notice(text="half \ud83d a pair")
    endless = CustomMessage("note", {"infinite": float("inf")})
    loop = RunTrace(run_id="s.c.1", session_id="s", events=(broken,), messages=(endless,))

    files.save(SessionTrace(session_id="s", runs=(loop,)))

    (read,) = files.load("s").runs
    assert read.events[0].text == "half \ufffd a pair"
    assert read.messages[0].data == {"infinite": None}
