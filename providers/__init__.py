"""Models of many vendors, each behind `harness.ports.provider.Provider`; `connect` returns one by its name."""

from __future__ import annotations

from msgspec.structs import replace

try:
    import harness.errors  # pyright: ignore[reportUnusedImport] only to see that it is ours
except ImportError as error:
    import harness

    message = f"{harness!r} hides the package of that name which cinch-tui brings and providers needs: rename it"
    raise ImportError(message) from error

import os
from pathlib import Path
from typing import TypedDict, Unpack
from urllib.parse import urlsplit

from harness.errors import ConfigError
from harness.messages import ModelSpec
from harness.ports.provider import Model, ModelInfoSource, StaticModelInfo
from harness.thinking_level import ThinkingLevel
from providers.endpoint import Endpoint, address_in, is_key
from providers.installed import all_presets, described_model, preset_for, service_at
from providers.model_catalog.local_servers import local_model_info
from providers.model_catalog.metadata import MetadataSource, ServerMetadataSource
from providers.model_catalog.prices import PricedModelInfo
from providers.preset import Credentials, EnvironmentCredentials, Preset, Secret, presets
from providers.service import ApiKey, KeyedService, Service
from providers.wire.image_support import ImageFallback

__all__ = [
    "ApiKey",
    "ConnectOptions",
    "Credentials",
    "EnvironmentCredentials",
    "Secret",
    "Service",
    "all_presets",
    "connect",
    "endpoint_of",
    "list_models",
    "presets",
]


class ConnectOptions(TypedDict, total=False):
    """Keyword arguments of `connect`."""

    base_url: str | None
    """API base URL; takes precedence over the environment variable and the preset."""

    api_key: ApiKey | None
    """A key, or a sync or async callback that returns one and is called before each request; takes precedence over
    `credentials`."""

    credentials: Credentials | None
    """Source of the key; by default, the preset's environment variables."""

    thinking: ThinkingLevel
    """Thinking level, "off" by default."""

    record: Path | None
    """Cassette to which requests and replies are appended, without secrets; by default that of `CINCH_RECORD`."""


def connect(name: str, **options: Unpack[ConnectOptions]) -> Model:
    """Return a model by name: `preset/model`, a preset alone for its default model, or `replay/PATH` to replay a
    cassette.

    Nothing is sent and no HTTP client is built. A missing key raises `AuthenticationFailed` at the first request,
    because `AgentOptions.get_api_key` may supply it; if `credentials` are given, it is an error here. The keyword
    arguments are those of `ConnectOptions`.

    Raises:
        ConfigError: Unknown preset, missing model name or cassette, or no key in `credentials`; the text says what to
            do.
    """
    thinking = options.get("thinking", "off")
    preset_name, _, model_id = name.partition("/")
    if preset_name == "demo":
        # The tour is only loaded when it is used.
        from providers.demo import demo_model

        return demo_model()
    if preset_name == "local":
        from providers.gguf.provider import local_model

        return local_model(model_id, thinking)
    if preset_name == "replay":
        from providers.cassette.provider import replay_model

        return replay_model(model_id, lambda endpoint: ImageFallback(service_at(endpoint), endpoint), thinking)
    preset = preset_for(name)
    model_id = model_id or preset.default_model
    base_url = options.get("base_url")
    endpoint = _with_recording(_endpoint_for(preset, options), model_id, options.get("record"))
    service = service_at(endpoint)
    if not model_id:
        raise ConfigError(
            f'{preset.name}: name a model, as in {preset.name}/NAME; list_models("{preset.name}") lists them'
        )
    spec = ModelSpec(preset.name, model_id, thinking, base_url=base_url or "")
    # Another server with the same protocol may not support these parts of it.
    enforces = endpoint.is_vendors_own and preset.enforces_schema(model_id)
    searches = endpoint.is_vendors_own and preset.searches(model_id)
    info = _model_info(endpoint, model_id, service)
    provider = _keyed(ImageFallback(service, endpoint, info), endpoint, options.get("api_key"))
    return Model(provider, spec, info, native_schema=enforces, native_search=searches)


