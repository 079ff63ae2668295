"""Sessions in the reader of Claude Code's own SDK."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, tell, tour

from harness.events import MessageEnd, SubagentEvent, ToolExecutionEnd, ToolExecutionStart, TurnEnd
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    UserMessage,
    new_id,
    synthetic,
    user,
)
from harness.session.fork import fork_session
from harness.session.formats.claude import claude_records
from harness.session.notes import (
    CheckpointNote,
    CompactionNote,
    EvictionNote,
    ModeNote,
    Note,
    RewindNote,
    RunNote,
    UsageNote,
)
from harness.session.recorder import SessionRecorder
from harness.session.records import to_bytes
from harness.session.resume import load_session

pytestmark = pytest.mark.requires_module("claude_agent_sdk")

TIME = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "data"))
    made = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    yield made
    made.close()


def append(store: SessionRecorder, *notes: Note) -> None:
    with store.path.open("ab") as file:
        file.writelines(map(to_bytes, notes))


def resumed(store: SessionRecorder, cwd: Path) -> SessionRecorder:
    store.close()
    again = SessionRecorder(cwd / "data", cwd, "", resumed=load_session(store.path))
    tell(again, user("go on"), reply("further"))
    again.close()
    return again


def every_line_type(store: SessionRecorder, cwd: Path) -> Path:
    png = Image("image/png", "QUJD")
    begun = call("sub", "delegate_subagent")
    tell(store, UserMessage((Text("look"), png)), *tour(), user("delegate"))
    tell(store, AssistantMessage((Thinking("hm", "sig"), Thinking("", redacted="xyz"), begun), "claude-x", "anthropic"))
    store.store(ToolExecutionStart(call=begun, label="Subagent", summary="the task"))
    task = MessageEnd(message=user("the task"), run_id="child.m.1")
    store.store(SubagentEvent(call_id="sub", event=task))
    store.store(ToolExecutionEnd(result=result("sub", "done", "delegate_subagent"), child_run_id="child.m.1"))
    store.store(MessageEnd(message=CustomMessage("bookmark", {"a": 1})))
    tell(store, AssistantMessage((ToolCall("bad", "bash", {}, partial_json="{"),), "m", "demo", stop_reason="tool_use"))
    tell(store, result("bad", "invalid arguments", "bash"))
    tell(store, AssistantMessage((), "m", "demo", stop_reason="error", error="overloaded"), user("again"))
    tell(store, AssistantMessage((Text("part"),), "m", "demo", stop_reason="aborted"), user("last"), reply("end"))
    store.rename("A title")
    store.store(TurnEnd(message=reply("end")))
    leaf = load_session(store.path).last_uuid or ""
    append(
        store,
        RunNote(phase="start", loop_id="r"),
        ModeNote(mode="plan"),
        UsageNote(model="a/b", usage={"input_tokens": 1}),
        CompactionNote(timestamp=TIME, id=new_id(), after=leaf, last=leaf, summary="summary"),
        EvictionNote(ids=(leaf,), after=leaf),
        CheckpointNote(id="c", leaf=leaf),
    )
    return store.path


def killed_in_a_call(store: SessionRecorder, cwd: Path) -> Path:
    calls = (call("a"), call("b"), call("c"))
    tell(store, user("go"), reply("working", *calls))
    for each in calls[:2]:
        store.store(ToolExecutionStart(call=each, label="Read", summary=""))
    tell(store, result("b"))
    store.close()
    with store.path.open("ab") as file:
        file.write(b'{"parentUuid":"torn')
    return resumed(store, cwd).path


def killed_after_a_notice(store: SessionRecorder, cwd: Path) -> Path:
    tell(store, *tour(), synthetic("[Background job b1 has finished.]"))
    return store.path


def rewound(store: SessionRecorder, cwd: Path) -> Path:
    tell(store, *tour())
    leaf = load_session(store.path).last_uuid or ""
    tell(store, user("wrong way"), reply(call("w")), result("w"))
    append(store, CheckpointNote(id="c", leaf=leaf), RewindNote(leaf=leaf, checkpoint="c"))
    return resumed(store, cwd).path


def forked(store: SessionRecorder, cwd: Path) -> Path:
    killed_in_a_call(store, cwd)
    return fork_session(store.path, new_id())


def exported(store: SessionRecorder, cwd: Path) -> Path:
    """Export a session with two compactions, killed in a call."""
    first = user("first")
    tell(store, first, *tour(), user("second"), reply(call("x")), result("x"), reply("fine"))
    early, late = (load_session(store.path).messages[index].id for index in (5, 9))
    tell(store, user("third"), reply(call("y")))
    append(
        store,
        CompactionNote(timestamp=TIME, id=new_id(), after=early, last=early, kept=(first.id,), summary="one"),
        CompactionNote(timestamp=TIME, id=new_id(), after=late, last=late, kept=(first.id,), summary="two"),
    )
    path = store.path.with_name(f"{new_id()}.jsonl")
    path.write_bytes(b"".join(map(to_bytes, claude_records(load_session(store.path)))))
    store.close()
    store.path.unlink()
    return path


@pytest.mark.parametrize("write", [every_line_type, killed_in_a_call, killed_after_a_notice, rewound, forked, exported])
def test_sdk_lists_the_session_and_finds_a_result_for_every_call(
    write: Callable[[SessionRecorder, Path], Path], store: SessionRecorder, tmp_path: Path
):
    from claude_agent_sdk import get_session_messages, list_sessions

    path = write(store, tmp_path)

    assert path.stem in [info.session_id for info in list_sessions(str(tmp_path))]
    messages = get_session_messages(path.stem, str(tmp_path))
    blocks = [block for each in messages if isinstance(content := each.message["content"], list) for block in content]
    called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert called
    assert sorted(called) == sorted(answered)
    last = load_session(path).messages[-1]
    assert messages[-1].uuid == last.id


def test_sdk_shows_title_and_first_prompt(store: SessionRecorder, tmp_path: Path):
    from claude_agent_sdk import list_sessions

    path = every_line_type(store, tmp_path)

    (info,) = list_sessions(str(tmp_path))
    assert (info.session_id, info.summary, info.first_prompt) == (path.stem, "A title", "look")


def test_compaction_is_exported_as_summary_and_kept_messages(store: SessionRecorder, tmp_path: Path):
    from claude_agent_sdk import get_session_messages

    path = exported(store, tmp_path)

    messages = get_session_messages(path.stem, str(tmp_path))
    assert [each.message["content"] for each in messages][:3] == ["two", "first", "third"]
