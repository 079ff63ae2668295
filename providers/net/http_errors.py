"""What a service's refusal means: an HTTP status and a body turned into the most exact of our errors."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

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
from providers.api_keys import key_remedy
from providers.endpoint import Endpoint
from providers.net.retry_after import retry_delay

LONGEST_MESSAGE = 600
MOST_COMPLAINTS = 3

# Patterns are compiled when the first refusal comes, not when the program starts.

OVERFLOW = (
    r"prompt (is )?too long|prompt exceeds max|input is too long|exceeds? (the|model'?s?) context|maximum prompt length"
    r"|reduce the length of the (messages|prompt)|maximum context length|exceeds the available context size"
    r"|greater than the context length|context window exceeds limit|exceeded model token limit|context window limit"
    r"|context[ _]length[ _]exceeded|exceed context limit|too many input tokens|too large for model"
    r"|input token count .* exceeds|number of input tokens exceeds|tokens \+ .max_new_tokens. must be"
    r"|longer than the (model's )?context|context ?window ?exceeded|context (size|length) (is only|has been exceeded)"
    r"|configured context size is|range of input length should be|maximum allowed input length|request_too_large"
)
# These also complain of other things, such as a limit of tokens per minute, the size of an image or of the answer.
PERHAPS_OVERFLOW = r"exceeds the maximum|exceeds the limit of|too many tokens|token limit exceeded"
SPEAKS_OF_INPUT = r"\b(context|prompt|inputs?|messages)\b"
SPEAKS_OF_OUTPUT = r"max_(completion_|output_)?tokens|per (minute|day)|image"
# One request beyond the limit of a minute, which no wait makes smaller.
MORE_THAN_A_MINUTE = r"request too large for"

NO_MONEY = (
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
# Said with a status that otherwise means a wrong address.
NO_MODEL_HERE = r"model|deploymentnotfound|api deployment|no endpoints found for|not found for account"
NO_RIGHT_TO_MODEL = r"model_not_found|does not have access to model"

# Google has one wording for a limit per minute and one per day, and one status for a wrong key and a wrong request.
SOON_AGAIN = r'"retrydelay": *"'
NOT_TODAY = r"per_?day"
# A LiteLLM without a database takes no key but its own.
BAD_KEY = r"api[ _]key[ _](not[ _]valid|invalid|expired)|(invalid|expired)[ _]api[ _]key|no connected db"
# What is wrong is neither the key nor its rights.
NOT_THE_KEY = r"flagged|country|region|network settings|location is not supported"

BAD_REPLY = r"tool_use_failed|output_parse_failed|json_validate_failed|failed to call a function"

# A server of one's own: it cannot hold the model, was started without tools, or has a template that says no.
HOPELESS = r"requires more (system |gpu )?memory|requires --jinja|jinja exception"

# What MiniMax counts its refusals by; its answers are of status 200.
OF_MINIMAX = {"1002": 429, "1004": 401, "1008": 402, "1026": 400, "1039": 429, "2013": 400, "2049": 401, "2056": 402}

_UNPRINTABLE = r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+"


def failure(endpoint: Endpoint, status: int, body: str, headers: Mapping[str, str]) -> ProviderError:
    """The error for a status of 300 and above, also for one that a stream reported in its middle.

    `headers` has lower-case names. The text never holds the key and nothing a terminal would obey.
    """
    # Amazon may name the kind of a failure, and nothing more.
    told = message_in(body) if body.strip() not in ("", "{}") else headers.get("x-amzn-errortype", "")
    said = plain(endpoint.hide_key(told))
    page = title_of(body)
    words = said.lower() if page is not None else f"{said} {body[:4096]}".lower()
    service = endpoint.preset.label
    kind = _kind(status, words, is_empty=not body.strip(), is_page=page is not None)
    if status == 511 or (page is not None and status != 404):
        text = explained_page(endpoint.shown_url, status, plain(endpoint.hide_key(page or "")))
    else:
        text = _explanation(kind, endpoint, status, f"{said}{_filtered(body)}" or _elsewhere(headers))
    if issubclass(kind, AuthenticationFailed):
        return kind(text, status=status)
    return kind(f"{service}: {text}", retry_after=retry_delay(headers, body) if kind.retryable else None, status=status)


def no_stream(endpoint: Endpoint, media_type: str, body: str) -> ProviderError:
    """The error for an answer of status 200 that is no stream: a web page, an error all the same, or a whole reply."""
    title = title_of(body)
    if title is not None:
        page = explained_page(endpoint.shown_url, 200, plain(endpoint.hide_key(title)))
        return StreamError(f"{endpoint.preset.label}: {page}", status=200)
    if '"error"' in body or '"base_resp"' in body:
        return failure(endpoint, status_inside(body), body, {})
    return StreamError(f"{endpoint.preset.label}: answered with {media_type}, not with a stream")


def status_inside(body: str) -> int:
    """The HTTP status that an error would have had which came with status 200, by what its JSON says."""
    told = re.search(r'"(?:code|status|http_code)": *"?([45]\d\d)\b', body)
    if told:
        return int(told[1])
    if of_minimax := re.search(r'"status_code": *(\d+)', body):
        return OF_MINIMAX.get(of_minimax[1], 500)
    words = body.lower()
    if re.search(OVERFLOW, words):
        return 400
    signs = (("rate.?limit|quota|throttl", 429), ("overloaded|unavailable", 529), ("insufficient balance", 402))
    for sign, status in signs:
        if re.search(sign, words):
            return status
    return 400 if re.search("invalid_request|invalid_prompt|bad_request", words) else 500


def _kind(status: int, words: str, *, is_empty: bool, is_page: bool) -> type[ProviderError]:
    if is_page and status in (400, 401, 402, 403, 404):
        return RequestRejected
    if about_request := _kind_of_request(status, words, is_empty=is_empty):
        return about_request
    if status >= 500 and re.search(HOPELESS, words):
        return RequestRejected
    if status in (503, 529) or (status >= 500 and "overloaded" in words):
        return ModelOverloaded
    # 424 is Bedrock's for a model that failed, 499 Google's for a request that it dropped.
    is_passing = status in (408, 409, 424, 425, 499) or (status >= 500 and status not in (501, 505, 511))
    return NetworkError if is_passing else RequestRejected


def _kind_of_request(status: int, words: str, *, is_empty: bool) -> type[ProviderError] | None:
    """What is wrong with the account, the model or the length; None if it is something else."""
    if status in (400, 422, 500) and re.search(BAD_REPLY, words):
        return InvalidReply
    wording = NO_MODEL_HERE if status == 404 else NO_MODEL
    if status in (400, 404, 410, 422) and re.search(wording, words):
        return ModelNotFound
    if about_account := _kind_of_account(status, words):
        return about_account
    return ContextWindowOverflow if status == 413 or _is_overflow(status, words, is_empty=is_empty) else None


def _kind_of_account(status: int, words: str) -> type[ProviderError] | None:
    """What is wrong with the key, the money or the pace; None if it is something else."""
    if status == 402 or (status in (400, 403, 429) and _is_used_up(words)):
        return QuotaExhausted
    if status == 403 and re.search(NO_RIGHT_TO_MODEL, words):
        return ModelNotFound
    if status in (401, 403) or (status == 400 and re.search(BAD_KEY, words)):
        return RequestRejected if re.search(NOT_THE_KEY, words) else AuthenticationFailed
    if status == 429:
        return ContextWindowOverflow if re.search(MORE_THAN_A_MINUTE, words) else ModelThrottled
    return None


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


WHAT: Mapping[type[ProviderError], str] = {
    ContextWindowOverflow: "the conversation is longer than the model can read",
    QuotaExhausted: "no credit or quota is left",
    ModelThrottled: "too many requests",
    ModelOverloaded: "overloaded",
    ModelNotFound: "no such model",
    InvalidReply: "the model wrote a reply that cannot be used",
}


def _explanation(kind: type[ProviderError], endpoint: Endpoint, status: int, said: str) -> str:
    if kind is AuthenticationFailed:
        return _about_the_key(endpoint, status, said)
    if what := WHAT.get(kind):
        return f"{what} (HTTP {status}): {said}"
    if status == 404 or status < 400:
        return f"nothing answers under {endpoint.shown_url} (HTTP {status}); is the base URL right? {said}"
    return f"HTTP {status}: {said}"


def _about_the_key(endpoint: Endpoint, status: int, said: str) -> str:
    preset, secret = endpoint.preset, endpoint.secret
    if secret is None:
        return f"{preset.label} requires a key ({status}): {key_remedy(preset)}: {said}"
    refused = f"the key from {secret.source} was refused ({status}) by {preset.label}"
    return f"{refused}; to change it, {key_remedy(preset)}: {said}"


def _filtered(body: str) -> str:
    """What the filter of Azure took offence at, of which it tells only in numbers and marks."""
    if "content_filter_result" not in body:
        return ""
    found = re.findall(r'"(\w+)": *\{[^{}]*"(?:filtered|detected)": *true', body)
    return f" ({', '.join(dict.fromkeys(found)).replace('_', ' ')})" if found else ""


def _elsewhere(headers: Mapping[str, str]) -> str:
    """Where a service that says nothing sends us."""
    host = urlsplit(headers.get("location", "")).hostname
    return f"it sends us on to {plain(host)}" if host else "it gave no reason"


def message_in(body: str) -> str:
    """What a service says in the body of an error, in whatever shape it says it."""
    try:
        parsed: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        title = title_of(body)
        return body if title is None else f"a web page answered{title and ': '}{title}"
    return _message_of(parsed) or body


def _message_of(value: JsonValue) -> str:
    match value:
        case str():
            return value
        case [*complaints]:
            return "; ".join(filter(None, map(_message_of, complaints[:MOST_COMPLAINTS])))
        case {"error": {"message": str(message), "metadata": {"raw": str(raw)}}}:
            return f"{message}: {message_in(raw)}"
        case {"loc": [*place], "msg": str(message)}:
            # Of what is wrong with a request, the place is the half that helps.
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


def plain(text: str) -> str:
    """One line without anything a terminal would obey, of bearable length."""
    line = re.sub(r"\s+", " ", re.sub(_UNPRINTABLE, " ", text)).strip()
    return line if len(line) <= LONGEST_MESSAGE else line[:LONGEST_MESSAGE] + "…"


BEGINNING = 4096


def title_of(body: str) -> str | None:
    """The title of a web page, empty if it has none; None if the body is no page."""
    if not re.search(r"<(!doctype html|html|head|title)\b", body[:BEGINNING], re.IGNORECASE):
        return None
    title = re.search(r"<title[^>]*>(.*?)</title>", body, re.IGNORECASE | re.DOTALL)
    return html.unescape(title[1]).strip() if title else ""


def explained_page(url: str, status: int, title: str) -> str:
    """What to make of it: who asks for models is never answered with a page."""
    named = f" ({title})" if title else ""
    if status == 511:
        return f"the network wants a login before it lets anyone through to {url} (HTTP 511){named}: open a browser"
    if status >= 500:
        return f"a web page answered for {url} (HTTP {status}){named}: what stands in front of the service has lost it"
    if status < 300:
        why = "is the base URL right, or does the network want a login?"
        return f"a web page answered at {url}{named}, and no model: {why}"
    return (
        f"a web page answered for {url} (HTTP {status}){named}: something on the way did not let the request through, "
        "such as a company's proxy, a firewall or a check for browsers; the key is not to blame"
    )
