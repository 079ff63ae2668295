"""Context breakdown as text: its sections, and a line for each message."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from cinch_tui.rendering.safe_text import one_line
from harness.context.breakdown import Breakdown, Cached, ContextSegment, Section
from harness.context.summary_text import is_summary
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
    for piece in breakdown.segments:
        if piece.section != "left out":
            kinds.update(dict(_kinds(piece)))
    zones = [(kind, kinds[kind]) for kind in KINDS if kinds[kind]]
    if gone := breakdown.tokens_in("left out"):
        zones.append(("left out of requests", gone))
    if breakdown.size:
        zones.append(("free", breakdown.free))
    if breakdown.reserve:
        zones.append(("room for the reply", breakdown.reserve))
    return zones


def _kinds(piece: ContextSegment) -> Iterator[tuple[str, int]]:
    """Yield the kinds of content in a segment with their tokens."""
    message = piece.message
    if message is None or isinstance(message, CustomMessage):
        yield NAMES[piece.section], piece.tokens
        return
    images = min(piece.tokens, IMAGE_TOKENS * sum(isinstance(block, Image) for block in message.content))
    yield "images", images
    yield _kind(message), piece.tokens - images


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


def segment_line(piece: ContextSegment) -> str:
    """Return the cache mark, the tokens, the role and the beginning of a segment."""
    tokens = f"{'' if piece.is_counted else '~'}{piece.tokens:,}"
    return f"{MARKS[piece.cached]} {tokens:>8}  {_role(piece)}"


def section_note(piece: ContextSegment) -> str:
    """Return the section of a message; empty for the middle, which most are in, and for other segments."""
    return piece.section if piece.message is not None and piece.section != "middle" else ""


def segment_text(piece: ContextSegment, before: Sequence[tuple[Section, str]]) -> str:
    """Return the full text, as the model reads it; `before` has the texts that are no messages, by section."""
    if piece.message is None:
        return next((text for zone, text in before if zone == piece.section), "")
    return "\n\n".join(_parts(piece.message))


def report(breakdown: Breakdown) -> str:
    """Return the whole breakdown as lines, for plain mode."""
    lines = [summary(breakdown), *(f"{name}: {tokens:,}" for name, tokens in section_sizes(breakdown))]
    return "\n".join([*lines, "", "One by one:", *map(_spoken_line, breakdown.segments)])


def _spoken_line(piece: ContextSegment) -> str:
    tokens = f"{piece.tokens:,} tokens" if piece.is_counted else f"about {piece.tokens:,} tokens"
    kept = {"all": ", cached", "partly": ", partly cached", "not": ""}[piece.cached]
    return f"{tokens}{kept}: {' '.join(_role(piece).split())}"


def _role(piece: ContextSegment) -> str:
    match piece.message:
        case None:
            return NAMES[piece.section]
        case AssistantMessage() as reply:
            calls = one_line(", ".join(call.name for call in reply.tool_calls))
            return f"{'reply':<9}{_start(reply.text)}{' → ' * bool(calls)}{calls}"
        case ToolResult(tool_name=name) as result:
            return f"{'result':<9}{one_line(name)}{' failed' * result.is_error}: {_start(result.text)}"
        case CustomMessage(kind=kind):
            return f"{'kept':<9}{one_line(kind)}"
        case message:
            images = sum(isinstance(block, Image) for block in message.content)
            seen = f" + {images} image{'s' * (images > 1)}" if images else ""
            role = "summary" if is_summary(message) else "reminder" if message.synthetic else "you"
            return f"{role:<9}{_start(message.text)}{seen}"


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
