"""Export of sessions to Claude Code, phi-core and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, tell, tour, written

from harness.events import AgentEnd, AgentStart, MessageEnd, ParallelEnd, SubagentEvent, ToolExecutionEnd, UsageAdded
from harness.messages import CustomMessage, ModelSpec, Usage, new_id, synthetic, user
from harness.session.formats.claude import claude_records
from harness.session.formats.document import json_document
from harness.session.formats.phi import phi_sessions
from harness.session.notes import CheckpointNote, CompactionNote, EvictionNote, RewindNote
from harness.session.recorder import SessionRecorder
from harness.session.records import to_bytes
from harness.session.resume import load_session

CHILD = "child.m.1"


@pytest.fixture
def store(tmp_path: Path):
    made = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    yield made
    made.close()


def delegated(store: SessionRecorder) -> None:
    """Record a run that delegates to a subagent."""
    tell(store, user("delegate"), reply(call("sub", "delegate_subagent")))
    for message in (user("the task"), reply("done")):
        store.store(SubagentEvent(call_id="sub", event=MessageEnd(message=message, run_id=CHILD)))
    store.store(ToolExecutionEnd(result=result("sub", "done", "delegate_subagent"), child_run_id=CHILD))
    tell(store, reply("fine"))


def test_json_document_contains_every_line_type(store: SessionRecorder):
    delegated(store)
    store.store(MessageEnd(message=CustomMessage("bookmark", {"a": 1})))
    store.store(UsageAdded(model="m", usage=Usage(1)))
    store.rename("Title")
    leaf = load_session(store.path).last_uuid or ""
    tell(store, user("wrong way"))
    store.close()
    notes = (
        CompactionNote(id="c", after=leaf, summary="s"),
        EvictionNote(ids=(leaf,)),
        CheckpointNote(id="k", leaf=leaf),
        RewindNote(leaf=leaf),
    )
    with store.path.open("ab") as file:
        file.writelines(map(to_bytes, notes))

    document = json.loads("".join(json_document(load_session(store.path))))

    assert [each["type"] for each in document["messages"]][-2:] == ["assistant_message", "custom_message"]
    kinds = {each["type"].removeprefix("cinch-") for each in document["notes"]}
    assert kinds == {"session", "custom", "usage", "compaction", "eviction", "checkpoint", "rewind"}
    assert [each["customTitle"] for each in document["lines"]] == ["Title"]
    assert [each["message"]["content"] for each in document["other_branches"]] == ["wrong way"]
    assert [(each["call_id"], len(each["messages"])) for each in document["subagents"]] == [("sub", 2)]


def test_phi_session_is_a_tree_of_loops_with_subagents_linked_both_ways(store: SessionRecorder):
    spec = ModelSpec("demo", "m-1")
    store.store(AgentStart(run_id="r1", spec=spec))
    delegated(store)
    store.store(AgentEnd(run_id="r1", stop_reason="stop"))
    store.store(AgentStart(run_id="r2", spec=spec, parent_run_id="r1"))
    tell(store, user("next"), reply("yes"))
    store.close()

    main, child = phi_sessions(load_session(store.path))

    first, second = main["loops"]
    assert (first["loop_id"], first["status"], first["children_loop_ids"]) == ("r1", "Completed", ["r2"])
    assert (second["parent_loop_id"], second["status"]) == ("r1", "Aborted")
    assert [each["role"] for each in first["messages"]] == ["user", "assistant", "toolResult", "assistant"]
    assert [len(turn["tool_results"]) for turn in first["turns"]] == [1, 0]
    assert first["turns"][1]["output_message"]["turnId"] == {"loopId": "r1", "turnIndex": 1}
    link = {"tool_call_id": "sub", "tool_name": "delegate_subagent"}
    assert first["child_loop_refs"] == [{**link, "child_loop_id": CHILD, "child_session_id": "child"}]
    parent = {"parent_session_id": main["session_id"], "parent_loop_id": "r1"}
    assert (child["session_id"], child["parent_spawn_ref"]) == ("child", {**parent, **link})


def test_phi_session_without_runs_has_one_loop_per_prompt(tmp_path: Path):
    session = load_session(written(tmp_path, *tour(), user("next"), reply(call("open"))))

    (main,) = phi_sessions(session)

    first, second = main["loops"]
    assert (first["parent_loop_id"], second["parent_loop_id"]) == (None, first["loop_id"])
    assert [each["role"] for each in second["messages"]] == ["user", "assistant", "toolResult"]


def test_claude_export_puts_the_missing_result_between_call_and_next_prompt(tmp_path: Path):
    session = load_session(written(tmp_path, user("go"), reply(call("open")), user("next")))

    lines = [line for line in claude_records(session) if line["type"] in ("user", "assistant")]

    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert lines[2]["message"]["content"][0]["tool_use_id"] == "open"


def test_claude_export_hides_notices_of_the_program_except_at_the_end(tmp_path: Path):
    notices = [synthetic(f"[Background job b{number} has finished.]") for number in range(2)]
    session = load_session(written(tmp_path, user("go"), reply("done"), notices[0], reply("fine"), notices[1]))

    lines = list(claude_records(session))

    assert [line["uuid"] for line in lines if line.get("isMeta")] == [notices[0].id]
    assert lines[-1]["uuid"] == notices[1].id


def test_claude_export_starts_anew_after_a_compaction(tmp_path: Path):
    path = written(tmp_path, *tour(), user("next"), reply("yes"))
    messages = load_session(path).messages
    note = CompactionNote(id="c", after=messages[-1].id, last=messages[4].id, kept=(messages[0].id,), summary="summary")
    with path.open("ab") as file:
        file.write(to_bytes(note))

    lines = list(claude_records(load_session(path)))

    at = next(index for index, line in enumerate(lines) if line.get("subtype") == "compact_boundary")
    boundary, summary, kept, *rest = lines[at:]
    assert (boundary["parentUuid"], boundary["logicalParentUuid"]) == (None, lines[at - 1]["uuid"])
    assert (summary["isCompactSummary"], summary["message"]["content"]) == (True, "summary")
    assert (kept["message"]["content"], kept["uuid"] != messages[0].id) == ("look at both", True)
    assert [line["parentUuid"] for line in (summary, kept, *rest)] == [
        line["uuid"] for line in (boundary, summary, kept, *rest[:-1])
    ]
    assert [line["uuid"] for line in rest] == [message.id for message in messages[5:]]


def test_parallel_usage_is_an_extension_of_a_phi_session(store: SessionRecorder):
    tell(store, user("go"), reply("yes"))
    store.store(ParallelEnd(selected_run_id="x", selected_index=0, usage_beside=Usage(40)))
    store.close()

    (main,) = phi_sessions(load_session(store.path))

    kinds = [each["kind"] for each in main["loops"][0]["messages"] if each["role"] == "extension"]
    assert kinds == ["cinch-usage"]
