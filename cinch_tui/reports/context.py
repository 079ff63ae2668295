"""Context breakdown as text: its sections, and a line for each message."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from cinch_tui.rendering.safe_text import one_line
from harness.context.attachments import is_attached
from harness.context.breakdown import Breakdown, Cached, ContextSegment, Section
from harness.context.call_description import main_argument
from harness.context.summary_text import is_summary, parse_summary
from harness.context.tokens import IMAGE_TOKENS
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from harness.terminal_text import escape_controls

MARKS: dict[Cached, str] = {"all": "●", "partly": "◑", "not": "⌇"}
LEGEND = "● cached · ◑ partly · ⌇ not cached · ~ estimated"
NAMES: dict[Section, str] = {
    "tools": "tools",
    "system": "system prompt",
    "instructions": "instructions",
}
KINDS = (
    "tools",
    "system prompt",
    "instructions",
    "summaries",
    "reminders",
    "files",
    "other results",
    "images",
    "chat",
)
"""Kinds of content, in the order in which they are listed."""
_MAX_CHARS = 200


def section_sizes(breakdown: Breakdown) -> list[tuple[str, int]]:
    """Return the tokens of each kind of content and, if the window is known, of what is free and reserved."""
    kinds: Counter[str] = Counter()
    for segment in breakdown.segments:
        if segment.section != "left out":
            for kind, tokens in _kinds(segment):
                kinds[kind] += tokens
    servers = [kind for kind in kinds if kind not in KINDS]
    sizes = [(kind, kinds[kind]) for kind in (KINDS[0], *servers, *KINDS[1:]) if kinds[kind]]
    if gone := breakdown.tokens_in("left out"):
        sizes.append(("left out of requests", gone))
    if breakdown.size:
        sizes.append(("free", breakdown.free))
    if breakdown.reserve:
        sizes.append(("room for the reply", breakdown.reserve))
    return sizes


def _kinds(segment: ContextSegment) -> Iterator[tuple[str, int]]:
    """Yield the kinds of content in a segment with their tokens."""
    message = segment.message
    if message is None or isinstance(message, CustomMessage):
        yield _part(segment), segment.tokens
        return
    images = min(segment.tokens, IMAGE_TOKENS * sum(isinstance(block, Image) for block in message.content))
    yield "images", images
    files = round((segment.tokens - images) * _attached_share(message))
    yield "files", files
    yield _kind(message), segment.tokens - images - files


def _attached_share(message: Message) -> float:
    """Return the share of attached files in the text of a prompt."""
    if not isinstance(message, UserMessage) or not any(map(is_attached, message.content)):
        return 0.0
    texts = [block for block in message.content if isinstance(block, Text)]
    return sum(len(each.text) for each in texts if is_attached(each)) / sum(len(each.text) for each in texts)


def _part(segment: ContextSegment) -> str:
    """Return the name of a part before the messages."""
    return f"MCP {one_line(segment.server)}" if segment.server else NAMES[segment.section]


def _kind(message: Message) -> str:
    match message:
        case ToolResult(tool_name="read_file"):
            return "files"
        case ToolResult():
            return "other results"
        case UserMessage(synthetic=True):
            return "summaries" if is_summary(message) else "reminders"
        case _:
            return "chat"


def summary(breakdown: Breakdown) -> str:
    """Return how much of the context window is used."""
    if not breakdown.size:
        return f"{breakdown.used:,} tokens"
    return f"{breakdown.used:,} of {breakdown.size:,} tokens, {share(breakdown.used, breakdown.size)}"


def share(part: int, whole: int) -> str:
    percent = 100 * part / whole if whole else 0
    return f"{percent:.0f} %" if percent >= 1 or not part else "< 1 %"


def subjects_of(messages: Iterable[Message | None]) -> dict[str, str]:
    """Return what each call is about, such as a path or a command, by the id of the call."""
    replies = (each for each in messages if isinstance(each, AssistantMessage))
    return {call.id: main_argument(call) for reply in replies for call in reply.tool_calls}


def segment_line(segment: ContextSegment, subjects: Mapping[str, str]) -> str:
    """Return the cache mark, the tokens, the role and the beginning of a segment."""
    tokens = f"{'' if segment.is_counted else '~'}{segment.tokens:,}"
    return f"{MARKS[segment.cached]} {tokens:>8}  {_role(segment, subjects)}"


def section_note(segment: ContextSegment) -> str:
    """Return the section of a message; empty for messages that summaries may replace, and for other segments."""
    return segment.section if segment.message is not None and segment.section != "older" else ""


def segment_text(segment: ContextSegment, before: Mapping[tuple[str, str], str]) -> str:
    """Return the full text, as the model reads it; `before` has the texts that are no messages, by section and MCP
    server."""
    if segment.message is None:
        return before.get((segment.section, segment.server), "")
    return "\n\n".join(_parts(segment.message))


def report(breakdown: Breakdown, numbers: Mapping[str, int], mark: Callable[[Message], str]) -> str:
    """Return the whole breakdown as lines, for plain mode.

    Args:
        breakdown: The context.
        numbers: Numbers by which commands name messages, by their ids.
        mark: Returns how the context differs from the history at a message.
    """
    subjects, lines = subjects_of(each.message for each in breakdown.segments), [summary(breakdown)]
    lines += [f"{name}: {tokens:,}" for name, tokens in section_sizes(breakdown)]
    lines += ["", "One by one:"]
    for segment in breakdown.segments:
        message = segment.message
        number = numbers.get(message.id) if message else None
        change = mark(message) if message and number else ""
        start = f"{number}. " if number else ""
        lines.append(f"{start}{f'{change}, ' if change else ''}{_spoken_line(segment, subjects)}")
    return "\n".join(lines)


def _spoken_line(segment: ContextSegment, subjects: Mapping[str, str]) -> str:
    tokens = f"{segment.tokens:,} tokens" if segment.is_counted else f"about {segment.tokens:,} tokens"
    kept = {"all": ", cached", "partly": ", partly cached", "not": ""}[segment.cached]
    missing = ", left out of requests" if segment.section == "left out" else ""
    return f"{tokens}{kept}{missing}: {' '.join(_role(segment, subjects).split())}"


def message_title(message: Message, subjects: Mapping[str, str]) -> str:
    """Return the role and the beginning of a message on one line."""
    return " ".join(_role(ContextSegment("older", 0, message=message), subjects).split())


def _role(segment: ContextSegment, subjects: Mapping[str, str]) -> str:
    match segment.message:
        case None:
            return _part(segment)
        case AssistantMessage() as reply:
            calls = one_line(", ".join(call.name for call in reply.tool_calls))
            return f"{'reply':<9}{_start(reply.text)}{' → ' * bool(calls)}{calls}"
        case ToolResult() as result:
            return f"{'result':<9}{_result_start(result, subjects.get(result.call_id, ''))}"
        case CustomMessage(kind=kind):
            return f"{'kept':<9}{one_line(kind)}"
        case message:
            images = sum(isinstance(block, Image) for block in message.content)
            seen = f" + {images} image{'s' * (images > 1)}" if images else ""
            if is_summary(message):
                # A truncated summary may have lost the beginning of its prose.
                return f"{'summary':<9}{_start(parse_summary(message.text).prose or message.text)}"
            return f"{'reminder' if message.synthetic else 'you':<9}{_start(message.text)}{seen}"


def _result_start(result: ToolResult, subject: str) -> str:
    """Return the tool, what its call is about, and the beginning of the output; a stub says both itself."""
    failed = " failed" * result.is_error
    if f"({subject})" in result.text[:_MAX_CHARS]:
        return f"{_start(result.text)}{failed}"
    about = f"({one_line(subject)})" if subject else ""
    return f"{one_line(result.tool_name)}{about}{failed}: {_start(result.text)}"


def _start(text: str) -> str:
    return one_line(text[:_MAX_CHARS])


def _parts(message: Message) -> Iterator[str]:
    for block in () if isinstance(message, CustomMessage) else message.content:
        match block:
            case Text(text):
                yield escape_controls(text)
            case Thinking(text):
                yield f"(thought) {escape_controls(text)}"
            case Image(media_type=media_type):
                yield f"(an image, {media_type})"
            case ToolCall(name=name, arguments=arguments):
                yield f"(call) {name} {escape_controls(json.dumps(arguments, ensure_ascii=False, indent=2))}"
