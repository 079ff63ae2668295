"""recall: searches the complete history of the conversation and returns messages in full."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from typing import Annotated

from msgspec import Meta, Struct

from harness.messages import AssistantMessage, Image, JsonObject, Message, Text, ToolCall, ToolResult, UserMessage
from harness.ports.tool import ToolContext, ToolOutput
from harness.terminal_text import strip_escapes
from harness.views import ListingView, TextView
from tools.typed import Parameters, TypedTool

MAX_HITS = 10
EXCERPT_CHARS = 300
PAGE_CHARS = 20_000
ID_CHARS = 8
MIN_ID_CHARS = 4
SATURATION = 1.2
USER_WEIGHT = 1.5

_TERM = re.compile(r'"([^"]+)"|(\S+)')


class RecallArguments(Parameters):
    query: Annotated[str, Meta(description="Words to search for; a phrase in double quotes.")] = ""
    id: Annotated[str, Meta(description="Message to return in full, from a hit or a note in this conversation.")] = ""
    offset: Annotated[int, Meta(ge=0, description="With id: character to start at.")] = 0

    def __post_init__(self) -> None:
        if bool(self.query.strip()) == bool(self.id.strip()):
            raise ValueError("give either `query` or `id`")


class RecallTool(TypedTool[RecallArguments]):
    name = "recall"
    label = "Recall"
    risk_level = "none"
    Arguments = RecallArguments

    def summary(self, arguments: JsonObject) -> str:
        return next((str(arguments[key]) for key in ("query", "id") if arguments.get(key)), "")

    async def execute(self, arguments: RecallArguments, context: ToolContext) -> ToolOutput:
        if context.conversation is None:
            return ToolOutput.failure("This agent has no conversation to search.")
        entries = _entries(await context.conversation.history())
        if arguments.id:
            return _full_text(entries, arguments, context.output_limit(PAGE_CHARS))
        hits = await asyncio.to_thread(_search, entries, arguments.query)
        return _hits(hits, arguments.query)


class _Entry(Struct, frozen=True):
    """A message as text."""

    message: Message
    number: int
    kind: str
    text: str

    @property
    def title(self) -> str:
        return f"[{self.message.id[:ID_CHARS]}] message {self.number}, {self.kind}"


def _entries(messages: Sequence[Message]) -> list[_Entry]:
    """Return the messages that models see, without the searches themselves."""
    calls: dict[str, ToolCall] = {}
    entries: list[_Entry] = []
    for number, message in enumerate(messages, 1):
        match message:
            case UserMessage():
                kind = "note of the program" if message.synthetic else "user"
                entries.append(_Entry(message, number, kind, _text(message.content)))
            case AssistantMessage():
                calls.update((call.id, call) for call in message.tool_calls)
                entries.append(_Entry(message, number, "agent", _reply_text(message)))
            case ToolResult() if message.tool_name != RecallTool.name:
                call = calls.get(message.call_id)
                kind = f"result of {_call_text(call) if call else message.tool_name}"
                entries.append(_Entry(message, number, " ".join(kind.split())[:120], _text(message.content)))
            case _:
                continue
    return entries


def _reply_text(message: AssistantMessage) -> str:
    calls = (_call_text(call) for call in message.tool_calls if call.name != RecallTool.name)
    return "\n".join(part for part in (message.text.strip(), *calls) if part)


def _call_text(call: ToolCall) -> str:
    return f"{call.name}({call.partial_json or json.dumps(call.arguments, ensure_ascii=False)})"


def _text(content: Sequence[object]) -> str:
    return "\n".join(block.text if isinstance(block, Text) else "[image]" for block in content)


class _Hit(Struct, frozen=True):
    entry: _Entry
    score: float
    terms: tuple[str, ...]


def _search(entries: Sequence[_Entry], query: str) -> list[_Hit]:
    """Return the messages that contain a word of the query, best first: rare words count more, then newer messages."""
    terms = tuple(dict.fromkeys((found[1] or found[2]).casefold() for found in _TERM.finditer(query)))
    counts = [_counts(entry.text.casefold(), terms) for entry in entries]
    known = Counter(term for each in counts for term in each)
    weights = {term: log(1 + len(entries) / known[term]) for term in known}
    hits = [
        _Hit(entry, _score(found, weights) * (USER_WEIGHT if entry.kind == "user" else 1.0), tuple(found))
        for entry, found in zip(entries, counts, strict=True)
        if found
    ]
    return sorted(hits, key=lambda hit: (-hit.score, -hit.entry.number))


def _counts(text: str, terms: Sequence[str]) -> dict[str, int]:
    return {term: count for term in terms if (count := text.count(term))}


def _score(counts: dict[str, int], weights: dict[str, float]) -> float:
    return sum(weights[term] * count / (count + SATURATION) for term, count in counts.items())


def _hits(hits: Sequence[_Hit], query: str) -> ToolOutput:
    if not hits:
        return ToolOutput.text(
            f"No message of this conversation contains any of these words: {query}. Try other words.",
            view=ListingView(strip_escapes(query), (), 0),
        )
    shown = [f"{hit.entry.title}\n  {_excerpt(hit)}" for hit in hits[:MAX_HITS]]
    more = f" The {MAX_HITS} best of {len(hits)} are shown." if len(hits) > MAX_HITS else ""
    footer = f"[{min(len(hits), MAX_HITS)} hits.{more} recall(id=…) returns a message in full.]"
    titles = tuple(strip_escapes(hit.entry.title) for hit in hits[:MAX_HITS])
    return ToolOutput.text("\n".join([*shown, footer]), view=ListingView(strip_escapes(query), titles, len(hits)))


def _excerpt(hit: _Hit) -> str:
    """Return the part of a message with the most words of the query, on one line."""
    text = hit.entry.text
    folded = text.casefold()
    places = sorted(_places(folded, hit.terms))
    best = max(places, key=lambda place: len({term for at, term in places if 0 <= at - place[0] < EXCERPT_CHARS}))[0]
    start = max(0, best - EXCERPT_CHARS // 3)
    part = " ".join(text[start : start + EXCERPT_CHARS].split())
    return f"{'…' if start else ''}{part}{'…' if start + EXCERPT_CHARS < len(text) else ''}"


def _places(text: str, terms: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the first places of each word."""
    for term in terms:
        at, count = text.find(term), 0
        while at >= 0 and count < MAX_HITS:
            yield at, term
            at, count = text.find(term, at + len(term)), count + 1


