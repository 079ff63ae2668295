"""Prompt caching parameters of a request: marks, a key, or special fields."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from harness.messages import JsonObject
from harness.ports.provider import NO_CACHE, CacheStrategy, Request
from providers.preset import CacheRule
from providers.wire.encoding import safe_name

MARKED_TURNS = 2
INPUT_ROLES = ("user", "tool")
CACHE_A_DAY: JsonObject = {"prompt_cache_retention": "24h"}
CACHE_OFF: JsonObject = {"prompt_cache_options": {"mode": "explicit"}}
"""With this, only marked parts would be cached."""
REFUSED_LIFETIME = r"\bttl\b"
REFUSED_MARKS = r"cache_control|prompt caching"


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
    following = [*(str(message["role"]) for message in messages[1:]), ""]
    # Without messages there is nothing to pair.
    pairs = zip(messages, following[: len(messages)], strict=True)
    ends = [message for message, after in pairs if message["role"] in INPUT_ROLES and after not in INPUT_ROLES]
    return ends[-MARKED_TURNS:]


def cache_fields(rule: CacheRule, request: Request) -> JsonObject:
    """Return the body fields for caching."""
    model_id = request.spec.model_id
    if is_off(request.cache):
        return {**CACHE_OFF} if rule.can_be_off(model_id) else {}
    key: JsonObject = {rule.key: request.session_id} if rule.key and request.session_id else {}
    lasts = request.cache.lifetime != "5m" and rule.keeps_longer(model_id) and not rule.wants_marks(model_id)
    return key | CACHE_A_DAY if lasts else key


def cache_headers(rule: CacheRule, request: Request) -> dict[str, str]:
    """Return the headers for caching."""
    is_sent = rule.header and request.session_id and not is_off(request.cache)
    return {rule.header: safe_name(request.session_id)} if is_sent else {}


class AcceptedMarks:
    """Cache marks that a service accepts, as learned from its errors."""

    def __init__(self) -> None:
        self._accepts_marks = True
        self._accepts_an_hour = True

    def apply(self, cache: CacheStrategy) -> CacheStrategy:
        """Return the strategy without what the service rejects."""
        if not self._accepts_marks:
            return NO_CACHE
        return cache if self._accepts_an_hour else replace(cache, lifetime="5m")

    def learn(self, cache: CacheStrategy, error: str) -> bool:
        """Learn from an error in lower case; return True if a request with this strategy now has fewer marks."""
        marked = self.apply(cache)
        if is_off(marked):
            return False
        if marked.lifetime != "5m" and re.search(REFUSED_LIFETIME, error):
            self._accepts_an_hour = False
            return True
        if re.search(REFUSED_MARKS, error):
            self._accepts_marks = False
            return True
        return False
