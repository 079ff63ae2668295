"""All providers: built-in ones, and those of installed packages with an entry point.

Packages are searched only when a name is unknown or all providers are requested, and imported only when used. One that
cannot be used is reported and affects nothing else.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from harness.errors import ConfigError
from harness.ports.provider import ModelInfo
from providers.endpoint import Endpoint
from providers.preset import Preset, nearest, presets
from providers.service import Opener, Service

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from providers.plugins import ProviderPlugin


logger = logging.getLogger(__name__)
# As in `harness.publishing`: nothing on stderr unless the program sets up logging.
logging.getLogger("providers").addHandler(logging.NullHandler())

GROUP = "cinch.providers"
NAME = r"[a-z0-9][a-z0-9._-]*"
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
    for plugin in _installed().usable():
        yield plugin.preset


def all_presets() -> Mapping[str, Preset]:
    """Return all presets by name."""
    return {preset.name: preset for preset in each_preset()}


def problems() -> list[str]:
    """Return the reasons why providers of packages cannot be used, one sentence each."""
    return _installed().problems()


def find_preset(name: str) -> Preset | None:
    """Return the preset of that name; None if no usable one exists."""
    if preset := presets().get(name):
        return preset
    plugin = _installed().get(name)
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
        from providers.plugin_check import describe_error

        raise ConfigError(f"the provider {preset.name} cannot describe {model_id}: {describe_error(error)}") from error


class PluginEntry(Struct, frozen=True):
    """Entry point of a provider package; nothing is imported yet."""

    point: EntryPoint
    package: str
    version: str

    @property
    def name(self) -> str:
        return self.point.name

    @property
    def source(self) -> str:
        return f"{self.package} {self.version}"

    def unusable(self, why: str) -> ConfigError:
        """Return why the provider cannot be used and what to do."""
        text = f"the provider {self.name!r} of the package {self.source} cannot be used: {why}"
        return ConfigError(f"{text}; update the package, or remove it: pip uninstall {self.package}")


class Installed:
    """Providers of packages; each is imported when it is first used."""

    def __init__(self, entries: Iterable[PluginEntry]) -> None:
        # Independent of the order of installation.
        self._entries = sorted(entries, key=lambda entry: (entry.name, entry.package))
        self._loaded: dict[str, ProviderPlugin | ConfigError] = {}

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(entry.name for entry in self._entries))

    def get(self, name: str) -> ProviderPlugin | ConfigError | None:
        """Return the provider of that name, or why it cannot be used; None if absent."""
        if name not in self._loaded:
            entry = next((entry for entry in self._entries if entry.name == name), None)
            if entry is None:
                return None
            self._loaded[name] = _load(entry)
        return self._loaded[name]

    def usable(self) -> list[ProviderPlugin]:
        found = (self.get(name) for name in self.names)
        return [plugin for plugin in found if plugin and not isinstance(plugin, ConfigError)]

    def problems(self) -> list[str]:
        found = (self.get(name) for name in self.names)
        hidden = [
            entry.unusable(f"{before.source} has a provider of the same name, which is used")
            for before, entry in pairwise(self._entries)
            if before.name == entry.name
        ]
        return [str(problem) for problem in (*found, *hidden) if isinstance(problem, ConfigError)]


def _plugin_for(name: str, *, asked: str = "") -> ProviderPlugin:
    plugin = _installed().get(name)
    if plugin is None:
        raise ConfigError(f"unknown provider {name!r}{_suggestion(asked or name)}")
    if isinstance(plugin, ConfigError):
        raise ConfigError(str(plugin))
    return plugin


def _suggestion(name: str) -> str:
    for preset in presets().values():
        if name.startswith(tuple(preset.families)):
            return f"; did you mean {preset.name}/{name}?"
    known = [*presets(), *_installed().names, "demo"]
    if close := nearest(name.partition("/")[0], known):
        return f"; did you mean {' or '.join(close)}?"
    return f"; known are {', '.join(known)}"


@cache
def _installed() -> Installed:
    return Installed(_entries() if has_entry_points(GROUP) else ())


def has_entry_points(group: str) -> bool:
    """Return True if some package may have entry points of a group; the metadata reader takes 30 ms to import."""
    for folder in sys.path:
        for file in Path(folder or ".").glob("*.*-info/entry_points.txt"):
            with suppress(OSError):
                if f"[{group}]".encode() in file.read_bytes():
                    return True
    return False


def _entries() -> Iterator[PluginEntry]:
    from importlib.metadata import distributions

    seen: set[str] = set()
    for distribution in distributions():
        try:
            entries = [entry for entry in distribution.entry_points if entry.group == GROUP]
            # Only then, since the name is read from another file.
            package, version = (distribution.name, distribution.version) if entries else ("", "")
        except Exception as error:  # noqa: BLE001 package metadata may be damaged in any way
            logger.info("the metadata of a package cannot be read: %s", error)
            continue
        # A package installed twice is found twice and imported from the first place.
        if entries and package not in seen:
            seen.add(package)
            yield from (PluginEntry(entry, package, version) for entry in entries)


def _load(entry: PluginEntry) -> ProviderPlugin | ConfigError:
    if entry.name in presets() or entry.name in BUILTIN:
        return entry.unusable("cinch has a built-in provider of that name")
    if not re.fullmatch(NAME, entry.name):
        return entry.unusable("a name consists of lower-case letters, digits, dots, dashes and underscores")
    from providers.plugin_check import describe_error, find_fault

    try:
        plugin = _plugin_in(entry.point.load())
        fault = find_fault(plugin, entry.name, PROTOCOLS.keys())
    except (Exception, SystemExit) as error:  # noqa: BLE001 third-party code, which may even try to exit
        return entry.unusable(describe_error(error))
    return entry.unusable(fault) if fault else plugin


def _plugin_in(found: object) -> ProviderPlugin:
    from providers.plugins import ProviderPlugin

    named = found() if callable(found) else found
    if not isinstance(named, Preset | ProviderPlugin):
        raise TypeError(f"expected a Preset or a ProviderPlugin, not {type(named).__name__}")
    return ProviderPlugin(named) if isinstance(named, Preset) else named
