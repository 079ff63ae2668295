"""Decoder of proxy events; pure.

The proxy omits the partial message that other protocols repeat in each event; it is rebuilt here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart, Delta, Done
from harness.errors import (
    AuthenticationFailed,
    ContextWindowOverflow,
    ModelNotFound,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
    QuotaExhausted,
    RequestRejected,
    StreamError,
)
from harness.messages import Cost, StopReason, Usage
from providers.endpoint import Endpoint
from providers.net.http_errors import OVERFLOW, plain
from providers.net.stream import ReplyDecoder
from providers.wire.blocks import new_call_id
from providers.wire.citations import citation, objects, placed

BLOCKS: Mapping[str, BlockKind] = {"text": "text", "thinking": "thinking", "tool_call": "tool_call"}
STOPS: Mapping[str, StopReason] = {"length": "length", "tool_use": "tool_use", "pause": "pause"}
COUNTED = ("input", "output", "cache_read", "cache_write")
CITED = ("url", "title", "quote", "start", "end")
FILTERED = "content_filtered"
"""An error that is a refusal of the model, not a failure of the request."""
ERRORS: Mapping[str, type[ProviderError]] = {
    "throttled": ModelThrottled,
    "context_window_exceeded": ContextWindowOverflow,
    "auth": AuthenticationFailed,
    "network": NetworkError,
    "quota": QuotaExhausted,
    "overloaded": ModelOverloaded,
    "model_not_found": ModelNotFound,
    "rejected": RequestRejected,
}
# For a proxy that sends no error kind: patterns in its message.
PATTERNS: Mapping[str, str] = {
    "context_window_exceeded": rf"context window|{OVERFLOW}",
    "throttled": r"\b429\b|rate.?limit|throttl|too many requests",
    "overloaded": r"\b(503|529)\b|overloaded",
    "auth": r"\b40[13]\b|unauthori[sz]ed|authenticat|api key",
    "network": r"network|connection|timed? ?out|\b5\d\d\b",
}


class ProxyEvent(TypedDict):
    """One event: `start`, `<block>_start`, `<block>_delta`, `<block>_end`, `done` or `error`.

    Each has only some of these fields; those required where they belong are marked as required here.
    """

    type: str
    content_index: int
    delta: str
    id: NotRequired[str]
    name: str
    signature: NotRequired[str | None]
    stop_reason: str
    usage: NotRequired[dict[str, int] | None]
    cost: NotRequired[dict[str, float] | None]
    error_message: str
    # Extensions: encrypted thinking, citations, and the kind of an error.
    redacted: NotRequired[str | None]
    citations: NotRequired[list[dict[str, Any]] | None]
    response_id: NotRequired[str | None]
    error_kind: NotRequired[str | None]
    retry_after: NotRequired[float | None]


class ProxyDecoder(ReplyDecoder):
    """Decodes one reply. Blocks that are still open at the end are closed."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._open: dict[int, BlockKind] = {}
        self._done: Done | None = None

    @property
    def is_complete(self) -> bool:
        return self._done is not None

    def take(self, event: ProxyEvent) -> Sequence[Delta]:
        """Return the deltas of one event.

        Raises:
            ProviderError: The event is an error.
            ValueError, KeyError, TypeError: It does not belong to this protocol.
        """
        kind = event["type"]
        if kind in ("done", "error"):
            self._done = _done(event) if kind == "done" else self._failed(event)
            self.is_over = True
        elif kind != "start":
            block, _, step = kind.rpartition("_")
            return (self._step(BLOCKS[block], step, event),)
        return ()

    def finish(self) -> Sequence[Delta]:
        return (*(BlockEnd(index) for index in self._open), self._done or Done("error"))

    def _step(self, kind: BlockKind, step: str, event: ProxyEvent) -> Delta:
        index = event["content_index"]
        if step == "start":
            self._open[index] = kind
            if kind != "tool_call":
                return BlockStart(index, kind)
            return BlockStart(index, kind, event.get("id") or new_call_id(), event["name"])
        if self._open[index] != kind:
            raise ValueError(f"block {index} is not a {kind} block")
        match step:
            case "delta":
                return BlockDelta(index, event["delta"])
            case "end":
                del self._open[index]
                cited = placed(citation(*map(raw.get, CITED)) for raw in objects(event.get("citations")))
                return BlockEnd(index, event.get("signature"), event.get("redacted"), cited)
            case _:
                raise ValueError(f"unknown event {kind}_{step}")

    def _failed(self, event: ProxyEvent) -> Done:
        message = plain(self._endpoint.hide_key(event["error_message"])) or "no reason given"
        by_message = (kind for kind, pattern in PATTERNS.items() if re.search(pattern, message.lower()))
        kind = event.get("error_kind") or next(by_message, "")
        if kind == FILTERED:
            return Done("error", _usage(event.get("usage"), event.get("cost")), error=message)
        raise ERRORS.get(kind, StreamError)(
            f"{self._endpoint.preset.label}: {message}", retry_after=event.get("retry_after")
        )


def _done(event: ProxyEvent) -> Done:
    reason = event["stop_reason"]
    usage, response = _usage(event.get("usage"), event.get("cost")), event.get("response_id") or ""
    if reason in ("error", "aborted"):
        return Done("error", usage, response, "the proxy stopped the reply")
    return Done(STOPS.get(reason, "stop"), usage, response)


def _usage(counts: dict[str, int] | None, cost: dict[str, float] | None) -> Usage:
    tokens, paid = counts or {}, cost or {}
    dollars = Cost(*(paid.get(name) or 0.0 for name in COUNTED))
    # A proxy without prices sends zeros.
    return Usage(*(tokens.get(name) or 0 for name in COUNTED), cost=dollars if dollars.total else None)
