"""HTTP errors: status and body of a response turned into the most specific of our errors."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from harness.errors import (
    AuthenticationFailed,
    ContextWindowOverflow,
    InvalidReply,
    ModelNotFound,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
    QuotaExhausted,
    RequestRejected,
    StreamError,
)
from harness.messages import JsonValue
from http_client.retry_after import retry_delay
from http_client.text import plain
from providers.endpoint import Endpoint

MAX_MESSAGES = 3
BEGINNING = 4096

# Patterns are compiled with the first error, not at start-up.

OVERFLOW = (
    r"prompt (is )?too long|prompt exceeds max|input is too long|exceeds? (the|model'?s?) context|maximum prompt length"
    r"|reduce the length of the (messages|prompt)|maximum context length|exceeds the available context size"
    r"|greater than the context length|context window exceeds limit|exceeded model token limit|context window limit"
    r"|context[ _]length[ _]exceeded|exceed context limit|too many input tokens|too large for model"
    r"|input token count .* exceeds|number of input tokens exceeds|tokens \+ .max_new_tokens. must be"
    r"|longer than the (model's )?context|context ?window ?exceeded|context (size|length) (is only|has been exceeded)"
    r"|configured context size is|range of input length should be|maximum allowed input length|request_too_large"
)
# Also used for other errors, such as token limits per minute, the size of an image or of the output.
PERHAPS_OVERFLOW = r"exceeds the maximum|exceeds the limit of|too many tokens|token limit exceeded"
MENTIONS_INPUT = r"\b(context|prompt|inputs?|messages)\b"
MENTIONS_OUTPUT = r"max_(completion_|output_)?tokens|per (minute|day)|image"
# A single request over the limit per minute: waiting does not help.
MORE_THAN_A_MINUTE = r"request too large for"

NO_QUOTA = (
    r"too many (tokens|requests) per day|(hourly|daily|session|weekly|monthly) usage limit|free-models-per-day"
    r"|usage limit (has been |is )?reached"
    r"|insufficient[ _](quota|credits?|balance|funds)|credit balance|out of credits|spend(ing)? limit"
    r"|plan and billing|billing[ _](error|hard)|payment required|exceeded_current_quota|your account balance"
    r"|n[o'][^.]{0,20} have any credits|budget has been exceeded|budget_exceeded|no resource package"
    r"|extra usage is required|exceeds the service quota|monthly included credits"
)
NO_MODEL = (
    r"model_not_found|not a valid model|invalid model|decommissioned|no longer (supported|available|served)"
    r"|model\b[^.]{0,80}\b(not found|does not exist|not exist|has been (retired|deprecated))|try pulling"
    r"|model identifier is invalid|on-demand throughput isn.t supported|unknown model|end of (its )?life"
    r"|not supported by any provider"
)
# With status 404, which otherwise means a wrong URL.
NO_MODEL_HERE = r"model|deploymentnotfound|api deployment|no endpoints found for|not found for account"
NO_MODEL_ACCESS = r"model_not_found|does not have access to model"

# Google uses one text for limits per minute and per day, and one status for a wrong key and a wrong request.
RETRY_DELAY = r'"retrydelay": *"'
PER_DAY = r"per_?day"
# A LiteLLM without a database accepts only its own key.
BAD_KEY = r"api[ _]key[ _](not[ _]valid|invalid|expired)|(invalid|expired)[ _]api[ _]key|no connected db"
# Neither the key nor its permissions are wrong.
NOT_THE_KEY = r"flagged|country|region|network settings|location is not supported"

BAD_REPLY = r"tool_use_failed|output_parse_failed|json_validate_failed|failed to call a function"

# A local server without enough memory, started without tools, or with a template that rejects the request.
PERMANENT = r"requires more (system |gpu )?memory|requires --jinja|jinja exception"

# Error codes of MiniMax, whose responses have status 200.
MINIMAX_STATUS = {
    "1002": 429,
    "1004": 401,
    "1008": 402,
    "1026": 400,
    "1039": 429,
    "2013": 400,
    "2049": 401,
    "2056": 402,
}
# Errors without a status of their own.
STATUS_BY_TEXT = (
    (OVERFLOW, 400),
    (r"rate.?limit|quota|throttl", 429),
    (r"overloaded|unavailable", 529),
    (r"insufficient balance", 402),
    (r"invalid_request|invalid_prompt|bad_request", 400),
)


def failure(endpoint: Endpoint, status: int, body: str, headers: Mapping[str, str]) -> ProviderError:
    """Return the error for a status of 300 or above, or for one reported inside a stream.

    The text contains neither the key nor characters that a terminal would interpret.

    Args:
        endpoint: Service that sent the response.
        status: HTTP status.
        body: Response body.
        headers: Response headers with lower-case names.
    """
    # Amazon may send only the type of the error.
    raw = message_in(body) if body.strip() not in ("", "{}") else headers.get("x-amzn-errortype", "")
    message = plain(endpoint.hide_key(raw))
    page = title_of(body)
    text_lower = message.lower() if page is not None else f"{message} {body[:BEGINNING]}".lower()
    service = endpoint.preset.label
    kind = _kind(status, text_lower, is_empty=not body.strip(), is_page=page is not None)
    if status == 511 or (page is not None and status != 404):
        text = explained_page(endpoint.shown_url, status, plain(endpoint.hide_key(page or "")))
    else:
        text = _explanation(kind, endpoint, status, f"{message}{_filtered(body)}" or _elsewhere(headers))
    if issubclass(kind, AuthenticationFailed):
        return kind(text, status=status)
    return kind(f"{service}: {text}", retry_after=retry_delay(headers, body) if kind.retryable else None, status=status)


def no_stream(endpoint: Endpoint, media_type: str, body: str) -> ProviderError:
    """Return the error for a response of status 200 that is not a stream: a web page, an error, or a complete reply."""
    title = title_of(body)
    if title is not None:
        page = explained_page(endpoint.shown_url, 200, plain(endpoint.hide_key(title)))
        return StreamError(f"{endpoint.preset.label}: {page}", status=200)
    if '"error"' in body or '"base_resp"' in body:
        return failure(endpoint, status_inside(body), body, {})
    return StreamError(f"{endpoint.preset.label}: responded with {media_type} instead of a stream")


def status_inside(body: str) -> int:
    """Return the HTTP status that corresponds to an error sent with status 200."""
    if raw := re.search(r'"(?:code|status|http_code)": *"?([45]\d\d)\b', body):
        return int(raw[1])
    if of_minimax := re.search(r'"status_code": *(\d+)', body):
        return MINIMAX_STATUS.get(of_minimax[1], 500)
    text_lower = body.lower()
    return next((status for pattern, status in STATUS_BY_TEXT if re.search(pattern, text_lower)), 500)


class Rule(Struct, frozen=True):
    """Responses that mean an error: with one of these statuses and all of these patterns in their text."""

    statuses: Container[int]
    error: type[ProviderError]
    patterns: tuple[str, ...] = ()
    unless: str = ""
    """Pattern of responses to which the rule does not apply."""

    def applies(self, status: int, text_lower: str) -> bool:
        return (
            status in self.statuses
            and all(re.search(pattern, text_lower) for pattern in self.patterns)
            and not (self.unless and re.search(self.unless, text_lower))
        )


SERVER_ERRORS = range(500, 1000)
RULES = (
    Rule((400, 422, 500), InvalidReply, (BAD_REPLY,)),
    Rule((404,), ModelNotFound, (NO_MODEL_HERE,)),
    Rule((400, 410, 422), ModelNotFound, (NO_MODEL,)),
    Rule((402,), QuotaExhausted),
    Rule((400, 403, 429), QuotaExhausted, (NO_QUOTA,), unless=RETRY_DELAY),
    Rule((400, 403, 429), QuotaExhausted, (NO_QUOTA, PER_DAY)),
    Rule((403,), ModelNotFound, (NO_MODEL_ACCESS,)),
    Rule((401, 403), AuthenticationFailed, unless=NOT_THE_KEY),
    Rule((401, 403), RequestRejected),
    Rule((400,), AuthenticationFailed, (BAD_KEY,), unless=NOT_THE_KEY),
    Rule((400,), RequestRejected, (BAD_KEY,)),
    Rule((429,), ContextWindowOverflow, (MORE_THAN_A_MINUTE,)),
    Rule((429,), ModelThrottled),
    Rule((413,), ContextWindowOverflow),
    Rule((400, 422, 500), ContextWindowOverflow, (OVERFLOW,)),
    Rule((400,), ContextWindowOverflow, (PERHAPS_OVERFLOW, MENTIONS_INPUT), unless=MENTIONS_OUTPUT),
    Rule(SERVER_ERRORS, RequestRejected, (PERMANENT,)),
    Rule((503, 529), ModelOverloaded),
    Rule(SERVER_ERRORS, ModelOverloaded, ("overloaded",)),
    Rule((501, 505, 511), RequestRejected),
    # 424 is Bedrock's status for a failed model, 499 Google's for a dropped request.
    Rule((408, 409, 424, 425, 499, *SERVER_ERRORS), NetworkError),
)
"""The first rule that applies determines the error; without one the request was rejected."""


def _kind(status: int, text_lower: str, *, is_empty: bool, is_page: bool) -> type[ProviderError]:
    if is_page and status in (400, 401, 402, 403, 404):
        return RequestRejected
    # Some services reject long requests with an empty body.
    if is_empty and status == 400:
        return ContextWindowOverflow
    return next((rule.error for rule in RULES if rule.applies(status, text_lower)), RequestRejected)


WHAT: Mapping[type[ProviderError], str] = {
    ContextWindowOverflow: "the conversation exceeds the model's context window",
    QuotaExhausted: "no credit or quota left",
    ModelThrottled: "too many requests",
    ModelOverloaded: "overloaded",
    ModelNotFound: "no such model",
    InvalidReply: "the model produced an invalid reply",
}


def _explanation(kind: type[ProviderError], endpoint: Endpoint, status: int, message: str) -> str:
    if kind is AuthenticationFailed:
        return _about_the_key(endpoint, status, message)
    if what := WHAT.get(kind):
        return f"{what} (HTTP {status}): {message}"
    if status == 404 or status < 400:
        return f"no such path at {endpoint.shown_url} (HTTP {status}); check the base URL. {message}"
    return f"HTTP {status}: {message}"


def _about_the_key(endpoint: Endpoint, status: int, message: str) -> str:
    preset, secret = endpoint.preset, endpoint.secret
    if secret is None:
        return f"{preset.label} requires a key ({status}): {preset.key_remedy}: {message}"
    rejected = f"the key from {secret.source} was rejected ({status}) by {preset.label}"
    return f"{rejected}; to change it, {preset.key_remedy}: {message}"


def _filtered(body: str) -> str:
    """Return the categories that Azure's content filter reports, which its message omits."""
    if "content_filter_result" not in body:
        return ""
    found = re.findall(r'"(\w+)": *\{[^{}]*"(?:filtered|detected)": *true', body)
    return f" ({', '.join(dict.fromkeys(found)).replace('_', ' ')})" if found else ""


