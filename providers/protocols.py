"""Built-in protocols by the names that presets use; only the requested one is imported."""

from __future__ import annotations

from collections.abc import Mapping

from providers.endpoint import Endpoint
from providers.service import Opener, Service


def _anthropic(endpoint: Endpoint) -> Service:
    from providers.anthropic.provider import AnthropicProvider

    return AnthropicProvider(endpoint)


def _openai_chat(endpoint: Endpoint) -> Service:
    from providers.openai_chat.provider import ChatProvider

    return ChatProvider(endpoint)


def _openai_responses(endpoint: Endpoint) -> Service:
    from providers.openai_responses.provider import ResponsesProvider

    return ResponsesProvider(endpoint)


def _gemini(endpoint: Endpoint) -> Service:
    from providers.gemini.backend import GeminiApiBackend
    from providers.gemini.provider import GeminiProvider

    return GeminiProvider(GeminiApiBackend(endpoint))


def _vertex(endpoint: Endpoint) -> Service:
    from providers.gemini.provider import GeminiProvider
    from providers.gemini.vertex import VertexBackend

    return GeminiProvider(VertexBackend(endpoint))


def _bedrock(endpoint: Endpoint) -> Service:
    from providers.bedrock.backend import BedrockBackend
    from providers.bedrock.provider import BedrockProvider

    return BedrockProvider(BedrockBackend(endpoint))


def _ollama(endpoint: Endpoint) -> Service:
    from providers.ollama.provider import OllamaProvider

    return OllamaProvider(endpoint)


def _proxy(endpoint: Endpoint) -> Service:
    from providers.proxy.provider import ProxyProvider

    return ProxyProvider(endpoint)


PROTOCOLS: Mapping[str, Opener] = {
    "anthropic": _anthropic,
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "gemini": _gemini,
    "vertex": _vertex,
    "bedrock": _bedrock,
    "ollama": _ollama,
    "proxy": _proxy,
}
