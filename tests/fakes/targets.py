"""Targets of a history handover: how each is called, who validates the request, and its restrictions."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fakes.bedrock_judge import accepted_by_bedrock
from fakes.judges import (
    accepted_by_anthropic,
    accepted_by_google,
    accepted_by_mistral,
    accepted_by_ollama,
    accepted_by_openai,
    accepted_by_responses,
)

from harness.messages import JsonObject, JsonValue, ModelSpec
from harness.ports.provider import Request
from providers.anthropic.encode import encode as to_anthropic
from providers.anthropic.thinking import thinking_form
from providers.bedrock.encode import encode as to_bedrock
from providers.endpoint import Endpoint
from providers.gemini.encode import encode as to_gemini
from providers.ollama.encode import encode as to_ollama
from providers.ollama.model_card import ModelCard
from providers.openai_chat.dialect import dialect_of
from providers.openai_chat.encode import encode as to_chat
from providers.openai_responses.encode import encode as to_responses
from providers.preset import presets

PLAIN = r"[a-zA-Z0-9_-]{1,64}"


@dataclass(frozen=True, slots=True)
class Target:
    """A target; `protocol` is a reader of `turns`. `alternates`: model and user turns must alternate."""

    protocol: str
    spec: ModelSpec
    encode: Callable[[Request], JsonObject]
    accepts: Callable[[JsonObject], bool]
    ids: str = PLAIN
    names: str = PLAIN
    begins_with_user: bool = False
    alternates: bool = False
    speaks_after_results: bool = False


def _chat(spec: ModelSpec, judge: Callable[[JsonObject], bool], **rules: Any) -> Target:
    preset = presets()[spec.provider]
    dialect = dialect_of(Endpoint(preset, preset.base_url))
    return Target("chat", spec, lambda asked: to_chat(asked, dialect), judge, **rules)


def _accepted_by_chat(body: JsonObject) -> bool:
    return accepted_by_openai(_common(body))


def _common(body: JsonObject) -> JsonObject:
    """Return the body without the service's additions to OpenAI's fields."""
    own = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "cache_control", "session_id")
    return {name: _without(value, own) for name, value in body.items() if name not in own}


def _without(value: JsonValue, names: Collection[str]) -> JsonValue:
    if isinstance(value, dict):
        return {name: _without(inner, names) for name, inner in value.items() if name not in names}
    return [_without(inner, names) for inner in value] if isinstance(value, list) else value


def _blind_card() -> ModelCard:
    return ModelCard(capabilities=frozenset(("completion", "tools", "thinking")))


CHAT_IDS = r"[a-zA-Z0-9_-]{1,40}"
TARGETS: Mapping[str, Target] = {
    "anthropic": Target(
        "anthropic",
        ModelSpec("anthropic", "claude-opus-4-8"),
        lambda asked: to_anthropic(asked, thinking_form(asked.spec)),
        accepted_by_anthropic,
        begins_with_user=True,
        alternates=True,
    ),
    "openai-chat": _chat(ModelSpec("openai-chat", "gpt-5.6-terra"), _accepted_by_chat, ids=CHAT_IDS),
    "openrouter": _chat(ModelSpec("openrouter", "anthropic/claude-sonnet-5.5"), _accepted_by_chat, ids=CHAT_IDS),
    "deepseek": _chat(ModelSpec("deepseek", "deepseek-chat"), _accepted_by_chat, ids=CHAT_IDS),
    "moonshot": _chat(ModelSpec("moonshot", "kimi-k2.6"), _accepted_by_chat, ids=CHAT_IDS),
    "llamacpp": _chat(ModelSpec("llamacpp", "some-model"), _accepted_by_chat, ids=CHAT_IDS),
    "mistral": _chat(
        ModelSpec("mistral", "mistral-medium-3-5"),
        accepted_by_mistral,
        ids=r"[a-zA-Z0-9]{9}",
        speaks_after_results=True,
    ),
    "openai": Target("responses", ModelSpec("openai", "gpt-5.6-terra"), to_responses, accepted_by_responses),
    "gemini": Target(
        "gemini",
        ModelSpec("gemini", "gemini-3.8-flash"),
        to_gemini,
        accepted_by_google,
        names=r"[a-zA-Z_][\w.:-]{0,127}",
        begins_with_user=True,
        alternates=True,
    ),
    "vertex": Target(
        "gemini",
        ModelSpec("vertex", "gemini-2.5-pro"),
        to_gemini,
        accepted_by_google,
        names=r"[a-zA-Z_][\w.:-]{0,127}",
        begins_with_user=True,
        alternates=True,
    ),
    "ollama": Target(
        "chat", ModelSpec("ollama", "qwen3:8b"), lambda asked: to_ollama(asked, _blind_card()), accepted_by_ollama
    ),
    "bedrock": Target(
        "bedrock",
        ModelSpec("bedrock", "global.anthropic.claude-sonnet-5-5"),
        to_bedrock,
        accepted_by_bedrock,
        begins_with_user=True,
        alternates=True,
    ),
}


def fits(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None
