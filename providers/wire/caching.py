"""How a request says what of it the service may keep for the next: by marks, by a key, by fields of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from harness.messages import JsonObject
from harness.ports.provider import NO_CACHE, CacheStrategy, Request
from providers.catalog import CacheRule
from providers.wire.names import safe_name

MARKED_TURNS = 2
INPUT_ROLES = ("user", "tool")
KEPT_A_DAY: JsonObject = {"prompt_cache_retention": "24h"}
NOT_KEPT: JsonObject = {"prompt_cache_options": {"mode": "explicit"}}
"""With this, only what is marked would be kept."""
REFUSED_LIFETIME = r"\bttl\b"
REFUSED_MARKS = r"cache_control|prompt caching"


def is_off(cache: CacheStrategy) -> bool:
    return not (cache.tools or cache.system or cache.messages)


def cache_mark(cache: CacheStrategy) -> JsonObject:
    """The `cache_control` of what is marked.

    All marks of a request have one lifetime, so that none that lives longer comes after one that lives shorter, which
    is refused.
    """
    return {"type": "ephemeral"} if cache.lifetime == "5m" else {"type": "ephemeral", "ttl": cache.lifetime}


def ends_of_turns(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """The messages to mark: those that end the last two turns in which the model was told something.

    A service looks for what it has cached only some twenty blocks back from a mark, and one turn with many calls has
    more. The last mark of a request is therefore the last but one of the next, which finds it without looking.
    """
    following = [*(str(message["role"]) for message in messages[1:]), ""]
    # Of no messages, none follows.
    told = zip(messages, following[: len(messages)], strict=True)
    ends = [message for message, after in told if message["role"] in INPUT_ROLES and after not in INPUT_ROLES]
    return ends[-MARKED_TURNS:]


def cache_fields(rule: CacheRule, request: Request) -> JsonObject:
    """What the body of a request says of the cache."""
    model_id = request.spec.model_id
    if is_off(request.cache):
        return {**NOT_KEPT} if rule.can_be_off(model_id) else {}
    key: JsonObject = {rule.key: request.session_id} if rule.key and request.session_id else {}
    lasts = request.cache.lifetime != "5m" and rule.keeps_longer(model_id) and not rule.wants_marks(model_id)
    return key | KEPT_A_DAY if lasts else key


def cache_headers(rule: CacheRule, request: Request) -> dict[str, str]:
    """What its headers say."""
    is_said = rule.header and request.session_id and not is_off(request.cache)
    return {rule.header: safe_name(request.session_id)} if is_said else {}


class AcceptedMarks:
    """Which marks one service takes, as far as its refusals have told."""

    def __init__(self) -> None:
        self._takes_marks = True
        self._takes_an_hour = True

    def apply(self, cache: CacheStrategy) -> CacheStrategy:
        """The strategy without what is refused."""
        if not self._takes_marks:
            return NO_CACHE
        return cache if self._takes_an_hour else replace(cache, lifetime="5m")

    def learn(self, cache: CacheStrategy, refusal: str) -> bool:
        """Whether a request with this strategy will now have fewer marks; `refusal` in lower case."""
        marked = self.apply(cache)
        if is_off(marked):
            return False
        if marked.lifetime != "5m" and re.search(REFUSED_LIFETIME, refusal):
            self._takes_an_hour = False
            return True
        if re.search(REFUSED_MARKS, refusal):
            self._takes_marks = False
            return True
        return False
