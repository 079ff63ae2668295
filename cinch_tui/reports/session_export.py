"""Session as plain text and Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from cinch_tui.reports.citations import sources_markdown, sources_of, sources_text
from harness.messages import AssistantMessage, Message, Text, Thinking, ToolCall, ToolResult, UserMessage
from harness.session.resume import LoadedSession
from harness.terminal_text import strip_escapes

_RESULT_LINES = 12
_HEADING_CHARS = 80


def local_time(time: float) -> str:
    """Return a time in the local time zone, to the minute."""
    return datetime.fromtimestamp(time).strftime("%Y-%m-%d %H:%M")


def heading(session: LoadedSession) -> str:
    """Return the title of a session, else the beginning of its first prompt, else its id."""
    if session.title:
        return session.title
    prompts = (message for message in session.messages if isinstance(message, UserMessage) and not message.synthetic)
    line = " ".join(next((message.text[: 4 * _HEADING_CHARS] for message in prompts), "").split())
    return (line if len(line) <= _HEADING_CHARS else f"{line[:_HEADING_CHARS]}…") or f"Session {session.session_id}"


def as_text(session: LoadedSession) -> Iterator[str]:
    """Yield the conversation for a terminal; long tool results are truncated."""
    yield f"{strip_escapes(session.title or session.session_id)}\n{local_time(session.created)}  {session.cwd}\n"
    results = _results(session.messages)
    for message in session.messages:
        yield from (f"{strip_escapes(part)}\n" for part in _plain_parts(message, results))


def as_markdown(session: LoadedSession) -> Iterator[str]:
    """Yield the conversation as Markdown, with tool calls and results in code blocks."""
    yield f"# {heading(session)}\n\n"
    yield f"{local_time(session.created)} · `{session.cwd}` · {session.model_name or 'unknown model'}\n"
    results = _results(session.messages)
    for message in session.messages:
        yield from (f"\n{part}\n" for part in _markdown_parts(message, results))


def _results(messages: Sequence[Message]) -> dict[str, ToolResult]:
    """Return the results by call id; a result is removed when it is written after its call."""
    return {message.call_id: message for message in messages if isinstance(message, ToolResult)}


def _plain_parts(message: Message, results: dict[str, ToolResult]) -> Iterator[str]:
    match message:
        case UserMessage(synthetic=False):
            yield f"\n> {message.text}"
        case AssistantMessage():
            for block in message.content:
                yield from _plain_block(block, results)
            if sources := sources_of(message.content):
                yield f"\n{sources_text(sources)}"
            if message.error:
                yield f"\n! {message.error}"
        case ToolResult():
            yield from _plain_result(results.pop(message.call_id, None))
        case _:
            pass


def _plain_block(block: Text | Thinking | ToolCall, results: dict[str, ToolResult]) -> Iterator[str]:
    match block:
        case Text(text):
            yield f"\n{text}"
        case ToolCall():
            yield f"\n* {block.name} {_arguments(block)}"
            yield from _plain_result(results.pop(block.id, None))
        case _:
            pass


def _plain_result(result: ToolResult | None) -> Iterator[str]:
    lines = result.text.splitlines() if result else []
    yield from (f"    {line}" for line in lines[:_RESULT_LINES])
    if len(lines) > _RESULT_LINES:
        yield f"    … {len(lines) - _RESULT_LINES} more lines"


def _markdown_parts(message: Message, results: dict[str, ToolResult]) -> Iterator[str]:
    match message:
        case UserMessage(synthetic=False):
            yield f"## You\n\n{message.text}"
        case AssistantMessage():
            yield "## Assistant"
            for block in message.content:
                yield _markdown_block(block)
                if isinstance(block, ToolCall):
                    yield from _markdown_result(results.pop(block.id, None))
            if sources := sources_of(message.content):
                yield sources_markdown(sources)
            if message.error:
                yield f"**Failed:** {message.error}"
        case ToolResult():
            yield from _markdown_result(results.pop(message.call_id, None))
        case _:
            pass


def _markdown_block(block: Text | Thinking | ToolCall) -> str:
    match block:
        case Text(text):
            return text
        case Thinking(text):
            return "\n".join(f"> {line}" for line in text.splitlines())
        case ToolCall():
            return f"**{block.name}**\n\n{_fenced(_arguments(block), 'json')}"


def _markdown_result(result: ToolResult | None) -> Iterator[str]:
    if result is not None:
        yield f"{'Error' if result.is_error else 'Result'} of `{result.tool_name}`:\n\n{_fenced(result.text)}"


def _arguments(call: ToolCall) -> str:
    return call.partial_json or json.dumps(call.arguments, ensure_ascii=False)


def _fenced(text: str, language: str = "") -> str:
    """Return a code block whose fence is longer than any run of backticks inside."""
    runs: Sequence[str] = re.findall(r"`{3,}", text)
    fence = "`" * (max(map(len, runs), default=2) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