def _full_text(entries: Sequence[_Entry], arguments: RecallArguments, room: int) -> ToolOutput:
    wanted = arguments.id.strip().strip("[]")
    found = [each for each in entries if _is_result_of(each.message, wanted)]
    found = found or [each for each in entries if _is_called(each.message, wanted)]
    if not found:
        return ToolOutput.failure(f"This conversation has no message {wanted!r}. Search for it with `query`.")
    if len(found) > 1:
        titles = "\n".join(f"{each.message.id} message {each.number}, {each.kind}" for each in found[:MAX_HITS])
        return ToolOutput.failure(f"{wanted!r} is a part of several ids:\n{titles}")
    return _page(found[0], arguments.offset, room)


def _is_result_of(message: Message, call_id: str) -> bool:
    return isinstance(message, ToolResult) and message.call_id == call_id


def _is_called(message: Message, wanted: str) -> bool:
    """Return True if the message has an id with this beginning, or the result of a call has one with this end."""
    if len(wanted) < MIN_ID_CHARS:
        return False
    return message.id.startswith(wanted) or (isinstance(message, ToolResult) and message.call_id.endswith(wanted))


def _page(entry: _Entry, offset: int, room: int) -> ToolOutput:
    text, total = entry.text, len(entry.text)
    if offset and offset >= total:
        return ToolOutput.failure(f"The message has {total:,} characters; offset {offset:,} is past its end.")
    end = min(total, offset + room)
    rest = f" Continue with offset={end}." if end < total else ""
    part = f" Characters {offset:,}–{end:,} of {total:,}.{rest}" if offset or rest else ""
    shown = f"{entry.title}.{part}\n{text[offset:end]}"
    images = [block for block in _content(entry.message) if isinstance(block, Image)] if not offset else []
    view = TextView(strip_escapes(text[offset:end]))
    return ToolOutput((Text(shown), *images), view=view)


def _content(message: Message) -> tuple[object, ...]:
    return message.content if isinstance(message, UserMessage | ToolResult) else ()
