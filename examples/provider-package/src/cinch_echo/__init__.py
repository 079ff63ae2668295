"""Provider for servers that speak echo-wire, a protocol made up for this example."""

from __future__ import annotations

from cinch_echo.wire import EchoWire
from harness import ModelInfo
from providers.plugins import Endpoint, Preset, ProviderPlugin, Service, WireService

PRESET = Preset(
    name="echo",
    label="Echo",
    protocol="echo-wire",
    base_url="http://127.0.0.1:7007",
    base_url_variable="ECHO_BASE_URL",
    key_variables=("ECHO_API_KEY",),
    key_required=False,
    models_path="/models",
    default_model="parrot",
)


def open_echo(endpoint: Endpoint) -> Service:
    return WireService(endpoint, EchoWire())


def model_info(model_id: str) -> ModelInfo:
    """Return the context window, which decides when a conversation is shortened."""
    return ModelInfo(context_window=16_000 if model_id == "parrot" else 64_000)


PLUGIN = ProviderPlugin(PRESET, open_echo, model_info)
