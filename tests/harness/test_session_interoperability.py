"""Session lines in the form Claude Code's own readers need, and usage that belongs to no reply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, rounded, tell, tour, written

from harness.events import MessageEnd, ParallelEnd, SubagentEvent, UsageAdded
from harness.messages import (
    AssistantMessage,
    Cost,
    Text,
    Thinking,
    Usage,
    UserMessage,
    new_id,
    synthetic,
    user,
)
from harness.session.fork import fork_session
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session


@pytest.fixture
def store(tmp_path: Path):
    made = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    yield made
    made.close()


def talk_of(path: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [line for line in lines if line["type"] in ("user", "assistant")]


@pytest.mark.parametrize("content", [(), (Text("partial"),)])
def test_failed_reply_ends_with_an_error_that_other_programs_do_not_resend(content: tuple[Text, ...], tmp_path: Path):
    failed = AssistantMessage(content, "m-1", "demo", Usage(5, 6), "error", "overloaded")
    path = written(tmp_path, user("go"), failed)

    line = talk_of(path)[-1]
    assert (line["type"], line["isApiErrorMessage"], line["message"]["model"]) == ("assistant", True, "<synthetic>")
    assert line["message"]["content"] == [{"type": "text", "text": "overloaded"}]
    assert rounded([failed]) == list(load_session(path).messages)[1:]


def test_result_in_a_session_of_another_program_has_the_name_of_its_tool(tmp_path: Path):
    call_block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    result_block = {"type": "tool_result", "tool_use_id": "t", "content": "a.txt"}
    lines = [
        {"type": "user", "uuid": "1", "parentUuid": None, "message": {"content": "list the files"}},
        {"type": "assistant", "uuid": "2", "parentUuid": "1", "message": {"id": "m", "content": [call_block]}},
        {"type": "user", "uuid": "3", "parentUuid": "2", "message": {"content": [result_block]}},
    ]
    path = tmp_path / f"{new_id()}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    result = load_session(path).messages[2]

    assert (result.call_id, result.tool_name, result.text) == ("t", "Bash", "a.txt")


@pytest.mark.parametrize("content", [(), (Text("partial"),)])
def test_interrupted_reply_ends_with_the_line_that_claude_code_writes(content: tuple[Text, ...], tmp_path: Path):
    stopped = AssistantMessage(content, "m-1", "demo", Usage(5, 6), "aborted", "stopped by the user")
    path = written(tmp_path, user("go"), stopped, user("next"))

    *_, line, following = talk_of(path)
    assert line["type"] == "user"
    assert line["message"] == {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}
    assert following["parentUuid"] == line["uuid"]
    assert rounded([stopped]) == list(load_session(path).messages)[1:2]
    assert len(load_session(path).messages) == 3
    records = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(f"{json.dumps(record, sort_keys=True)}\n" for record in records))
    assert rounded([stopped]) == list(load_session(path).messages)[1:2]


@pytest.mark.parametrize(
    ("thinking", "model", "shown"),
    [
        (Thinking("hm", "sig"), "claude-x", True),
        (Thinking("", redacted="xyz"), "anthropic.claude-x-v1:0", True),
        (Thinking("hm"), "claude-x", False),
        (Thinking("hm", "sig"), "gpt-x", False),
    ],
)
def test_thinking_that_claude_would_reject_is_kept_for_cinch_only(
    thinking: Thinking, model: str, shown: bool, tmp_path: Path
):
    said = AssistantMessage((thinking, Text("so")), model, "demo")
    path = written(tmp_path, user("go"), said)

    assert [len(line["message"]["content"]) for line in talk_of(path)[1:]] == [int(shown), 1]
    assert rounded([said]) == list(load_session(path).messages)[1:]


def spent(model: str, tokens: int) -> MessageEnd:
    return MessageEnd(message=AssistantMessage((Text("x"),), model, "demo", Usage(tokens, 1, cost=Cost(0.5))))


def test_usage_without_a_reply_is_kept_and_counts_in_a_fork(store: SessionRecorder):
    tell(store, user("go"), reply(call("c", "delegate_subagent")))
    store.store(SubagentEvent(call_id="c", event=spent("small", 10)))
    store.store(SubagentEvent(call_id="c", event=SubagentEvent(call_id="d", event=spent("smaller", 20))))
    store.store(SubagentEvent(call_id="c", event=MessageEnd(message=user("the task"))))
    tell(store, result("c"), reply("done"))
    store.store(UsageAdded(model="demo/aside", usage=Usage(30)))
    store.store(ParallelEnd(selected_run_id="x", selected_index=0, usage_beside=Usage(40)))
    store.close()

    session = load_session(store.path)
    expected = (
        ("demo/small", Usage(10, 1, cost=Cost(0.5))),
        ("demo/smaller", Usage(20, 1, cost=Cost(0.5))),
        ("demo/aside", Usage(30)),
        ("parallel", Usage(40)),
    )
    assert session.other_usage == expected
    assert len(session.messages) == 4
    assert load_session(fork_session(store.path, new_id())).other_usage == expected


def test_usage_of_an_earlier_conversation_in_the_file_is_not_counted(store: SessionRecorder):
    tell(store, user("go"), reply("done"))
    store.store(UsageAdded(model="judge", usage=Usage(30)))
    store.restart()
    tell(store, user("afresh"))
    store.store(UsageAdded(model="judge", usage=Usage(40)))

    assert load_session(store.path).other_usage == (("judge", Usage(40)),)


def test_conversation_that_ends_with_a_notice_does_not_end_with_a_meta_line(tmp_path: Path):
    """Claude Code's readers skip meta lines when they look for the end of a conversation."""
    path = written(tmp_path, *tour(), synthetic("[Background job b1 has finished.]"))

    ends = [line for line in map(json.loads, path.read_bytes().splitlines()) if "uuid" in line]
    assert "isMeta" not in ends[-1]
    (*_, last) = load_session(path).messages
    assert isinstance(last, UserMessage)
    assert last.synthetic
