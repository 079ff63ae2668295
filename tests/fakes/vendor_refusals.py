"""Errors in the words of single vendors, from documentation and user reports, and their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
)

OF_OPENAI = {"type": "invalid_request_error", "param": None}


@dataclass(frozen=True, slots=True)
class VendorRefusal:
    """Expected error; `wait`: seconds until the retry, None for no retry, 1 where the service names none."""

    service: str
    status: int
    body: Mapping[str, Any] | str
    kind: type[ProviderError]
    reported: str
    wait: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        return f"{self.service}-{self.status}-{self.kind.__name__}-{self.reported[:20]}"


def _error(message: str, code: str | None = None, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "code": code, **OF_OPENAI, **more}}


def _mistral(message: str, code: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


def _overflow(service: str, message: str, status: int = 400) -> VendorRefusal:
    return VendorRefusal(service, status, _error(message), ContextWindowOverflow, "exceeds the model's context window")


TOO_LONG = [
    _overflow("xai", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    _overflow("groq", "Please reduce the length of the messages or completion."),
    _overflow(
        "groq", "Request too large for model `x` in organization `o` on tokens per minute (TPM): Limit 6000", 413
    ),
    _overflow("openai", "Request too large for gpt-5.5 (for limit of) tokens per min (TPM): it must be reduced.", 429),
    _overflow("together", "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
    _overflow("openrouter", "Input length 300000 exceeds the maximum allowed input length of 262144 tokens."),
    _overflow("zai", "Prompt exceeds max length"),
    _overflow("moonshot", "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"),
    _overflow("mistral", "Prompt contains 150000 tokens, too large for model with 131072 maximum context length"),
    _overflow("ollama", "prompt too long; exceeded max context length by 5 tokens"),
    _overflow("llamacpp", "Context size has been exceeded.", 500),
    _overflow("lmstudio", "The number of tokens to keep from the initial prompt is greater than the context length"),
    _overflow("vllm", "You passed 9000 input tokens. However, the model's context length is only 8192 tokens."),
    _overflow("litellm", "litellm.ContextWindowExceededError: this model cannot read that much"),
    _overflow("github-models", "Request body too large for gpt-4.1 model. Max size: 8000 tokens.", 413),
    VendorRefusal(
        "anthropic",
        413,
        {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}},
        ContextWindowOverflow,
        "exceeds the maximum size",
    ),
]

USED_UP = [
    VendorRefusal("deepseek", 402, _error("Insufficient Balance"), QuotaExhausted, "no credit or quota left"),
    VendorRefusal(
        "openrouter", 402, {"error": {"code": 402, "message": "More credits"}}, QuotaExhausted, "More credits"
    ),
    VendorRefusal(
        "openrouter",
        429,
        {"error": {"code": 429, "message": "Rate limit exceeded: free-models-per-day. Add 10 credits to go on."}},
        QuotaExhausted,
        "free-models-per-day",
    ),
    VendorRefusal(
        "zai",
        429,
        _error("Insufficient balance or no resource package. Please recharge.", "1113"),
        QuotaExhausted,
        "recharge",
    ),
    VendorRefusal(
        "zai", 429, _error("Usage limit reached for 5 hour. It will reset at 18:00.", "1308"), QuotaExhausted, "18:00"
    ),
    VendorRefusal(
        "litellm", 400, _error("Budget has been exceeded! Current cost: 5"), QuotaExhausted, "Budget has been"
    ),
    VendorRefusal(
        "huggingface",
        402,
        {"error": "You have exceeded your monthly included credits."},
        QuotaExhausted,
        "included credits",
    ),
]

TOO_FAST = [
    VendorRefusal(
        "openai-chat",
        429,
        _error(
            "Rate limit reached on tokens per min (TPM): Limit 30000. Please try again in 6.5s.", "rate_limit_exceeded"
        ),
        ModelThrottled,
        "too many requests",
        6.5,
    ),
    VendorRefusal(
        "openai-chat",
        429,
        _error("Rate limit reached on requests per day (RPD). Please try again in 7h12m0s.", "rate_limit_exceeded"),
        ModelThrottled,
        "7h12m0s",
    ),
    VendorRefusal(
        "openai-chat",
        429,
        _error("Rate limit reached"),
        ModelThrottled,
        "Rate limit reached",
        60,
        {
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": "1m0s",
            "x-ratelimit-remaining-tokens": "99",
            "x-ratelimit-reset-tokens": "6h0m0s",
        },
    ),
    VendorRefusal(
        "azure-chat",
        429,
        _error("Requests have exceeded call rate limit. Please retry after 3 seconds."),
        ModelThrottled,
        "call rate limit",
        3,
    ),
    VendorRefusal(
        "mistral",
        429,
        _mistral("Rate limit exceeded", "1300", "rate_limited"),
        ModelThrottled,
        "Rate limit exceeded",
        1,
    ),
    VendorRefusal("anthropic", 429, "slow", ModelThrottled, "slow", 1.5, {"retry-after-ms": "1500"}),
]

UNKNOWN = [
    VendorRefusal("deepseek", 400, _error("Model Not Exist"), ModelNotFound, "no such model"),
    VendorRefusal(
        "zai", 400, _error("Unknown Model, please check the model code.", "1211"), ModelNotFound, "no such model"
    ),
    VendorRefusal("mistral", 400, _mistral("Invalid model: x", "1500"), ModelNotFound, "Invalid model"),
    VendorRefusal(
        "groq",
        400,
        _error("The model `x` has been decommissioned and is no longer supported.", "model_decommissioned"),
        ModelNotFound,
        "decommissioned",
    ),
    VendorRefusal(
        "nvidia",
        410,
        {"status": 410, "title": "Gone", "detail": "The model 'x' has reached its end of life on 2026-05-01"},
        ModelNotFound,
        "end of life",
    ),
    VendorRefusal(
        "nvidia",
        404,
        {"status": 404, "detail": "Function 'f': Not found for account 'a'"},
        ModelNotFound,
        "for account",
    ),
    VendorRefusal(
        "openrouter",
        404,
        {"error": {"code": 404, "message": "No endpoints found for x/y."}},
        ModelNotFound,
        "no such model",
    ),
    VendorRefusal(
        "huggingface",
        400,
        _error("The requested model 'x' is not supported by any provider you have enabled.", "model_not_supported"),
        ModelNotFound,
        "by any provider",
    ),
    VendorRefusal(
        "azure-chat",
        404,
        {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}},
        ModelNotFound,
        "The API deployment",
    ),
    VendorRefusal(
        "openai",
        403,
        _error("Project `p` does not have access to model `gpt-6`", "model_not_found"),
        ModelNotFound,
        "does not have access",
    ),
]

OTHERWISE = [
    VendorRefusal(
        "groq",
        400,
        _error(
            "Failed to call a function. See 'failed_generation'.", "tool_use_failed", failed_generation="<function="
        ),
        InvalidReply,
        "the model produced an invalid reply",
        1,
    ),
    VendorRefusal(
        "groq", 400, _error("Parsing failed.", "output_parse_failed"), InvalidReply, "produced an invalid reply", 1
    ),
    VendorRefusal(
        "azure-chat",
        400,
        {
            "error": {
                "message": "The response was filtered.",
                "code": "content_filter",
                "innererror": {
                    "content_filter_result": {
                        "hate": {"filtered": False, "severity": "safe"},
                        "violence": {"filtered": True, "severity": "high"},
                        "jailbreak": {"filtered": True, "detected": True},
                    }
                },
            }
        },
        RequestRejected,
        "The response was filtered. (violence, jailbreak)",
    ),
    VendorRefusal(
        "mistral",
        422,
        {"detail": [{"loc": ["body", "a"], "msg": "is wrong"}, {"loc": ["body", "b"], "msg": "is missing"}]},
        RequestRejected,
        "body.a: is wrong; body.b: is missing",
    ),
    VendorRefusal(
        "groq", 403, _error("Access denied. Please check your network settings."), RequestRejected, "HTTP 403"
    ),
    VendorRefusal(
        "openai", 403, _error("Country, region, or territory not supported"), RequestRejected, "HTTP 403: Country"
    ),
    VendorRefusal(
        "gemini", 400, {"error": {"message": "User location is not supported"}}, RequestRejected, "User location"
    ),
    VendorRefusal("together", 401, {"error": "Invalid API key"}, AuthenticationFailed, "Invalid API key"),
    VendorRefusal("huggingface", 401, {"error": ["Invalid credentials"]}, AuthenticationFailed, "Invalid credentials"),
    VendorRefusal("llamacpp", 503, _error("Loading model", "503"), ModelOverloaded, "Loading model", 1),
    VendorRefusal("llamacpp", 500, _error("tools param requires --jinja flag"), RequestRejected, "requires --jinja"),
    VendorRefusal(
        "ollama", 500, {"error": "requires more system memory (9 GiB)"}, RequestRejected, "more system memory"
    ),
    VendorRefusal("vertex", 499, {"error": {"message": "The operation was cancelled."}}, NetworkError, "cancelled", 1),
    VendorRefusal("openai", 409, _error("Conflict"), NetworkError, "Conflict", 1),
    VendorRefusal("anthropic", 524, "error code: 524", NetworkError, "524", 1),
    VendorRefusal("anthropic", 529, {"error": {"type": "overloaded_error"}}, ModelOverloaded, "overloaded", 1),
]

VENDOR_REFUSALS = [*TOO_LONG, *USED_UP, *TOO_FAST, *UNKNOWN, *OTHERWISE]
