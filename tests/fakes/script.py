"""Scripted answers of a fake model server: one frozen value per request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from harness.messages import JsonObject, Usage

Arguments: TypeAlias = "JsonObject | str"


class Reply(Struct, frozen=True):
    """A reply that streams: thinking, then text, then calls.

    A call is `(tool name, arguments)`; string arguments are sent verbatim, so they may be broken JSON.
    `stop` is `stop`, `length`, `tool_use` or any value of the wire itself. `chunk_size` splits the stream into chunks
    of that many bytes (0: one chunk per event), `pause_s` waits after each chunk.
    """

    text: str = ""
    thinking: str = ""
    signature: str = "c2lnbmF0dXJl"
    calls: Sequence[tuple[str, Arguments]] = ()
    stop: str | None = None
    usage: Usage | None = None
    chunk_size: int = 0
    pause_s: float = 0.0


class Failure(Struct, frozen=True):
    """An HTTP error. A mapping as body is sent as JSON; an empty body gets the vendor's usual shape."""

    status: int
    body: Mapping[str, Any] | str = ""
    headers: Mapping[str, str] = {}


class Cut(Struct, frozen=True):
    """A reply that ends early after some events or bytes.

    `clean` ends the HTTP body properly; otherwise the socket is closed.
    """

    reply: Reply
    after_events: int | None = None
    after_bytes: int | None = None
    clean: bool = False


class Raw(Struct, frozen=True):
    """These bytes verbatim as the body of a 200, as one event stream."""

    body: bytes
    chunk_size: int = 0
    content_type: str = "text/event-stream"


class Hang(Struct, frozen=True):
    """Headers and `after_events` events of the reply, then silence until either side disconnects."""

    reply: Reply = Reply()
    after_events: int = 0


Item: TypeAlias = Reply | Failure | Cut | Raw | Hang
Script: TypeAlias = Sequence[Item] | Callable[[dict[str, Any]], Item]

ITEMS: dict[str, type[Item]] = {"reply": Reply, "failure": Failure, "cut": Cut, "raw": Raw, "hang": Hang}


def item_from_json(data: Mapping[str, Any]) -> Item:
    """Return an item from its JSON form: its `type` (default `reply`) and its fields."""
    fields = dict(data)
    kind = ITEMS[fields.pop("type", "reply")]
    if "reply" in fields:
        fields["reply"] = item_from_json(fields["reply"])
    if "usage" in fields:
        fields["usage"] = Usage(**fields["usage"])
    if "calls" in fields:
        fields["calls"] = [(name, arguments) for name, arguments in fields["calls"]]
    if isinstance(fields.get("body"), str) and kind is Raw:
        fields["body"] = fields["body"].encode()
    return kind(**fields)


def tokens(text: str) -> list[str]:
    """Return the text in the pieces a model would stream: words with the preceding space."""
    return re.findall(r"\s*\S{1,12}|\s+$", text)


def pieces(text: str, size: int = 12) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def usage_of(reply: Reply) -> Usage:
    return reply.usage or Usage(input=100, output=len(tokens(reply.thinking + reply.text)) + 20 * len(reply.calls))
