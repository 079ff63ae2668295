"""Import of sessions of other programs."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from harness.context.normalize import normalize
from harness.errors import SessionError
from harness.messages import AssistantMessage, Image, Thinking, ToolCall, ToolResult, Usage
from harness.session.formats.importing import import_session
from harness.session.resume import LoadedSession, load_session


def imported(tmp_path: Path, *lines: object) -> tuple[LoadedSession, int, dict[str, int]]:
    """Import a file of these lines, in which a string is written as it is."""
    source = tmp_path / "source.jsonl"
    source.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    made = import_session(source, tmp_path / "sessions", cwd=tmp_path)
    return load_session(made.path), made.damaged, made.left_out


def rollout(kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": "2026-01-01T00:00:01.000Z", "type": kind, "payload": payload}


def item(kind: str, **fields: object) -> dict[str, object]:
    return rollout("response_item", type=kind, **fields)


def text_item(role: str, text: str) -> dict[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


META = rollout("session_meta", id="x", cwd="/project", model_provider="openai")
MODEL = rollout("turn_context", cwd="/project", model="gpt-x", effort="xhigh")


def test_codex_items_of_one_model_call_become_one_reply_with_its_usage(tmp_path: Path):
    counts = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 7}
    wrapped = json.dumps({"output": "a.txt", "metadata": {"exit_code": 1}})
    session, _, left_out = imported(
        tmp_path,
        META,
        MODEL,
        text_item("user", "<environment_context>…</environment_context>"),
        text_item("user", "list the files"),
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="…"),
        item("function_call", name="shell", arguments='{"command":["ls"]}', call_id="a"),
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="b"),
        item("local_shell_call", call_id="c", status="completed", action={"type": "exec", "command": ["pwd"]}),
        item("function_call", name="broken", arguments="{", call_id="d"),
        rollout("event_msg", type="token_count", info={"last_token_usage": counts}),
        item("function_call_output", call_id="a", output=wrapped),
        item("custom_tool_call_output", call_id="b", output={"content": "Done", "success": True}),
        item(
            "function_call_output",
            call_id="c",
            output=[{"type": "input_image", "image_url": "data:image/png;base64,QQ=="}],
        ),
        text_item("assistant", "done"),
    )

    context, prompt, reply, *results, last = session.messages
    assert (context.synthetic, prompt.synthetic, prompt.text) == (True, False, "list the files")
    assert reply.content == (
        Thinking("hm"),
        ToolCall("a", "shell", {"command": ["ls"]}),
        ToolCall("b", "apply_patch", {"input": "*** Begin Patch"}),
        ToolCall("c", "local_shell", {"command": ["pwd"]}),
        ToolCall("d", "broken", {}, partial_json="{"),
    )
    assert (reply.model, reply.provider, reply.usage) == ("gpt-x", "openai", Usage(60, 7, 40))
    assert [(each.tool_name, each.text, each.is_error) for each in results] == [
        ("shell", "a.txt", True),
        ("apply_patch", "Done", False),
        ("local_shell", "", False),
    ]
    assert results[2].content == (Image("image/png", "QQ=="),)
    assert last.text == "done"
    assert left_out == {"encrypted reasoning": 1}
    assert (str(session.cwd), session.model_name, session.spec and session.spec.thinking) == (
        "/project",
        "openai/gpt-x",
        "extra-high",
    )


def test_codex_prompts_that_were_taken_back_are_kept_outside_the_conversation(tmp_path: Path):
    session, _, _ = imported(
        tmp_path,
        META,
        text_item("user", "first"),
        text_item("assistant", "one"),
        text_item("user", "second"),
        text_item("assistant", "two"),
        rollout("event_msg", type="thread_rolled_back", num_turns=1),
        text_item("user", "third"),
    )

    assert [message.text for message in session.messages] == ["first", "one", "third"]
    assert "second" in session.path.read_text()


def test_codex_compaction_becomes_an_overlay_of_the_messages_before_it(tmp_path: Path):
    session, _, _ = imported(
        tmp_path, META, text_item("user", "first"), rollout("compacted", message="summary"), text_item("user", "next")
    )

    assert [(note.summary, note.last) for note in session.compactions] == [("summary", session.messages[0].id)]
    sent = session.overlay.apply(list(session.messages))
    assert [getattr(each, "text", "") for each in sent] == ["summary", "next"]


def test_codex_fork_includes_the_beginning_of_the_session_it_refers_to(tmp_path: Path):
    origin = tmp_path / "rollout-2026-01-01-00000000-origin.jsonl"
    kept = "".join(
        f"{json.dumps(line)}\n" for line in (META, text_item("user", "first"), text_item("assistant", "one"))
    )
    origin.write_text(kept + json.dumps(text_item("user", "not in the fork")) + "\n")
    base = {"thread_id": "00000000-origin", "end_byte_offset": len(kept)}
    fork = rollout("session_meta", id="y", cwd="/fork", history_base=base)

    session, _, left_out = imported(tmp_path, fork, text_item("user", "second"))
    assert [message.text for message in session.messages] == ["first", "one", "second"]
    assert (str(session.cwd), left_out) == ("/fork", {})

    origin.unlink()
    session, _, left_out = imported(tmp_path, fork, text_item("user", "second"))
    assert list(left_out) == ["beginning of the session, in the file of 00000000-origin"]


def test_codex_usage_of_a_reply_is_read_from_its_own_line(tmp_path: Path):
    usage = {"input_tokens": 10, "cached_input_tokens": 8, "output_tokens": 5}
    session, _, left_out = imported(
        tmp_path,
        META,
        text_item("user", "go"),
        text_item("assistant", "yes"),
        rollout("token_usage_record", usage=usage),
    )

    reply = session.messages[1]
    assert isinstance(reply, AssistantMessage)
    assert (reply.usage, left_out) == (Usage(2, 5, 8), {})


def test_codex_session_without_envelopes_is_imported(tmp_path: Path):
    session, _, _ = imported(
        tmp_path,
        {"id": "x", "timestamp": "2025-06-01T00:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
    )

    assert [message.text for message in session.messages] == ["hello", "hi"]


def test_swink_session_is_imported_without_an_incomplete_append(tmp_path: Path):
    usage = {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "total": 10}
    call = {"type": "tool_call", "id": "t", "name": "bash", "arguments": {"command": "ls"}, "partial_json": None}
    reply = {
        "role": "assistant",
        "provider": "p",
        "model_id": "m",
        "usage": usage,
        "cost": {},
        "stop_reason": "tool_use",
    }
    session, _, left_out = imported(
        tmp_path,
        {"id": "1", "title": "Title", "created_at": "2025-03-15T12:00:00Z", "updated_at": "2025-03-15T12:00:00Z"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}], "timestamp": 1742040000},
        {**reply, "content": [call], "error_message": None, "timestamp": 1742040001},
        {
            "role": "tool_result",
            "tool_call_id": "t",
            "content": [{"type": "text", "text": "a"}],
            "is_error": True,
            "timestamp": 1742040002,
        },
        {"entry_type": "label", "data": {"text": "here", "message_index": 1, "timestamp": 1742040003}},
        {"_custom": True, "type": "note", "data": {"a": 1}},
        {"_append": True, "phase": "begin"},
        {"role": "user", "content": [{"type": "text", "text": "lost"}], "timestamp": 1742040004},
    )

    prompt, answer, result, label, note = session.messages
    assert (session.title, prompt.text, prompt.time) == ("Title", "hi", 1742040000)
    assert isinstance(answer, AssistantMessage)
    assert answer.content == (ToolCall("t", "bash", {"command": "ls"}),)
    assert answer.usage == Usage(1, 2, 3, 4)
    assert (result.tool_name, result.is_error) == ("bash", True)
    assert (label.kind, note.kind, note.data) == ("label", "note", {"a": 1})
    assert left_out == {"line of an incomplete append": 1}


def test_damaged_lines_and_unknown_contents_are_counted(tmp_path: Path):
    session, damaged, left_out = imported(
        tmp_path, META, "{not json", text_item("user", "hello"), item("hologram"), rollout("novelty"), '{"torn'
    )

    assert [message.text for message in session.messages] == ["hello"]
    assert (damaged, left_out) == (2, {"hologram": 1, "novelty": 1})


def test_unknown_format_is_an_error_that_names_the_known_ones(tmp_path: Path):
    with pytest.raises(SessionError, match=r"known format.*Claude Code.*Codex.*swink"):
        imported(tmp_path, {"some": "thing"})


def test_claude_session_brings_the_conversations_of_its_subagents(tmp_path: Path):
    def line(uuid: str, parent: str | None, text: str, **more: object) -> dict[str, object]:
        message = {"role": "user", "content": text}
        return {"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}

    folder = tmp_path / "source" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-one.jsonl").write_text(json.dumps(line("c", None, "task one", isSidechain=True, agentId="one")))
    session, _, left_out = imported(
        tmp_path,
        line("a", None, "hello"),
        line("b", None, "task two", isSidechain=True),
        {"type": "file-history-snapshot", "messageId": "a"},
    )

    copies = sorted(session.path.with_suffix("").glob("subagents/*.jsonl"))
    assert [copy.name for copy in copies] == ["agent-b.jsonl", "agent-one.jsonl"]
    assert ["task two" in copies[0].read_text(), "task one" in copies[1].read_text()] == [True, True]
    assert [message.text for message in session.messages] == ["hello"]
    assert left_out == {"file-history-snapshot": 1}


def test_imported_call_without_a_result_and_result_without_a_call_are_valid_in_a_request(tmp_path: Path):
    session, _, _ = imported(
        tmp_path,
        META,
        text_item("user", "go"),
        item("function_call", name="shell", arguments="{}", call_id="open"),
        item("function_call_output", call_id="foreign", output="lost"),
        text_item("user", "next"),
    )

    prompt, call, result, following = normalize(session.messages.completed())
    assert (prompt.text, following.text) == ("go", "next")
    assert isinstance(call, AssistantMessage)
    assert isinstance(result, ToolResult)
    assert result.call_id == call.tool_calls[0].id


_KEYS = ("type", "payload", "role", "content", "text", "call_id", "name", "arguments", "output", "timestamp", "message")
_VALUES = (
    "message",
    "user",
    "assistant",
    "text",
    "function_call",
    "token_count",
    "a",
    "{}",
    0,
    -1,
    1e300,
    None,
    True,
    "\ud800",
)


def _value(random: Random, depth: int = 0) -> object:
    if depth > 3 or random.random() < 0.5:
        return random.choice(_VALUES)
    if random.random() < 0.4:
        return [_value(random, depth + 1) for _ in range(3)]
    return {random.choice(_KEYS): _value(random, depth + 1) for _ in range(5)}


def _line(random: Random) -> object:
    """Return a line that looks like one of a known format and has any values."""
    values = {random.choice(_KEYS): _value(random) for _ in range(6)}
    kind = random.choice(("response_item", "event_msg", "session_meta", "compacted", "user", "assistant"))
    role = random.choice(("user", "assistant", "tool_result"))
    payload = {**values, "type": random.choice(_VALUES)}
    return random.choice(
        (
            {"type": kind, "payload": payload, "timestamp": _value(random)},
            {"role": role, "content": [payload], "timestamp": _value(random)},
            {"type": kind, "uuid": random.choice("abc"), "sessionId": "s", "message": {"content": [payload]}},
            values,
        )
    )


def test_import_of_arbitrary_values_yields_a_readable_session_or_a_session_error(tmp_path: Path):
    random = Random(1)
    readable = 0
    for _ in range(100):
        try:
            session, _, _ = imported(tmp_path, *(_line(random) for _ in range(8)))
        except SessionError:
            continue
        normalize(session.messages.completed())
        readable += 1
    assert readable > 50
