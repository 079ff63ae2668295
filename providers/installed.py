"""All providers: built-in ones, and those of installed packages with an entry point.

Packages are searched only when a name is unknown or all providers are requested, and imported only when used. One that
cannot be used is reported and affects nothing else.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from harness.entry_points import PackageObjects, created, describe_error
from harness.errors import ConfigError
from harness.ports.provider import ModelInfo
from providers.endpoint import Endpoint
from providers.preset import Preset, nearest, presets
from providers.service import Opener, Service

if TYPE_CHECKING:
    from providers.plugins import ProviderPlugin


logger = logging.getLogger(__name__)
# As in `harness.publishing`: nothing on stderr unless the program sets up logging.
logging.getLogger("providers").addHandler(logging.NullHandler())

GROUP = "cinch.providers"
NAME = r"[a-z0-9][a-z0-9._-]*"
NAME_RULE = "a name consists of lower-case letters, digits, dots, dashes and underscores"
# Built-in names without a preset.
BUILTIN = ("demo", "replay", "local")
PROTOCOLS: Mapping[str, str] = {
    "anthropic": "providers.anthropic.provider:AnthropicProvider",
    "openai_chat": "providers.openai_chat.provider:ChatProvider",
    "openai_responses": "providers.openai_responses.provider:ResponsesProvider",
    "gemini": "providers.gemini.provider:GeminiProvider",
    "vertex": "providers.gemini.vertex:VertexProvider",
    "bedrock": "providers.bedrock.provider:BedrockProvider",
    "ollama": "providers.ollama.provider:OllamaProvider",
    "proxy": "providers.proxy.provider:ProxyProvider",
}
"""Opener of each built-in protocol, by the names that presets use; imported when it is called."""


def each_preset() -> Iterator[Preset]:
    """Yield the built-in presets in display order, then those of packages, which are searched only then."""
    yield from presets().values()
    for plugin in installed_providers().usable():
        yield plugin.preset


def all_presets() -> Mapping[str, Preset]:
    """Return all presets by name."""
    return {preset.name: preset for preset in each_preset()}


def problems() -> list[str]:
    """Return the reasons why providers of packages cannot be used, one sentence each."""
    return installed_providers().problems()


def find_preset(name: str) -> Preset | None:
    """Return the preset of that name; None if no usable one exists."""
    if preset := presets().get(name):
        return preset
    plugin = installed_providers().get(name)
    return None if plugin is None or isinstance(plugin, ConfigError) else plugin.preset


def preset_for(name: str) -> Preset:
    """Return the preset of a model's name, which is its part before the first slash.

    Raises:
        ConfigError: It does not exist or cannot be used; the text says what to do.
    """
    preset_name = name.partition("/")[0]
    if preset := presets().get(preset_name):
        return preset
    return _plugin_for(preset_name, asked=name).preset


def service_at(endpoint: Endpoint) -> Service:
    """Return the service at an endpoint; nothing is sent yet.

    Raises:
        ConfigError: It belongs to a package and cannot be created.
    """
    if named := PROTOCOLS.get(endpoint.preset.protocol):
        module, _, name = named.partition(":")
        opener: Opener = getattr(import_module(module), name)
        return opener(endpoint)
    from providers.plugin_check import open_guarded

    return open_guarded(_plugin_for(endpoint.preset.name), endpoint)


def described_model(preset: Preset, model_id: str) -> ModelInfo | None:
    """Return a package's information about its model.

    Raises:
        ConfigError: The package failed.
    """
    if preset.name in presets():
        return None
    plugin = _plugin_for(preset.name)
    try:
        return plugin.facts(model_id) if plugin.facts else None
    except Exception as error:  # third-party code
        raise ConfigError(f"the provider {preset.name} cannot describe {model_id}: {describe_error(error)}") from error


def _plugin_for(name: str, *, asked: str = "") -> ProviderPlugin:
    plugin = installed_providers().get(name)
    if plugin is None:
        raise ConfigError(f"unknown provider {name!r}{_suggestion(asked or name)}")
    if isinstance(plugin, ConfigError):
        raise ConfigError(str(plugin))
    return plugin


def _suggestion(name: str) -> str:
    for preset in presets().values():
        if name.startswith(tuple(preset.families)):
            return f"; did you mean {preset.name}/{name}?"
    known = [*presets(), *installed_providers().names, "demo"]
    if close := nearest(name.partition("/")[0], known):
        return f"; did you mean {' or '.join(close)}?"
    return f"; known are {', '.join(known)}"


@cache
def installed_providers() -> PackageObjects[ProviderPlugin]:
    """Return the providers of packages, by the name before the slash."""
    return PackageObjects(GROUP, _checked, _reject_name)


def _reject_name(name: str) -> str:
    if name in presets() or name in BUILTIN:
        return "cinch has a built-in provider of that name"
    return "" if re.fullmatch(NAME, name) else NAME_RULE


def _checked(found: object, name: str) -> ProviderPlugin:
    from providers.plugin_check import find_fault
    from providers.plugins import ProviderPlugin

    plugin = created(found)
    if not isinstance(plugin, Preset | ProviderPlugin):
        raise ConfigError(f"expected a Preset or a ProviderPlugin, not {type(plugin).__name__}")
    plugin = ProviderPlugin(plugin) if isinstance(plugin, Preset) else plugin
    if fault := find_fault(plugin, name, PROTOCOLS.keys()):
        raise ConfigError(fault)
    return plugin
