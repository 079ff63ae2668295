"""Export to phi-core: a session as a tree of loop records, one JSON object per session.

A loop is a run. Subagents are separate sessions, linked in both directions. Runs are those that the session
records; a session without them, such as an imported one, has one loop per prompt. What a phi-core session cannot
express is in extension messages and additional fields, which its reader ignores.

Source: phi-core 0.10, `src/session/model.rs` and `src/types`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, to_builtins

from harness.messages import (
    AssistantContent,
    AssistantMessage,
    CustomMessage,
    Image,
    JsonObject,
    JsonValue,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserContent,
    UserMessage,
)
from harness.session.formats.subagents import SubagentConversation, subagent_conversations
from harness.session.notes import AnyNote, CallNote, CustomNote, HeaderNote, ModelNote, RunNote
from harness.session.paths import open_session_file
from harness.session.reading import iso_time, parse, text_at
from harness.session.records import iso
from harness.session.resume import LoadedSession

_STOPS = {"tool_use": "toolUse"}
_LEVELS = frozenset({"off", "minimal", "low", "medium", "high"})


class _Loop(Struct):
    """One run and its messages."""

    id: str
    start: RunNote | None = None
    end: RunNote | None = None
    messages: list[Message] = []
    extensions: list[JsonObject] = []


def phi_sessions(session: LoadedSession) -> list[JsonObject]:
    """Return the session, followed by those of its subagents.

    Raises:
        OSError: A file cannot be read.
    """
    subagents = subagent_conversations(session.path)
    loops = _loops(session)
    owners = {message.call_id: loop for loop in loops for message in loop.messages if isinstance(message, ToolResult)}
    records: list[JsonObject] = []
    before = ""
    for loop in loops:
        record = _loop_record(session, loop, before if loop.start is None else "")
        record["child_loop_refs"] = [
            _child_ref(each, loop.messages) for each in subagents if owners.get(each.call_id) is loop
        ]
        records.append(record)
        before = loop.id
    for record in records:
        record["children_loop_ids"] = [
            each["loop_id"] for each in records if each["parent_loop_id"] == record["loop_id"]
        ]
    main = _session_record(session.session_id, session.session_id, session.created, session.updated)
    main["loops"] = list[JsonValue](records)
    return [main, *(_subagent_session(session, each, owners.get(each.call_id)) for each in subagents)]


def _session_record(session_id: str, agent_id: str, created: float, updated: float) -> JsonObject:
    return {
        "session_id": session_id,
        "agent_id": agent_id,
        "created_at": iso(created),
        "last_active_at": iso(updated),
        "formation": {"FirstLoop": {"timestamp": iso(created)}},
        "parent_spawn_ref": None,
        "scope": "persistent",
    }


def _subagent_session(session: LoadedSession, subagent: SubagentConversation, owner: _Loop | None) -> JsonObject:
    session_id = _session_of(subagent.agent_id)
    loop = _Loop(subagent.agent_id, messages=list(subagent.messages))
    record = _session_record(session_id, session_id, subagent.started, loop.messages[-1].time)
    if owner:
        record["parent_spawn_ref"] = {
            "parent_session_id": session.session_id,
            "parent_loop_id": owner.id,
            "tool_call_id": subagent.call_id,
            "tool_name": _tool_of(subagent, owner.messages),
        }
    own = _loop_record(session, loop, owner.id if owner else "", session_id)
    record["loops"] = [{**own, "children_loop_ids": [], "child_loop_refs": []}]
    return record


def _child_ref(subagent: SubagentConversation, messages: Sequence[Message]) -> JsonValue:
    return {
        "tool_call_id": subagent.call_id,
        "tool_name": _tool_of(subagent, messages),
        "child_loop_id": subagent.agent_id,
        "child_session_id": _session_of(subagent.agent_id),
    }


def _tool_of(subagent: SubagentConversation, messages: Sequence[Message]) -> str:
    results = (each for each in messages if isinstance(each, ToolResult) and each.call_id == subagent.call_id)
    return next((each.tool_name for each in results), "")


def _session_of(run_id: str) -> str:
    return run_id.rsplit(".", 2)[0]


def _loops(session: LoadedSession) -> list[_Loop]:
    """Return the runs of the current branch with their messages."""
    placed = _runs_by_line(session)
    ends = {note.loop_id: note for note in session.notes if isinstance(note, RunNote) and note.phase == "end"}
    loops: list[_Loop] = []
    for message in session.messages.completed():
        start = placed.get(message.id)
        is_prompt = isinstance(message, UserMessage) and not message.synthetic
        if not loops or (start and start is not loops[-1].start) or (start is None and is_prompt):
            name = start.loop_id if start else f"{session.session_id}.imported.{len(loops) + 1}"
            loops.append(_Loop(name, start, ends.get(name)))
        loops[-1].messages.append(message)
    for note in session.notes if loops else ():
        if not isinstance(note, HeaderNote | RunNote | CustomNote | CallNote | ModelNote):
            time = iso_time(note.timestamp)
            owner = next((loop for loop in reversed(loops) if loop.messages[0].time <= time), loops[0])
            owner.extensions.append(_extension(note))
    return loops


def _runs_by_line(session: LoadedSession) -> dict[str, RunNote]:
    """Return the start of the run that was active when each line of the conversation was written."""
    starts = {note.loop_id: note for note in session.notes if isinstance(note, RunNote) and note.phase == "start"}
    active: RunNote | None = None
    runs: dict[str, RunNote] = {}
    with open_session_file(session.path) as file:
        for line in file if starts else ():
            record = parse(line) or {}
            if text_at(record, "type") == "cinch-run":
                active = starts.get(text_at(record, "loopId")) or active
            elif active and (line_id := text_at(record, "uuid")):
                runs[line_id] = active
    return runs


def _extension(note: AnyNote) -> JsonObject:
    data: JsonObject = to_builtins(note)
    return {"role": "extension", "kind": text_at(data, "type"), "data": data}


def _loop_record(session: LoadedSession, loop: _Loop, parent: str, session_id: str = "") -> JsonObject:
    messages, turns = _messages_and_turns(loop)
    replies = [message for message in loop.messages if isinstance(message, AssistantMessage)]
    usage = sum((reply.usage for reply in replies), Usage())
    is_stopped = loop.end.stop == "aborted" if loop.end else bool(loop.start)
    parent = (loop.start.parent_loop_id or "") if loop.start else parent
    return {
        "loop_id": loop.id,
        "session_id": session_id or session.session_id,
        "agent_id": session_id or session.session_id,
        "parent_loop_id": parent or None,
        "continuation_kind": _continuation(loop),
        "started_at": iso(iso_time(loop.start.timestamp) if loop.start else loop.messages[0].time),
        "ended_at": iso(iso_time(loop.end.timestamp) if loop.end else loop.messages[-1].time),
        "status": "Aborted" if is_stopped else "Completed",
        "rejection": None,
        "config": _config(session, replies),
        "messages": [*messages, *loop.extensions],
        "turns": turns,
        "usage": _usage(usage),
        "metadata": {"stop": loop.end.stop, "limit": loop.end.limit} if loop.end else None,
        "events": [],
        "parallel_group": None,
    }


def _continuation(loop: _Loop) -> JsonValue:
    kind = loop.start.continuation if loop.start else None
    if kind in ("rerun", "branch"):
        tag = loop.start.timestamp if loop.start else ""
        return {kind.title(): {"tag": tag}}
    return "Default" if kind else "Initial"


def _config(session: LoadedSession, replies: Sequence[AssistantMessage]) -> JsonObject | None:
    if not replies:
        return None
    first, spec = replies[0], session.spec
    config: JsonObject = {"model": first.model, "provider": first.provider, "config_id": None}
    if spec and spec.model_id == first.model and spec.thinking in _LEVELS:
        config["thinking_level"] = spec.thinking
    return config


def _messages_and_turns(loop: _Loop) -> tuple[list[JsonValue], list[JsonValue]]:
    """Return the messages of a loop with their turns, and the turns: a reply, its input and its results each."""
    messages: list[JsonValue] = []
    turns: list[JsonObject] = []
    waiting: list[JsonValue] = []
    for message in loop.messages:
        is_new = not isinstance(message, ToolResult) or not turns
        turn_id: JsonObject = {"loopId": loop.id, "turnIndex": len(turns) - (0 if is_new else 1)}
        record: JsonObject = {**_message(message), "turnId": turn_id}
        messages.append(record)
        if isinstance(message, AssistantMessage):
            turns.append(_turn(message, record, turn_id, waiting, is_first=not turns))
            waiting = []
        elif isinstance(message, ToolResult) and turns:
            results = turns[-1]["tool_results"]
            if isinstance(results, list):
                results.append(record)
            turns[-1]["ended_at"] = iso(message.time)
        else:
            waiting.append(record)
    return messages, list(turns)


def _turn(
    reply: AssistantMessage, record: JsonObject, turn_id: JsonObject, waiting: list[JsonValue], *, is_first: bool
) -> JsonObject:
    return {
        "turn_id": turn_id,
        "triggered_by": "User" if is_first else "Continuation",
        "usage": _usage(reply.usage),
        "input_messages": waiting,
        "output_message": record,
        "tool_results": [],
        "started_at": iso(reply.time),
        "ended_at": iso(reply.time),
    }


def _message(message: Message) -> JsonObject:
    timestamp = int(message.time * 1000)
    match message:
        case UserMessage(content):
            user: JsonObject = {"role": "user", "content": _user_content(content), "timestamp": timestamp}
            return {**user, "synthetic": True} if message.synthetic else user
        case AssistantMessage(content):
            reply: JsonObject = {
                "role": "assistant",
                "content": [_reply_block(block) for block in content],
                "stopReason": _STOPS.get(message.stop_reason, message.stop_reason),
                "model": message.model,
                "provider": message.provider,
                "usage": _usage(message.usage),
                "timestamp": timestamp,
            }
            return {**reply, "error_message": message.error} if message.error else reply
        case ToolResult(call_id, tool_name, content):
            return {
                "role": "toolResult",
                "toolCallId": call_id,
                "toolName": tool_name,
                "content": _user_content(content),
                "isError": message.is_error,
                "timestamp": timestamp,
            }
        case CustomMessage(kind, data):
            return {"role": "extension", "kind": kind, "data": data}


def _user_content(content: Sequence[UserContent]) -> list[JsonValue]:
    return [
        {"type": "image", "data": block.data, "mimeType": block.media_type}
        if isinstance(block, Image)
        else {"type": "text", "text": block.text}
        for block in content
    ]


def _reply_block(block: AssistantContent) -> JsonObject:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature, redacted):
            thinking: JsonObject = {"type": "thinking", "thinking": text}
            optional = (("signature", signature), ("redacted", redacted))
            return {**thinking, **{key: value for key, value in optional if value is not None}}
        case ToolCall(call_id, name, arguments, partial_json):
            given: JsonValue = {"__partial_json": partial_json} if partial_json else arguments
            return {"type": "toolCall", "id": call_id, "name": name, "arguments": given}


def _usage(usage: Usage) -> JsonObject:
    record: JsonObject = {
        "input": usage.input,
        "output": usage.output,
        "reasoning": 0,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "total_tokens": usage.context,
    }
    return {**record, "cost": usage.cost.total} if usage.cost else record