async def list_models(
    preset_name: str, *, base_url: str | None = None, credentials: Credentials | None = None
) -> list[str]:
    """Return the models that a preset's server lists.

    Raises:
        ConfigError: As for `connect`.
        ProviderError: The server could not be queried.
    """
    service = service_at(endpoint_of(preset_for(preset_name), base_url, credentials))
    try:
        return await service.models()
    finally:
        await service.close()


def endpoint_of(preset: Preset, base_url: str | None = None, credentials: Credentials | None = None) -> Endpoint:
    """Return the address and key for a preset.

    Raises:
        ConfigError: A required key was not found, or the base URL is invalid.
    """
    endpoint = _endpoint(preset, base_url, _find_key(preset, credentials))
    if _lacks_key(endpoint):
        raise ConfigError(preset.missing_key)
    return endpoint


def _endpoint_for(preset: Preset, options: ConnectOptions) -> Endpoint:
    base_url, key, credentials = options.get("base_url"), options.get("api_key"), options.get("credentials")
    if key is None and credentials is not None:
        return endpoint_of(preset, base_url, credentials)
    secret = Secret(key, "api_key=") if isinstance(key, str) else _find_key(preset, credentials)
    return _endpoint(preset, base_url, secret)


def _find_key(preset: Preset, credentials: Credentials | None) -> Secret | None:
    return (credentials or EnvironmentCredentials()).find(preset.name, preset.variables)


def _endpoint(preset: Preset, base_url: str | None, secret: Secret | None) -> Endpoint:
    chosen = base_url or address_in(os.environ.get(preset.base_url_variable, "").strip(), preset.local_port)
    if not chosen and ("RESOURCE" in preset.base_url or not preset.base_url):
        raise ConfigError(
            f"{preset.label}: no address; set {preset.base_url_variable}=https://…, or pass base_url= to connect()"
        )
    return Endpoint(preset, _tidy(chosen or preset.base_url, preset.base_path), _usable(secret) if secret else None)


def _lacks_key(endpoint: Endpoint) -> bool:
    # Another server often needs no key; if it does, its error says so.
    return endpoint.secret is None and endpoint.preset.key_required and endpoint.is_vendors_own


def _keyed(provider: ImageFallback, endpoint: Endpoint, api_key: ApiKey | None) -> ImageFallback | KeyedService:
    callback = None if isinstance(api_key, str) else api_key
    lacks_key = _lacks_key(endpoint)
    if callback is None and not lacks_key:
        return provider
    return KeyedService(provider, endpoint.preset, callback, key_required=lacks_key)


def _with_recording(endpoint: Endpoint, model_id: str, record: Path | None) -> Endpoint:
    named = record or os.environ.get("CINCH_RECORD", "").strip()
    if not named or not model_id:
        return endpoint
    # Imported here: recording is rare.
    from providers.cassette.wires import recording_wire

    return replace(endpoint, wire=recording_wire(endpoint, model_id, Path(named)))


def _model_info(endpoint: Endpoint, model_id: str, service: Service) -> ModelInfoSource:
    preset = endpoint.preset
    if preset.window_path and isinstance(service, ServerMetadataSource):
        return local_model_info(service, model_id)
    described = described_model(preset, model_id)
    if described:
        return StaticModelInfo(described)
    # The list is used where it costs one request with a key; in a recording it would be noise.
    is_simple = endpoint.is_vendors_own and endpoint.secret is not None and endpoint.wire is None
    return PricedModelInfo(preset, model_id, service if is_simple and isinstance(service, MetadataSource) else None)


def _usable(secret: Secret) -> Secret:
    value = secret.value.strip()
    if not is_key(value):
        raise ConfigError(
            f"the key from {secret.source} contains characters that are not valid in a key; enter it again"
        )
    return Secret(value, secret.source, secret.variable)


def _tidy(base_url: str, default_path: str = "") -> str:
    try:
        parts = urlsplit(base_url)
    except ValueError as error:
        raise ConfigError(f"the base URL {base_url!r} is not a valid URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"the base URL {base_url!r} must start with http:// or https:// and contain a host")
    if "@" in parts.netloc:
        # The URL is displayed and stored in places where passwords must not appear.
        raise ConfigError(
            f"the base URL of {parts.hostname} must not contain a user name or password; use a key instead"
        )
    return base_url.rstrip("/") + (default_path if parts.path in ("", "/") else "")
