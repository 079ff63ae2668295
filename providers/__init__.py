"""Models of many vendors, each behind `harness.provider.Provider`; `connect` finds one by its name."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from harness.errors import ConfigError
from harness.messages import ModelSpec, ThinkingLevel
from harness.provider import Model, Provider
from providers.catalog import (
    Credentials,
    EnvironmentCredentials,
    Preset,
    PricedFacts,
    Secret,
    preset_for,
    presets,
)
from providers.endpoint import Endpoint

__all__ = ["Credentials", "EnvironmentCredentials", "Secret", "connect", "endpoint_of", "presets"]


def connect(
    name: str,
    *,
    base_url: str | None = None,
    credentials: Credentials | None = None,
    thinking: ThinkingLevel = "off",
) -> Model:
    """The model of that name: `preset/model`, or a preset alone for its default model.

    Nothing is sent and no HTTP client is built. `base_url` beats the environment, which beats the preset.

    Raises:
        ConfigError: no such preset, no model named, no key found; the text says what to do.
    """
    preset_name, _, model_id = name.partition("/")
    if preset_name == "demo":
        # The tour is only loaded by those who take it.
        from providers.demo import demo_model

        return demo_model()
    preset = preset_for(name)
    model_id = model_id or preset.default_model
    provider = _open(preset, model_id, endpoint_of(preset, base_url, credentials))
    if not model_id:
        raise ConfigError(f"{preset.name}: say which model, as in {preset.name}/NAME")
    return Model(
        provider, ModelSpec(preset.name, model_id, thinking, base_url=base_url or ""), PricedFacts(preset, model_id)
    )


def endpoint_of(preset: Preset, base_url: str | None = None, credentials: Credentials | None = None) -> Endpoint:
    """Where the preset's models are reached, and with which key.

    Raises:
        ConfigError: a key is needed and none was found, or the base URL is not one.
    """
    chosen = base_url or os.environ.get(preset.base_url_variable, "").strip()
    secret = (credentials or EnvironmentCredentials()).find(preset.name, preset.variables)
    # A server of one's own often needs no key; if it does, it says so.
    if secret is None and preset.key_required and not chosen:
        raise ConfigError(_missing_key(preset))
    if secret is not None:
        secret = _usable(secret)
    return Endpoint(preset, _tidy(chosen or preset.base_url), secret)


def _open(preset: Preset, model_id: str, endpoint: Endpoint) -> Provider:
    # Only the one dialect that was asked for is imported: start-up time.
    match preset.protocol:
        case "anthropic":
            from providers.anthropic.provider import AnthropicProvider

            return AnthropicProvider(endpoint)
        case "openai_chat":
            from providers.openai_chat.provider import ChatProvider

            return ChatProvider(endpoint)
        case _:
            name = f"{preset.name}-chat/{model_id or 'MODEL'}"
            raise ConfigError(f"{preset.name}: the Responses API comes with a later release; until then use {name}")


def _missing_key(preset: Preset) -> str:
    looked = " or ".join(preset.variables)
    first = preset.key_variables[0]
    return (
        f"no key for {preset.label}: neither {looked} nor a stored key was found; "
        f"enter one with #key {preset.name}, or set the variable: export {first}=…"
    )


def _usable(secret: Secret) -> Secret:
    value = secret.value.strip()
    if not re.fullmatch(r"[\x21-\x7e]+", value):
        raise ConfigError(f"the key from {secret.source} has characters that no key has; enter it again")
    return Secret(value, secret.source, secret.variable)


def _tidy(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
    except ValueError as error:
        raise ConfigError(f"the base URL {base_url!r} cannot be read: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"the base URL {base_url!r} must begin with http:// or https:// and name a host")
    return base_url.rstrip("/")
