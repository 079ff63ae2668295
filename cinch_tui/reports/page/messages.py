"""Messages as HTML: prompts, replies, and each tool call folded with its result."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from cinch_tui.reports.citations import sources_markdown, sources_of
from cinch_tui.reports.formatting import format_cost
from cinch_tui.reports.page.markup import (
    argument_diff,
    code,
    image,
    json_code,
    markdown,
    note_of,
    plain,
    text,
    view_of,
)
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    JsonValue,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserContent,
    UserMessage,
)
from harness.session.formats.subagents import SubagentConversation
from harness.views import DiffView, TerminalView

_SUMMARY_CHARS = 120
_NAMING = ("command", "pattern", "query", "url", "file_path", "path", "description", "prompt", "task")
_LONGEST_OPEN_DIFF = 80
"""Maximum number of lines of a change that is shown unfolded."""


class Conversation(Struct):
    """The messages of one conversation and what their display refers to."""

    messages: Sequence[Message]
    """The messages."""
    name: str = "m"
    """Start of the ids of its elements."""
    subagents: Mapping[str, SubagentConversation] = {}
    """Conversations of subagents, by call id."""
    marks: Mapping[int, list[str]] = {}
    """HTML to show after the message of an index."""
    highlights_files: bool = True
    """True to colour the code of files in results."""

    def html(self) -> Iterator[str]:
        """Yield the conversation; a result is shown with its call."""
        results = {message.call_id: message for message in self.messages if isinstance(message, ToolResult)}
        called: set[str] = set()
        for index, message in enumerate(self.messages):
            if isinstance(message, AssistantMessage):
                called.update(call.id for call in message.tool_calls)
            if not isinstance(message, ToolResult) or message.call_id not in called:
                yield from self._message(index, message, results)
            yield from self.marks.get(index, ())

    def _message(self, index: int, message: Message, results: Mapping[str, ToolResult]) -> Iterator[str]:
        anchor = f"{self.name}{index + 1}"
        match message:
            case UserMessage(synthetic=True):
                yield _article(anchor, "note-message", message, "Note to the model", _folded("Text", _user(message)))
            case UserMessage():
                yield _article(anchor, "user", message, "You", _user(message))
            case AssistantMessage():
                body = "".join(self._reply(message, results, anchor))
                yield _article(anchor, "assistant", message, _reply_title(message), body)
            case ToolResult():
                body = "".join(self._result(message))
                yield _article(anchor, "tool", message, f"Result of {text(message.tool_name)}", body)
            case CustomMessage(kind, data):
                body = _folded("Data", json_code(data))
                yield _article(anchor, "custom", message, f"Message of the application: {text(kind)}", body)

    def _reply(self, message: AssistantMessage, results: Mapping[str, ToolResult], anchor: str) -> Iterator[str]:
        for place, block in enumerate(message.content):
            match block:
                case Text(value):
                    yield markdown(value)
                case Thinking(value, redacted=redacted):
                    yield _folded("Thinking", markdown(value) if value else note_of("encrypted" if redacted else ""))
                case ToolCall():
                    yield self._call(block, results.get(block.id), f"{anchor}-{place}")
        if sources := sources_of(message.content):
            yield markdown(sources_markdown(sources))
        if message.error:
            yield f'<p class="error">{text(message.error)}</p>\n'

    def _result(self, result: ToolResult) -> Iterator[str]:
        view = result.view
        if view is not None and not result.is_error:
            yield view_of(view, highlights_files=self.highlights_files)
            yield from (image(block) for block in result.content if isinstance(block, Image))
        else:
            yield from _content(result.content, "output bad" if result.is_error else "output")

    def _call(self, call: ToolCall, result: ToolResult | None, anchor: str) -> str:
        state, label = (
            ("none", "no result") if result is None else ("bad", "error") if result.is_error else ("good", "")
        )
        change = argument_diff(call.arguments)
        shown = "".join(self._result(result)) if result else ""
        body = change + (_arguments(call) if not change and not _is_self_explanatory(result) else "") + shown
        if subagent := self.subagents.get(call.id):
            body += "".join(subagent_html(subagent, anchor))
        is_open = 'class="diff"' in body and body.count("\n") <= _LONGEST_OPEN_DIFF
        line = f"<code>{text(line)}</code> " if (line := _summary_of(call)) else ""
        summary = f"<b>{text(call.name)}</b> {line}<i>{label}</i>"
        start = f'<details class="call {state}"{" open" if is_open else ""}>'
        return f"{start}<summary>{summary}</summary>\n{body}</details>\n"


def subagent_html(subagent: SubagentConversation, anchor: str) -> Iterator[str]:
    """Yield the conversation of a subagent, folded."""
    yield f'<details class="subagent"><summary>Subagent: {len(subagent.messages)} messages</summary>\n'
    yield from Conversation(subagent.messages, f"{anchor}-s").html()
    yield "</details>\n"


def time_element(time: float) -> str:
    """Return a time in UTC as an element; empty if it is unknown."""
    if time <= 0:
        return ""
    moment = datetime.fromtimestamp(time, UTC)
    return f'<time datetime="{moment.isoformat(timespec="seconds")}">{moment:%Y-%m-%d %H:%M:%S} UTC</time>'


def _article(anchor: str, kind: str, message: Message, title: str, body: str) -> str:
    link = f'<a class="anchor" href="#{anchor}">#</a>'
    header = f"<header><h2>{title}</h2>{time_element(message.time)}{link}</header>\n"
    return f'<article class="{kind}" id="{anchor}">{header}{body}</article>\n'


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n{body}</details>\n" if body else ""


def _user(message: UserMessage) -> str:
    return "".join(_content(message.content, "prompt"))


def _content(content: Iterable[UserContent], kind: str) -> Iterator[str]:
    for block in content:
        yield image(block) if isinstance(block, Image) else plain(block.text, kind)


def _reply_title(message: AssistantMessage) -> str:
    usage = message.usage
    counts = f"{usage.context - usage.output:,} in, {usage.output:,} out" if usage.context else ""
    cost = format_cost(usage.cost.total) if usage.cost else ""
    return " · ".join(filter(None, (text(message.model) or "Assistant", counts, cost)))


def _is_self_explanatory(result: ToolResult | None) -> bool:
    """Return True if the display of a result contains the arguments of its call."""
    return result is not None and not result.is_error and isinstance(result.view, DiffView | TerminalView)


def _arguments(call: ToolCall) -> str:
    return code(call.partial_json, "json") if call.partial_json else json_code(call.arguments) if call.arguments else ""


def _summary_of(call: ToolCall) -> str:
    """Return one line that identifies a call."""
    named = (call.arguments.get(name) for name in _NAMING)
    texts = (_one_text(value) for value in itertools.chain(named, call.arguments.values()))
    found = next((value for value in texts if value), "")
    line = " ".join(found[: 4 * _SUMMARY_CHARS].split())
    return line if len(line) <= _SUMMARY_CHARS else f"{line[:_SUMMARY_CHARS]}…"


def _one_text(value: JsonValue) -> str:
    """Return a text, or the words of a command; empty for other values."""
    if isinstance(value, list):
        return " ".join(word for word in value if isinstance(word, str))
    return value if isinstance(value, str) else ""
