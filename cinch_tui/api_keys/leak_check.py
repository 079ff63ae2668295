"""API keys in a prompt: found, taken out of the text and redacted."""

from __future__ import annotations

import re

from harness.structs import Redacted

_KEY_LINE = re.compile(
    r"^[ \t]*(?:#key|\A/key)[ \t]+(?P<provider>\S+)[ \t]+(?P<secret>\S+)[^\n]*\n?", re.MULTILINE | re.IGNORECASE
)
_PROVIDERS = {
    "sk-ant-": "anthropic",
    "sk-or-": "openrouter",
    "sk-": "openai",
    "AIza": "gemini",
    "gsk_": "groq",
    "xai-": "xai",
    "hf_": "huggingface",
    "csk-": "cerebras",
    "pplx-": "perplexity",
    "nvapi-": "nvidia",
}


class TypedKey(Redacted, frozen=True):
    _hidden = ("secret",)

    provider: str
    secret: str


def take_keys(text: str) -> tuple[str, tuple[TypedKey, ...]]:
    """Return `text` without its `#key provider secret` lines, and the keys in them.

    The whole line is removed: losing part of a prompt can be fixed, publishing a key cannot.
    """
    keys = tuple(TypedKey(match["provider"], match["secret"]) for match in _KEY_LINE.finditer(text))
    return (_KEY_LINE.sub("", text), keys) if keys else (text, ())


def without_keys(text: str) -> str:
    """Return the text as it may be stored: without `#key` lines, and with every other key redacted."""
    from harness.agent.guardrails import redact_secrets  # not before the first paint

    return redact_secrets(take_keys(text)[0])


def provider_of(secret: str) -> str:
    """Return the provider whose keys have this prefix; empty if unknown."""
    return next((provider for prefix, provider in _PROVIDERS.items() if secret.startswith(prefix)), "")
