"""Prompt cache with the rules of services with explicit cache markers, and the blocks of requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LOOK_BACK = 20
MARK = "cache_control"


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a prompt, and the lifetime of its cache marker, if any."""

    text: str
    lifetime: str = ""


class PromptCache:
    """Cache that keeps the prompt up to each marker and looks back a limited number of blocks for a hit."""

    def __init__(self) -> None:
        self._kept: set[str] = set()

    def read(self, blocks: Sequence[Block]) -> int:
        """Return the number of cached blocks; marked ones are stored."""
        marks = [place for place, block in enumerate(blocks, 1) if block.lifetime]
        looked_at = {place for mark in marks for place in range(mark, max(0, mark - LOOK_BACK), -1)}
        found = max((place for place in looked_at if _prefix(blocks, place) in self._kept), default=0)
        self._kept.update(_prefix(blocks, mark) for mark in marks)
        return found


def last_mark(blocks: Sequence[Block]) -> int:
    return max((place for place, block in enumerate(blocks, 1) if block.lifetime), default=0)


def blocks_of(protocol: str, body: Mapping[str, Any]) -> list[Block]:
    """Return the prompt of a request in caching order: tools, system prompt, messages."""
    return [*READERS[protocol](body)]


def _prefix(blocks: Sequence[Block], place: int) -> str:
    return json.dumps([block.text for block in blocks[:place]])


def _anthropic(body: Mapping[str, Any]) -> Iterator[Block]:
    yield from map(_marked, (*body.get("tools", ()), *body.get("system", ())))
    for message in body["messages"]:
        yield from map(_marked, message["content"])


def _chat(body: Mapping[str, Any]) -> Iterator[Block]:
    yield from map(_marked, body.get("tools", ()))
    for message in body["messages"]:
        content = message.get("content") or ()
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield from map(_marked, (*parts, *message.get("tool_calls", ())))


def _bedrock(body: Mapping[str, Any]) -> Iterator[Block]:
    pieces = [*body.get("toolConfig", {}).get("tools", ()), *body.get("system", ())]
    for message in body["messages"]:
        pieces.extend(message["content"])
    for piece, following in zip(pieces, [*pieces[1:], {}], strict=True):
        if "cachePoint" not in piece:
            point = following.get("cachePoint")
            yield Block(json.dumps(piece), point.get("ttl", "5m") if point else "")


def _marked(piece: Mapping[str, Any]) -> Block:
    text = json.dumps({name: value for name, value in piece.items() if name != MARK})
    return Block(text, piece[MARK].get("ttl", "5m") if MARK in piece else "")


READERS = {"anthropic": _anthropic, "chat": _chat, "bedrock": _bedrock}
