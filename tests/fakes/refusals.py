"""Errors of each service: the status and text of each case, in the shape of the service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fakes import bedrock_wire

from harness.errors import (
    AuthenticationFailed,
    ContextWindowOverflow,
    ModelNotFound,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
    QuotaExhausted,
)

KEY = "sk-canary-of-a-key-0123456789"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Response of a service, and the expected error."""

    status: int
    body: Mapping[str, Any]
    kind: type[ProviderError]


def _anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _openai(code: str | None, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def _google(status: int, name: str, message: str, *details: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": name, "details": [*details]}}


def _of_google(label: str) -> dict[str, Refusal]:
    quota = "You exceeded your current quota, please check your plan and billing details."
    soon = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
    per_minute = {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel", "quotaValue": "10"}
    per_day = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "50"}
    bad_key = _google(400, "INVALID_ARGUMENT", f"API key not valid: {KEY}", {"reason": "API_KEY_INVALID"})
    long = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    gone = f"models/some-model is not found for {label}, or is not supported for generateContent."
    return {
        "key": Refusal(400, bad_key, AuthenticationFailed),
        "rights": Refusal(403, _google(403, "PERMISSION_DENIED", "Permission denied."), AuthenticationFailed),
        "model": Refusal(404, _google(404, "NOT_FOUND", gone), ModelNotFound),
        "rate": Refusal(429, _google(429, "RESOURCE_EXHAUSTED", quota, per_minute, soon), ModelThrottled),
        "quota": Refusal(429, _google(429, "RESOURCE_EXHAUSTED", quota, per_day, soon), QuotaExhausted),
        "overflow": Refusal(400, _google(400, "INVALID_ARGUMENT", long), ContextWindowOverflow),
        "failure": Refusal(500, _google(500, "INTERNAL", "An internal error has occurred."), NetworkError),
        "overload": Refusal(503, _google(503, "UNAVAILABLE", "The model is overloaded."), ModelOverloaded),
    }


def _of_openai(overflow: str) -> dict[str, Refusal]:
    plan = "You exceeded your current quota, please check your plan and billing details."
    pace = "Rate limit reached for some-model on tokens per min (TPM): Limit 30000, Used 28000, Requested 4000."
    gone = "The model `some-model` does not exist or you do not have access to it."
    return {
        "key": Refusal(401, _openai("invalid_api_key", f"Incorrect API key provided: {KEY}."), AuthenticationFailed),
        "rights": Refusal(403, _openai(None, "You have insufficient permissions."), AuthenticationFailed),
        "model": Refusal(404, _openai("model_not_found", gone), ModelNotFound),
        "rate": Refusal(429, _openai("rate_limit_exceeded", pace), ModelThrottled),
        "quota": Refusal(429, _openai("insufficient_quota", plan), QuotaExhausted),
        "overflow": Refusal(400, _openai("context_length_exceeded", overflow), ContextWindowOverflow),
        "failure": Refusal(500, _openai(None, "The server had an error processing your request."), NetworkError),
        "overload": Refusal(503, _openai(None, "The engine is currently overloaded."), ModelOverloaded),
    }


REFUSALS: Mapping[str, Mapping[str, Refusal]] = {
    "anthropic": {
        "key": Refusal(401, _anthropic("authentication_error", f"invalid x-api-key {KEY}"), AuthenticationFailed),
        "rights": Refusal(403, _anthropic("permission_error", "Your key may not do that."), AuthenticationFailed),
        "model": Refusal(404, _anthropic("not_found_error", "model: some-model"), ModelNotFound),
        "rate": Refusal(
            429,
            _anthropic("rate_limit_error", "This request would exceed the rate limit of 50,000 tokens per minute."),
            ModelThrottled,
        ),
        "quota": Refusal(
            400, _anthropic("invalid_request_error", "Your credit balance is too low to go on."), QuotaExhausted
        ),
        "overflow": Refusal(
            400,
            _anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            ContextWindowOverflow,
        ),
        "failure": Refusal(500, _anthropic("api_error", "Internal server error"), NetworkError),
        "overload": Refusal(529, _anthropic("overloaded_error", "Overloaded"), ModelOverloaded),
    },
    "openai-chat": _of_openai("This model's maximum context length is 8192 tokens. Your messages have 9000 tokens."),
    "openai": _of_openai("Your input exceeds the context window of this model. Please adjust your input."),
    "gemini": _of_google("API version v1beta"),
    "vertex": _of_google("your project"),
    "ollama": {
        "key": Refusal(401, {"error": f"unauthorized: {KEY}"}, AuthenticationFailed),
        "rights": Refusal(403, {"error": "this model requires a subscription"}, AuthenticationFailed),
        "model": Refusal(404, {"error": "model 'some-model' not found"}, ModelNotFound),
        "rate": Refusal(429, {"error": "too many concurrent requests"}, ModelThrottled),
        "quota": Refusal(
            429, {"error": "you (me) have reached your weekly usage limit, upgrade for more"}, QuotaExhausted
        ),
        "overflow": Refusal(400, {"error": "the input length exceeds the context length"}, ContextWindowOverflow),
        "failure": Refusal(500, {"error": "llama runner process has terminated"}, NetworkError),
        "overload": Refusal(503, {"error": "server busy, please try again"}, ModelOverloaded),
    },
    "bedrock": {
        "key": Refusal(403, {"message": f"The security token {KEY} is invalid."}, AuthenticationFailed),
        "rights": Refusal(403, {"message": "You don't have access to the model."}, AuthenticationFailed),
        "model": Refusal(400, {"message": "The provided model identifier is invalid."}, ModelNotFound),
        "rate": Refusal(429, {"message": "Too many requests, please wait before trying again."}, ModelThrottled),
        "quota": Refusal(429, {"message": "Too many tokens per day, please wait."}, QuotaExhausted),
        "overflow": Refusal(400, {"message": "Input is too long for requested model."}, ContextWindowOverflow),
        "failure": Refusal(500, {"message": "The system had an unexpected error."}, NetworkError),
        "overload": Refusal(503, {"message": "Bedrock is unable to process your request."}, ModelOverloaded),
    },
    "proxy": {
        "key": Refusal(401, {"error": f"unknown token {KEY}"}, AuthenticationFailed),
        "rights": Refusal(403, {"error": "not for you"}, AuthenticationFailed),
        "model": Refusal(404, {"error": "model some-model is not served"}, ModelNotFound),
        "rate": Refusal(429, {"error": "slow down"}, ModelThrottled),
        "quota": Refusal(402, {"error": "no budget is left"}, QuotaExhausted),
        "overflow": Refusal(413, {"error": "the prompt is too long"}, ContextWindowOverflow),
        "failure": Refusal(500, {"error": "the proxy broke"}, NetworkError),
        "overload": Refusal(503, {"error": "all models are busy"}, ModelOverloaded),
    },
}


def _sent(data: Mapping[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


BUSY = "Too much to do; your key KEY is fine.".replace("KEY", KEY)
WITHIN: Mapping[str, tuple[bytes, type[ProviderError]]] = {
    "anthropic": (_sent(_anthropic("overloaded_error", BUSY), "error"), ModelOverloaded),
    "openai-chat": (_sent(_openai("rate_limit_exceeded", BUSY)), ModelThrottled),
    "openai": (
        _sent({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": BUSY}}}),
        ModelThrottled,
    ),
    "gemini": (_sent(_google(503, "UNAVAILABLE", BUSY)), ModelOverloaded),
    "vertex": (_sent(_google(429, "RESOURCE_EXHAUSTED", BUSY)), ModelThrottled),
    "ollama": (json.dumps({"error": BUSY}).encode() + b"\n", NetworkError),
    "bedrock": (bedrock_wire.exception("throttlingException", BUSY), ModelThrottled),
    "proxy": (
        _sent({"type": "error", "stop_reason": "error", "error_message": BUSY, "error_kind": "throttled"}),
        ModelThrottled,
    ),
}
"""Return an error inside a stream that began with 200."""
