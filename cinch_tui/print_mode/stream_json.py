"""JSON lines in the format of Claude Code's print mode, so that its readers work with cinch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cinch_tui import __version__
from cinch_tui.assembly.folder import Folder
from harness.agent.agent import Agent
from harness.approval.modes import PLAN
from harness.events import Event, HookRan, MessageEnd, RetryScheduled, SubagentEvent, ToolExecutionEnd
from harness.messages import AssistantMessage, Citation, JsonObject, JsonValue, Text, ToolResult, new_id
from harness.session.reading import object_at
from harness.session.records import Envelope, api_block, assistant_lines, result_line


def init_line(agent: Agent, servers: Sequence[JsonValue] = (), folder: Folder | None = None) -> JsonObject:
    """Return the first line: the setup of the run, the status of the MCP servers, skills, commands and subagents."""
    state = agent.state
    tools: list[JsonValue] = [tool.name for tool in (*state.available_tools, *state.late.searched)]
    return {
        "type": "system",
        "subtype": "init",
        "session_id": agent.session_id,
        "uuid": new_id(),
        "cwd": str(agent.workspace.root),
        "model": agent.state.model.spec.name,
        "tools": tools,
        "mcp_servers": list(servers),
        "permissionMode": _permission_mode(agent),
        "slash_commands": [*_commands(folder)],
        "agents": [each.name for each in folder.subagents.subagents] if folder else [],
        "skills": [each.name for each in folder.skills] if folder else [],
        "plugins": [],
        "output_style": "default",
        "cinch_version": __version__,
    }


def _commands(folder: Folder | None) -> Iterator[str]:
    """Yield the names that print mode uses as commands."""
    if folder is not None:
        yield from dict.fromkeys(each.name for each in (*folder.skills, *folder.commands) if folder.template(each.name))


def event_lines(event: Event, session_id: str) -> Iterator[JsonObject]:
    """Yield the lines for one event; most events have none."""
    envelope = Envelope(session_id, cwd="")
    match event:
        case MessageEnd(message=AssistantMessage() as message):
            for line in _reply_lines(message, envelope):
                yield _message_line(line, session_id, {"error": message.error} if message.error else {})
        case ToolExecutionEnd(result=ToolResult() as result) | HookRan(result=ToolResult() as result):
            details: JsonObject = {} if result.details is None else {"tool_use_result": result.details}
            yield _message_line(result_line(result, None, envelope), session_id, details)
        case RetryScheduled():
            yield _retry_line(event, session_id)
        case SubagentEvent(call_id=call_id, event=inner):
            for line in event_lines(inner, session_id):
                is_message = "parent_tool_use_id" in line
                yield {**line, "parent_tool_use_id": line["parent_tool_use_id"] or call_id} if is_message else line
        case _:
            pass


def _reply_lines(message: AssistantMessage, envelope: Envelope) -> Iterator[JsonObject]:
    """Yield a line for each block; citations are in the format of the Messages API."""
    lines = assistant_lines(message, None, envelope)
    if not message.content:
        yield from lines
    # The line that closes a failed reply is for session files only.
    for line, block in zip(lines, message.content, strict=False):
        content = api_block(block)
        if isinstance(block, Text) and block.citations:
            content["citations"] = [_citation(each) for each in block.citations]
        yield {**line, "message": {**object_at(line, "message"), "content": [content]}}


def _citation(citation: Citation) -> JsonObject:
    return {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title,
        "cited_text": citation.quote,
        "encrypted_index": "",
    }


def _message_line(line: JsonObject, session_id: str, more: JsonObject) -> JsonObject:
    return {
        "type": line["type"],
        "message": line["message"],
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": line["uuid"],
        **more,
    }


def _retry_line(event: RetryScheduled, session_id: str) -> JsonObject:
    return {
        "type": "system",
        "subtype": "api_retry",
        "attempt": event.attempt,
        "max_retries": event.max_retries,
        "retry_delay_ms": round(event.delay * 1000),
        "error": event.error,
        "session_id": session_id,
        "uuid": new_id(),
    }


def _permission_mode(agent: Agent) -> str:
    if agent.state.mode is PLAN:
        return "plan"
    return "bypassPermissions" if agent.state.approval == "off" else "default"