def _elsewhere(headers: Mapping[str, str]) -> str:
    """Return the redirect target of a response without a message."""
    host = urlsplit(headers.get("location", "")).hostname
    return f"it redirects to {plain(host)}" if host else "no reason given"


def message_in(body: str) -> str:
    """Return the message in the body of an error, in any of the known formats."""
    try:
        parsed: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        title = title_of(body)
        return body if title is None else f"web page{title and ': '}{title}"
    return _message_of(parsed) or body


def _message_of(value: JsonValue) -> str:
    match value:
        case str():
            return value
        case [*errors]:
            return "; ".join(filter(None, map(_message_of, errors[:MAX_MESSAGES])))
        case {"error": {"message": str(message), "metadata": {"raw": str(raw)}}}:
            return f"{message}: {message_in(raw)}"
        case {"loc": [*place], "msg": str(message)}:
            # The location of a validation error matters as much as its message.
            return f"{'.'.join(str(step) for step in place)}: {message}"
        case (
            {"error": str() | dict() | list() as inner}
            | {"message": str() | dict() | list() as inner}
            | {"msg": str() as inner}
            | {"detail": str() | list() | dict() as inner}
            | {"errors": list() as inner}
            | {"base_resp": dict() as inner}
            | {"status_msg": str() as inner}
        ):
            return _message_of(inner)
        case {"Message": str(code)} | {"code": str(code)} | {"type": str(code)} | {"title": str(code)}:
            return code
        case _:
            return ""


def title_of(body: str) -> str | None:
    """Return the title of a web page, empty if it has none; None if the body is not a page."""
    if not re.search(r"<(!doctype html|html|head|title)\b", body[:BEGINNING], re.IGNORECASE):
        return None
    # Its table of entities takes half a megabyte, and few errors are web pages.
    import html

    title = re.search(r"<title[^>]*>(.*?)</title>", body, re.IGNORECASE | re.DOTALL)
    return html.unescape(title[1]).strip() if title else ""


def explained_page(url: str, status: int, title: str) -> str:
    """Return the explanation of a web page in place of a response: of a proxy, a firewall, or a login page."""
    named = f" ({title})" if title else ""
    if status == 511:
        return f"the network requires a login to reach {url} (HTTP 511){named}: open a browser"
    if status >= 500:
        return f"{url} returned a web page (HTTP {status}){named}: the gateway cannot reach the service"
    if status < 300:
        why = "check the base URL, and whether the network requires a login"
        return f"{url} returned a web page{named}: {why}"
    return (
        f"{url} returned a web page (HTTP {status}){named}: the request was blocked before it reached the service, for "
        "example by a company proxy, a firewall or a browser check; the key is not the problem"
    )
