"""What fills the model's window, in words: its zones, and a line for each message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from cinch_tui.rendering.harmless import harmless
from cinch_tui.transcript.plain import one_line
from harness.context.breakdown import SECTIONS, Breakdown, Cached, ContextSegment, Section
from harness.messages import AssistantMessage, CustomMessage, Image, Message, Text, Thinking, ToolCall, ToolResult

MARKS: dict[Cached, str] = {"all": "●", "partly": "◑", "not": "⌇"}
LEGEND = "● kept by the service · ◑ partly · ⌇ not · ~ estimated"
NAMES: dict[Section, str] = {
    "tools": "tools",
    "system": "system prompt",
    "instructions": "instructions",
    "start": "conversation: start",
    "middle": "conversation: middle",
    "recent": "conversation: recent",
    "left out": "left out",
}
_SHOWN = 200


def section_sizes(breakdown: Breakdown) -> list[tuple[str, int]]:
    """What each zone takes, with what is free and what is kept for the reply, where the window is known."""
    zones = [(NAMES[zone], tokens) for zone in SECTIONS if (tokens := breakdown.tokens_in(zone))]
    if gone := breakdown.tokens_in("left out"):
        zones.append(("left out of requests", gone))
    if breakdown.size:
        zones.append(("free", breakdown.free))
    if breakdown.reserve:
        zones.append(("room for the reply", breakdown.reserve))
    return zones


def summary(breakdown: Breakdown) -> str:
    """How much of the window is taken."""
    if not breakdown.size:
        return f"{breakdown.used:,} tokens"
    return f"{breakdown.used:,} of {breakdown.size:,} tokens, {share(breakdown.used, breakdown.size)}"


def share(part: int, whole: int) -> str:
    percent = 100 * part / whole if whole else 0
    return f"{percent:.0f} %" if percent >= 1 or not part else "< 1 %"


def line_of(piece: ContextSegment) -> str:
    """Its mark, how many tokens, who said it, and how it begins."""
    tokens = f"{'' if piece.is_counted else '~'}{piece.tokens:,}"
    return f"{MARKS[piece.cached]} {tokens:>8}  {_who(piece)}"


def place_of(piece: ContextSegment) -> str:
    """The zone, in a word; empty for what says it of itself, and for the many between."""
    return piece.section if piece.message is not None and piece.section != "middle" else ""


def whole_text(piece: ContextSegment, before: Sequence[tuple[Section, str]]) -> str:
    """All of it, as a model reads it. `before`: the texts of what is no message."""
    if piece.message is None:
        return next((text for zone, text in before if zone == piece.section), "")
    return "\n\n".join(_parts(piece.message))


def report(breakdown: Breakdown) -> str:
    """All of it in lines, for where there is no screen."""
    lines = [summary(breakdown), *(f"{name}: {tokens:,}" for name, tokens in section_sizes(breakdown))]
    return "\n".join([*lines, "", "One by one:", *map(_told, breakdown.segments)])


def _told(piece: ContextSegment) -> str:
    tokens = f"{piece.tokens:,} tokens" if piece.is_counted else f"about {piece.tokens:,} tokens"
    kept = {"all": ", kept by the service", "partly": ", partly kept by the service", "not": ""}[piece.cached]
    return f"{tokens}{kept}: {' '.join(_who(piece).split())}"


def _who(piece: ContextSegment) -> str:
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
            return f"{'reminder' if message.synthetic else 'you':<9}{_start(message.text)}{seen}"


def _start(text: str) -> str:
    return one_line(text[:_SHOWN])


def _parts(message: Message) -> Iterator[str]:
    for block in () if isinstance(message, CustomMessage) else message.content:
        match block:
            case Text(text):
                yield harmless(text)
            case Thinking(text):
                yield f"(thought) {harmless(text)}"
            case Image(media_type=media_type):
                yield f"(an image, {media_type})"
            case ToolCall(name=name, arguments=arguments):
                yield f"(call) {name} {harmless(json.dumps(arguments, ensure_ascii=False, indent=2))}"
