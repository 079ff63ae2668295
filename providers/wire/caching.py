"""Prompt caching parameters of a request: marks, a key, or special fields."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import groupby

from msgspec.structs import replace

from harness.messages import JsonObject, JsonValue
from harness.ports.provider import NO_CACHE, CacheStrategy, Request
from providers.preset import CacheRule
from providers.wire.encoding import safe_name

MARKED_TURNS = 2
INPUT_ROLES = ("user", "tool")
CACHE_A_DAY: JsonObject = {"prompt_cache_retention": "24h"}
CACHE_OFF: JsonObject = {"prompt_cache_options": {"mode": "explicit"}}
"""With this, only marked parts would be cached."""
CACHING, LIFETIME = "caching", "lifetime"
"""Features that a service may not support: marks, and a longer lifetime of what they mark."""
REJECTABLE_MARKS = ((r"\bttl\b", LIFETIME), (r"cachepoint|prompt caching|cache_control", CACHING))


def is_off(cache: CacheStrategy) -> bool:
    return not (cache.tools or cache.system or cache.messages)


def cache_mark(cache: CacheStrategy) -> JsonObject:
    """Return the `cache_control` of a mark.

    All marks of a request have one lifetime: a longer one after a shorter one is rejected.
    """
    return {"type": "ephemeral"} if cache.lifetime == "5m" else {"type": "ephemeral", "ttl": cache.lifetime}


def ends_of_turns(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the messages to mark: those that end the last two turns of the user.

    A service looks for cached prefixes only some twenty blocks before a mark, and one turn with many calls has more.
    The last mark of a request is therefore the last but one of the next, which is found without searching.
    """
    turns = groupby(messages, key=lambda message: message["role"] in INPUT_ROLES)
    return [[*turn][-1] for is_input, turn in turns if is_input][-MARKED_TURNS:]


def contents_to_mark(turns: Sequence[JsonObject]) -> list[list[JsonValue]]:
    """Return the content blocks of the turns to mark."""
    return [content for turn in ends_of_turns(turns) if isinstance(content := turn["content"], list)]


def cache_fields(rule: CacheRule, request: Request) -> JsonObject:
    """Return the body fields for caching."""
    model_id = request.spec.model_id
    if is_off(request.cache):
        return {**CACHE_OFF} if rule.can_be_off(model_id) else {}
    key: JsonObject = {rule.key: session} if rule.key and (session := request.cache_key or request.session_id) else {}
    lasts = request.cache.lifetime != "5m" and rule.keeps_longer(model_id) and not rule.wants_marks(model_id)
    return key | CACHE_A_DAY if lasts else key


def cache_headers(rule: CacheRule, request: Request) -> dict[str, str]:
    """Return the headers for caching."""
    session = request.cache_key or request.session_id
    return {rule.header: safe_name(session)} if rule.header and session and not is_off(request.cache) else {}


def accepted_marks(cache: CacheStrategy, rejected: Set[str]) -> CacheStrategy:
    """Return the strategy without the rejected features."""
    if CACHING in rejected:
        return NO_CACHE
    return replace(cache, lifetime="5m") if LIFETIME in rejected else cache


def rejectable_marks(cache: CacheStrategy, rejected: Set[str]) -> Sequence[tuple[str, str]]:
    """Return the features that a service may still reject of a strategy, as `RejectedFeatures.learn` takes them."""
    sent = accepted_marks(cache, rejected)
    if is_off(sent):
        return ()
    return REJECTABLE_MARKS if sent.lifetime != "5m" else REJECTABLE_MARKS[1:]
