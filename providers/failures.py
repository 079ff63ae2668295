"""What a service's refusal means: an HTTP status and a body turned into the most exact of our errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime

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
)
from harness.messages import JsonValue
from providers.endpoint import Endpoint

LONGEST_MESSAGE = 600

# Patterns are compiled when the first refusal comes, not when the program starts.

OVERFLOW = (
    r"prompt is too long|input is too long|exceeds? (the|model'?s?) context|maximum prompt length"
    r"|reduce the length of the (messages|prompt)|maximum context length|exceeds the available context size"
    r"|greater than the context length|context window exceeds limit|exceeded model token limit"
    r"|context[ _]length[ _]exceeded|exceed context limit|too many input tokens|too large for model"
    r"|input token count .* exceeds|number of input tokens exceeds|tokens \+ .max_new_tokens. must be"
    r"|longer than the (model's )?context|context ?window ?exceeded"
)
# These also complain of other things, such as a limit of tokens per minute, the size of an image or of the answer.
PERHAPS_OVERFLOW = r"exceeds the maximum|exceeds the limit of|too many tokens|token limit exceeded"
SPEAKS_OF_INPUT = r"\b(context|prompt|inputs?|messages)\b"
SPEAKS_OF_OUTPUT = r"max_(completion_|output_)?tokens|per (minute|day)|image"

NO_MONEY = (
    r"too many (tokens|requests) per day|(hourly|daily|session|weekly|monthly) usage limit|"
    r"insufficient[ _](quota|credits?|balance|funds)|credit balance|out of credits|spend(ing)? limit"
    r"|plan and billing|billing[ _](error|hard)|payment required|exceeded_current_quota|your account balance"
    r"|n[o'][^.]{0,20} have any credits"
)
NO_MODEL = (
    r"model_not_found|not a valid model|invalid model|decommissioned|no longer (supported|available|served)"
    r"|model\b[^.]{0,80}\b(not found|does not exist|not exist|has been (retired|deprecated))|try pulling"
    r"|model identifier is invalid|on-demand throughput isn.t supported"
)

# Google has one wording for a limit per minute and one per day, and one status for a wrong key and a wrong request.
SOON_AGAIN = r'"retrydelay": *"'
NOT_TODAY = r"per_?day"
BAD_KEY = r"api[ _]key[ _](not[ _]valid|invalid|expired)|(invalid|expired)[ _]api[ _]key"
TOLD_DELAY = r'"retryDelay": *"(\d+(?:\.\d+)?)s"'

# A server of one's own that cannot hold the model; it will not grow.
NO_MEMORY = r"requires more (system |gpu )?memory"

_UNPRINTABLE = r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+"


def failure(endpoint: Endpoint, status: int, body: str, headers: Mapping[str, str]) -> ProviderError:
    """The error for a status of 300 and above, also for one that a stream reported in its middle.

    `headers` has lower-case names. The text never holds the key and nothing a terminal would obey.
    """
    # Amazon may name the kind of a failure, and nothing more.
    told = message_in(body) if body.strip() not in ("", "{}") else headers.get("x-amzn-errortype", "")
    said = endpoint.hide_key(plain(told))
    words = f"{said} {body[:4096]}".lower()
    service = endpoint.preset.label
    kind = _kind(status, words, is_empty=not body.strip())
    text = _explanation(kind, endpoint, status, said or "it gave no reason")
    if issubclass(kind, AuthenticationFailed):
        return kind(text, status=status)
    return kind(f"{service}: {text}", retry_after=_wait(headers, body) if kind.retryable else None, status=status)


def _kind(status: int, words: str, *, is_empty: bool) -> type[ProviderError]:
    if about_account := _kind_of_account(status, words):
        return about_account
    if status == 413 or _is_overflow(status, words, is_empty=is_empty):
        return ContextWindowOverflow
    if (status == 404 and "model" in words) or (status in (400, 410) and re.search(NO_MODEL, words)):
        return ModelNotFound
    if status >= 500 and re.search(NO_MEMORY, words):
        return RequestRejected
    if status in (503, 529) or (status >= 500 and "overloaded" in words):
        return ModelOverloaded
    # 424 is Bedrock's for a model that failed.
    return NetworkError if status in (408, 424) or (status >= 500 and status not in (501, 505)) else RequestRejected


def _kind_of_account(status: int, words: str) -> type[ProviderError] | None:
    """What is wrong with the key, the money or the pace; None if it is something else."""
    if status == 402 or (status in (400, 403, 429) and _is_used_up(words)):
        return QuotaExhausted
    if status in (401, 403) or (status == 400 and re.search(BAD_KEY, words)):
        return RequestRejected if "flagged" in words else AuthenticationFailed
    return ModelThrottled if status == 429 else None


def _is_used_up(words: str) -> bool:
    if not re.search(NO_MONEY, words):
        return False
    return not re.search(SOON_AGAIN, words) or re.search(NOT_TODAY, words) is not None


def _is_overflow(status: int, words: str, *, is_empty: bool) -> bool:
    if status not in (400, 422, 500):
        return False
    # Some services refuse what is too long without a word.
    if is_empty:
        return status == 400
    if re.search(OVERFLOW, words):
        return True
    perhaps = status == 400 and re.search(PERHAPS_OVERFLOW, words) and re.search(SPEAKS_OF_INPUT, words)
    return bool(perhaps) and not re.search(SPEAKS_OF_OUTPUT, words)


def _explanation(kind: type[ProviderError], endpoint: Endpoint, status: int, said: str) -> str:
    if kind is AuthenticationFailed:
        return _about_the_key(endpoint, status, said)
    if kind is ContextWindowOverflow:
        return f"the conversation is longer than the model can read (HTTP {status}): {said}"
    if kind is QuotaExhausted:
        return f"no credit or quota is left (HTTP {status}): {said}"
    if kind is ModelThrottled:
        return f"too many requests (HTTP 429): {said}"
    if kind is ModelOverloaded:
        return f"overloaded (HTTP {status}): {said}"
    if kind is ModelNotFound:
        return f"no such model (HTTP {status}): {said}"
    if status == 404 or status < 400:
        return f"nothing answers under {endpoint.shown_url} (HTTP {status}); is the base URL right? {said}"
    return f"HTTP {status}: {said}"


def _about_the_key(endpoint: Endpoint, status: int, said: str) -> str:
    label, name = endpoint.preset.label, endpoint.preset.name
    if endpoint.secret is None:
        looked = " or ".join(endpoint.preset.variables)
        return f"{label} wants a key ({status}), and none was found in {looked}; enter one with #key {name}: {said}"
    source = endpoint.secret.source
    return f"the key from {source} was refused ({status}) by {label}; enter another with #key {name}: {said}"


def message_in(body: str) -> str:
    """What a service says in the body of an error, in whatever shape it says it."""
    try:
        parsed: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return _without_markup(body)
    return _message_of(parsed) or body


def _message_of(value: JsonValue) -> str:
    match value:
        case str():
            return value
        case [first, *_]:
            return _message_of(first)
        case {"error": {"message": str(message), "metadata": {"raw": str(raw)}}}:
            return f"{message}: {message_in(raw)}"
        case {"loc": [*place], "msg": str(message)}:
            # Of what is wrong with a request, the place is the half that helps.
            return f"{'.'.join(str(step) for step in place)}: {message}"
        case (
            {"error": str() | dict() as inner} | {"message": str() | dict() | list() as inner} | {"msg": str() as inner}
        ):
            return _message_of(inner)
        case {"detail": str() | list() | dict() as inner} | {"errors": list() as inner}:
            return _message_of(inner)
        case {"Message": str(code)} | {"code": str(code)} | {"type": str(code)}:
            return code
        case _:
            return ""


def _without_markup(body: str) -> str:
    if "<html" not in body[:2048].lower():
        return body
    title = re.search(r"<title>(.*?)</title>", body, re.IGNORECASE | re.DOTALL)
    return f"a web page answered: {title[1].strip()}" if title else "a web page answered"


def plain(text: str) -> str:
    """One line without anything a terminal would obey, of bearable length."""
    line = re.sub(r"\s+", " ", re.sub(_UNPRINTABLE, " ", text)).strip()
    return line if len(line) <= LONGEST_MESSAGE else line[:LONGEST_MESSAGE] + "…"


def _wait(headers: Mapping[str, str], body: str) -> float | None:
    told = retry_after(headers)
    inside = re.search(TOLD_DELAY, body) if told is None else None
    return float(inside[1]) if inside else told


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the service asks us to wait, given in seconds, in milliseconds or as a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers["retry-after"].strip()
    except (KeyError, ValueError):
        return None
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    # Dates are rare here, and their reader is slow to import.
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
