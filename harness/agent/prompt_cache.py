"""Prompt cache of the service: misses that cost money, and their likely cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from harness.messages import AssistantMessage, Message, ModelMessage, Usage, UserMessage
from harness.ports.provider import CacheStrategy, Price, Request, ToolSpec

LIFETIMES_S = {"5m": 300.0, "1h": 3600.0}
LEAST_TOKENS = 5_000
"""Smallest number of tokens that counts as a miss; services do not cache short requests, and some cache in steps."""
UNKNOWN_CAUSE = "nothing changed here; the service did not keep it"
_ANNOUNCED = ("(eviction)", "(compaction)")
"""Ends of the causes that events of their own have announced."""


class CacheMiss(Struct, frozen=True):
    """Input that the cache should have held, and that was read at full price."""

    tokens: int
    """Number of tokens."""
    cause: str
    """Likely cause."""


class _Sent(Struct, frozen=True):
    """A request as far as it determines the next one, and its usage."""

    model: str
    time: float
    usage: Usage
    system: str = ""
    tools: Sequence[ToolSpec] | Mapping[str, str] = ()
    """Declared tools, or their hashes by name in a resumed session."""
    messages: Sequence[ModelMessage] | None = None
    """Context; None in a resumed session, where it is not known."""
    thinking: str = ""


class CacheMonitor:
    """Compares the requests of a session in order to explain cache misses."""

    def __init__(self) -> None:
        self._session_id = ""
        self._last: _Sent | None = None
        self._last_cause = ""
        self._causes: dict[str, str] = {}

    def _reset(self) -> None:
        self._last, self._last_cause = None, ""
        self._causes.clear()

    def restore(self, session_id: str, system: str, tools: Mapping[str, str], messages: Sequence[Message]) -> None:
        """Continue after the last request of a session: its system prompt, hashes of its tools, and its messages."""
        self._reset()
        replies = (each for each in reversed(messages) if isinstance(each, AssistantMessage) and each.usage.context)
        if last := next(replies, None):
            self._session_id = session_id
            self._last = _Sent(f"{last.provider}/{last.model}", last.time, last.usage, system, tools)

    def observe(self, request: Request, time: float, reply: AssistantMessage) -> tuple[CacheMiss, bool] | None:
        """Compare a request and its reply with those before.

        Args:
            request: The request.
            time: When it was sent, in seconds since the epoch.
            reply: Its reply.

        Returns:
            The cache miss, and True if the user should be notified: not if the previous request had a miss with the
            same cause, or if an event announced the cause; None for no miss.
        """
        if request.session_id != self._session_id:
            self._reset()
        if not reply.usage.context:
            return None
        now = _Sent(
            request.spec.name, time, reply.usage, request.system, request.tools, request.messages, request.spec.thinking
        )
        before, self._last, self._session_id = self._last, now, request.session_id
        tokens = missed_tokens(before.usage, now.usage) if before and _is_on(request.cache) else 0
        if before is None or not tokens:
            self._last_cause = ""
            return None
        cause = _change(before, now) or pause(before.time, now.time, request.cache) or UNKNOWN_CAUSE
        # The same place of a system prompt may contain the time of day.
        kind = cause.partition(" (“")[0]
        is_new, self._last_cause = kind != self._last_cause, kind
        self._causes[reply.id] = cause
        return CacheMiss(tokens, cause), is_new and not kind.endswith(_ANNOUNCED)

    def cause_of(self, message_id: str) -> str:
        """Return the cause of the miss of a reply; empty if this process did not observe one."""
        return self._causes.get(message_id, "")


def miss_text(miss: CacheMiss, usage: Usage, price: Price | None) -> str:
    """Return a cache miss as text for the user, with what it cost if the price is known."""
    paid = (price.cache_write if usage.cache_write > usage.input else price.input) if price else 0.0
    more = miss.tokens * (paid - price.cache_read) / 1_000_000 if price else 0.0
    surcharge = f" (${more:.2f} more)" if more >= 0.01 else ""
    return f"Prompt cache miss: {miss.tokens:,} tokens were read at full price{surcharge}: {miss.cause}."


def missed_tokens(before: Usage, after: Usage) -> int:
    """Return how many tokens a request read at full price that the cache had held after the one before; 0 for a hit."""
    held = before.context - before.output
    tokens = min(held - after.cache_read, after.input + after.cache_write)
    has_cache = before.cache_read or before.cache_write
    return tokens if has_cache and tokens >= LEAST_TOKENS and after.cache_read < held / 2 else 0


def pause(before: float, now: float, cache: CacheStrategy) -> str:
    """Return a cause for requests at these times, in seconds, if the cache lives for less; otherwise nothing."""
    lifetime = LIFETIMES_S[cache.lifetime]
    if now - before <= lifetime:
        return ""
    return f"the request before was {_minutes(now - before)} ago, and the cache is kept for {_minutes(lifetime)}"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _is_on(cache: CacheStrategy) -> bool:
    return cache.tools or cache.system or cache.messages


def _change(before: _Sent, now: _Sent) -> str:
    """Return what changed between two requests, in the order in which services cache them; empty for nothing."""
    if before.model != now.model:
        return f"the model changed from {before.model} to {now.model}"
    if tools := _changed_tools(before.tools, now.tools):
        return tools
    if before.system and before.system != now.system:
        return _changed_system(before.system, now.system)
    if before.messages is None or now.messages is None:
        return ""
    return _changed_messages(before.messages, now.messages) or (
        f"the thinking level changed to {now.thinking}" if before.thinking != now.thinking else ""
    )


def _changed_tools(before: Sequence[ToolSpec] | Mapping[str, str], now: Sequence[ToolSpec] | Mapping[str, str]) -> str:
    old, new = _hashes(before), _hashes(now)
    if not old or list(old.items()) == list(new.items()):
        return ""
    changes = [
        *(f"+{name}" for name in new if name not in old),
        *(f"-{name}" for name in old if name not in new),
        *(f"{name} declared differently" for name in new if name in old and old[name] != new[name]),
    ]
    return f"the tool list changed ({', '.join(changes) or 'order'})"


def _hashes(tools: Sequence[ToolSpec] | Mapping[str, str]) -> Mapping[str, str]:
    # Not before the first miss: the hashes take a moment.
    from harness.session.notes import tool_hashes

    return tools if isinstance(tools, Mapping) else tool_hashes(tools)


def _changed_system(before: str, now: str) -> str:
    pairs = enumerate(zip(before, now, strict=False))
    place = next((at for at, (old, new) in pairs if old != new), min(len(before), len(now)))
    found = " ".join(now[place : place + 40].split())
    at = len(now[:place].encode("utf-8", "surrogatepass"))
    return f"the system prompt changed at byte {at:,}" + (f" (“{found}”)" if found else "")


def _changed_messages(before: Sequence[ModelMessage], now: Sequence[ModelMessage]) -> str:
    pairs = zip(before, now, strict=False)
    place = next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(before), len(now)))
    if place == len(before):
        return ""
    name, new = f"message {place + 1} of the context", now[place] if place < len(now) else None
    if new is not None and new.id == before[place].id:
        return f"{name} was shortened or cleared (eviction)"
    is_replaced = isinstance(new, UserMessage) and new.synthetic
    return f"{name} was replaced by a summary (compaction)" if is_replaced else f"{name} changed (rewind or removal)"
