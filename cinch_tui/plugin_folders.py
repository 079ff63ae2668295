"""Installed plugins of the user, as a start uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cinch_tui.fuzzy_match import did_you_mean
from harness.errors import ConfigError

if TYPE_CHECKING:
    from cinch_tui.config.paths import Paths
    from extensions.locations import Root
    from extensions.plugins.store import InstalledPlugin, PluginStore


def plugin_store(paths: Paths) -> PluginStore:
    """Return the installed plugins."""
    from extensions.plugins.store import PluginStore  # few users have plugins

    return PluginStore(paths.data / "plugins")


def outside_plugins(problems: Iterable[str], paths: Paths) -> Iterator[str]:
    """Yield the problems that are not with files of plugins, which were shown when the plugin was added."""
    folder = f"{paths.data / 'plugins'}/"
    return (each for each in problems if not each.startswith(folder))


def installed_roots(paths: Paths) -> tuple[Sequence[Root], Sequence[str]]:
    """Return a root for each enabled plugin, and problems for the user. Costs one look-up without plugins."""
    if not (paths.data / "plugins").is_dir():
        return (), ()
    from extensions.plugins.store import plugin_roots  # few users have plugins

    return plugin_roots(plugin_store(paths))


def set_enabled(name: str, store: PluginStore, *, enabled: bool) -> None:
    """Use a plugin, or keep it without using it, from the next start on.

    Raises:
        ConfigError: No plugin has this name, or the change cannot be stored.
    """
    with store.changing():
        store.put(name, replace(find_plugin(name, store), enabled=enabled))


def find_plugin(name: str, store: PluginStore) -> InstalledPlugin:
    """Return an installed plugin.

    Raises:
        ConfigError: No plugin has this name.
    """
    plugins = store.plugins()
    if name not in plugins:
        raise ConfigError(f"no plugin is named {name!r}{did_you_mean(name, plugins, otherwise='; cinch plugin list')}")
    return plugins[name]
