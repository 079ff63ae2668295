"""All providers there are: ours, and those that packages in this environment bring as entry points.

Another package is looked for only when a name is not ours or all are asked for, and imported only when it is meant. One
that cannot be used is told of in a sentence and is in nobody's way.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import ConfigError
from harness.lazy_dataclass import dataclass
from harness.ports.provider import ModelInfo
from providers.catalog import Preset, nearest, presets
from providers.endpoint import Endpoint
from providers.protocols import PROTOCOLS
from providers.service import Service

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from providers.plugins import ProviderPlugin

logger = logging.getLogger(__name__)
# As in `harness.publishing.bus`: nothing on stderr unless the program sets up logging.
logging.getLogger("providers").addHandler(logging.NullHandler())

GROUP = "cinch.providers"
NAME = r"[a-z0-9][a-z0-9._-]*"
# They are no presets, and ours all the same.
OURS = ("demo", "replay", "local")


def each_preset() -> Iterator[Preset]:
    """Ours in the order in which people are shown them; then those of other packages, only then looked for."""
    yield from presets().values()
    for plugin in _installed().usable():
        yield plugin.preset


def all_presets() -> Mapping[str, Preset]:
    """Each of them, by name."""
    return {preset.name: preset for preset in each_preset()}


def problems() -> list[str]:
    """What keeps providers of other packages from being used, a sentence for each."""
    return _installed().problems()


def find_preset(name: str) -> Preset | None:
    """The preset of that name; None where there is none that can be used."""
    if preset := presets().get(name):
        return preset
    plugin = _installed().get(name)
    return None if plugin is None or isinstance(plugin, Unusable) else plugin.preset


def preset_for(name: str) -> Preset:
    """The preset of a model's name, which is its part before the first slash.

    Raises:
        ConfigError: there is none, or it cannot be used; the text says what to do.
    """
    preset_name = name.partition("/")[0]
    if preset := presets().get(preset_name):
        return preset
    return _plugin_for(preset_name, asked=name).preset


def service_at(endpoint: Endpoint) -> Service:
    """The service at an endpoint; nothing is sent yet.

    Raises:
        ConfigError: it is another package's and cannot be made.
    """
    if opener := PROTOCOLS.get(endpoint.preset.protocol):
        return opener(endpoint)
    from providers.guard import open_guarded

    return open_guarded(_plugin_for(endpoint.preset.name), endpoint)


def described_model(preset: Preset, model_id: str) -> ModelInfo | None:
    """What another package says of its model.

    Raises:
        ConfigError: it failed to.
    """
    if preset.name in presets():
        return None
    plugin = _plugin_for(preset.name)
    try:
        return plugin.facts(model_id) if plugin.facts else None
    except Exception as error:  # a stranger's code
        from providers.guard import describe_error

        raise ConfigError(f"the provider {preset.name} cannot tell of {model_id}: {describe_error(error)}") from error


@dataclass(frozen=True, slots=True)
class Unusable:
    """A provider that is installed and cannot be used."""

    problem: str


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """A provider that a package says it brings; nothing of it is imported yet."""

    entry: EntryPoint
    package: str
    version: str

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def source(self) -> str:
        return f"{self.package} {self.version}"

    def unusable(self, why: str) -> str:
        """That it cannot be used, why, and what to do."""
        told = f"the provider {self.name!r} of the package {self.source} is left out: {why}"
        return f"{told}; update the package, or remove it: pip uninstall {self.package}"


class Installed:
    """The providers of other packages; each is imported when it is first meant."""

    def __init__(self, offers: Iterable[PluginEntry]) -> None:
        # The same order on every machine, whatever was installed first.
        self._offers = sorted(offers, key=lambda offer: (offer.name, offer.package))
        self._loaded: dict[str, ProviderPlugin | Unusable] = {}

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(offer.name for offer in self._offers))

    def get(self, name: str) -> ProviderPlugin | Unusable | None:
        """The provider of that name, or why it cannot be used; None where nobody brings one."""
        if name not in self._loaded:
            offer = next((offer for offer in self._offers if offer.name == name), None)
            if offer is None:
                return None
            self._loaded[name] = _load(offer)
        return self._loaded[name]

    def usable(self) -> list[ProviderPlugin]:
        found = (self.get(name) for name in self.names)
        return [plugin for plugin in found if plugin and not isinstance(plugin, Unusable)]

    def problems(self) -> list[str]:
        found = (self.get(name) for name in self.names)
        return [*(each.problem for each in found if isinstance(each, Unusable)), *self._latecomers()]

    def _latecomers(self) -> Iterator[str]:
        for before, offer in pairwise(self._offers):
            if before.name == offer.name:
                yield offer.unusable(f"{before.source} brings one of that name, which comes first")


def _plugin_for(name: str, *, asked: str = "") -> ProviderPlugin:
    match _installed().get(name):
        case None:
            raise ConfigError(f"unknown provider {name!r}{_suggestion(asked or name)}")
        case Unusable(problem):
            raise ConfigError(problem)
        case plugin:
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
    return Installed(_offers() if has_entry_points(GROUP) else ())


def has_entry_points(group: str) -> bool:
    """Whether to look further for entry points of a group: what reads packages' metadata takes 30 ms to import, and
    hardly anybody needs it."""
    folders = (Path(entry or ".") for entry in sys.path)
    return any(_offers_in(file, group) for folder in folders for file in folder.glob("*.*-info/entry_points.txt"))


def _offers_in(file: Path, group: str) -> bool:
    try:
        return f"[{group}]".encode() in file.read_bytes()
    except OSError:
        return False


def _offers() -> Iterator[PluginEntry]:
    from importlib.metadata import distributions

    seen: set[str] = set()
    for distribution in distributions():
        try:
            entries = [entry for entry in distribution.entry_points if entry.group == GROUP]
            # Only then, since the name is read from a file of its own.
            package, version = (distribution.name, distribution.version) if entries else ("", "")
        except Exception as error:  # noqa: BLE001 what describes a package may be damaged in any way
            logger.info("the description of a package cannot be read: %s", error)
            continue
        # What is installed twice is found twice, and imported from the first place.
        if entries and package not in seen:
            seen.add(package)
            yield from (PluginEntry(entry, package, version) for entry in entries)


def _load(offer: PluginEntry) -> ProviderPlugin | Unusable:
    if offer.name in presets() or offer.name in OURS:
        return Unusable(offer.unusable("cinch has a provider of that name"))
    if not re.fullmatch(NAME, offer.name):
        return Unusable(offer.unusable("a name is of small letters, digits, dots, dashes and underscores"))
    from providers.guard import describe_error, find_fault

    try:
        plugin = _plugin_in(offer.entry.load())
        fault = find_fault(plugin, offer.name, PROTOCOLS.keys())
    except (Exception, SystemExit) as error:  # noqa: BLE001 a stranger's code, which may even try to end the program
        return Unusable(offer.unusable(describe_error(error)))
    return Unusable(offer.unusable(fault)) if fault else plugin


def _plugin_in(found: object) -> ProviderPlugin:
    from providers.plugins import ProviderPlugin

    named = found() if callable(found) else found
    match named:
        case ProviderPlugin():
            return named
        case Preset():
            return ProviderPlugin(named)
        case _:
            raise TypeError(f"a Preset or a ProviderPlugin is wanted, and this is a {type(named).__name__}")
