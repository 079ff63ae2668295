"""Session as plain text and Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from harness.context.citations import sources_markdown, sources_of, sources_text
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
    for message in session.messages:
        yield from (f"{strip_escapes(part)}\n" for part in _plain_parts(message))


def as_markdown(session: LoadedSession) -> Iterator[str]:
    """Yield the conversation as Markdown, with tool calls and results in code blocks."""
    yield f"# {heading(session)}\n\n"
    yield f"{local_time(session.created)} · `{session.cwd}` · {session.model_name or 'unknown model'}\n"
    for message in session.messages:
        yield from (f"\n{part}\n" for part in _markdown_parts(message))


def _plain_parts(message: Message) -> Iterator[str]:
    match message:
        case UserMessage(synthetic=False):
            yield f"\n> {message.text}"
        case AssistantMessage():
            yield from (_plain_block(block) for block in message.content if isinstance(block, Text | ToolCall))
            if sources := sources_of(message.content):
                yield f"\n{sources_text(sources)}"
            if message.error:
                yield f"\n! {message.error}"
        case ToolResult():
            lines = message.text.splitlines()
            yield from (f"    {line}" for line in lines[:_RESULT_LINES])
            if len(lines) > _RESULT_LINES:
                yield f"    … {len(lines) - _RESULT_LINES} more lines"
        case _:
            pass


def _plain_block(block: Text | ToolCall) -> str:
    if isinstance(block, Text):
        return f"\n{block.text}"
    return f"\n* {block.name} {_arguments(block)}"


def _markdown_parts(message: Message) -> Iterator[str]:
    match message:
        case UserMessage(synthetic=False):
            yield f"## You\n\n{message.text}"
        case AssistantMessage():
            yield "## Assistant"
            yield from (_markdown_block(block) for block in message.content)
            if sources := sources_of(message.content):
                yield sources_markdown(sources)
            if message.error:
                yield f"**Failed:** {message.error}"
        case ToolResult():
            word = "Error" if message.is_error else "Result"
            yield f"{word} of `{message.tool_name}`:\n\n{_fenced(message.text)}"
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


def _arguments(call: ToolCall) -> str:
    return call.partial_json or json.dumps(call.arguments, ensure_ascii=False)


def _fenced(text: str, language: str = "") -> str:
    """Return a code block whose fence is longer than any run of backticks inside."""
    runs: Sequence[str] = re.findall(r"`{3,}", text)
    fence = "`" * (max(map(len, runs), default=2) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
