"""API keys typed into the prompt: taken out of the text before it is parsed, kept or sent."""

from __future__ import annotations

import re
from dataclasses import field

from harness.lazy_dataclass import dataclass

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


@dataclass(frozen=True, slots=True)
class TypedKey:
    provider: str
    secret: str = field(repr=False)


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
