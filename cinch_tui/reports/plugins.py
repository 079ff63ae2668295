"""Installed plugins and their contents as text."""

from __future__ import annotations

from collections.abc import Iterator

from extensions.plugins.contents import PluginContents, read_contents
from extensions.plugins.store import InstalledPlugin, PluginStore
from harness.terminal_text import escape_controls

NO_PLUGINS = "no plugins; to add one: cinch plugin add FOLDER, GIT-URL or OWNER/REPO"
_SHORT_COMMIT = 10


def summary_lines(store: PluginStore) -> Iterator[str]:
    """Yield two lines for each installed plugin: what it contains, and where it comes from.

    Raises:
        ConfigError: The list of plugins cannot be read.
    """
    plugins = store.plugins()
    if not plugins:
        yield NO_PLUGINS
    for name, plugin in plugins.items():
        path = store.path(plugin)
        contents = read_contents(path).counts if path.is_dir() else f"missing; cinch plugin update {name}"
        state = "" if plugin.enabled else "  (disabled)"
        yield f"{_titled(name, plugin)}: {contents}{state}"
        yield f"  {origin(plugin)}"


def detail_lines(name: str, plugin: InstalledPlugin, contents: PluginContents) -> Iterator[str]:
    """Yield what a plugin is and contains."""
    about = f": {plugin.description}" if plugin.description else ""
    yield escape_controls(f"{_titled(name, plugin)}{about}")
    yield f"  from {origin(plugin)}"
    yield from (f"  {line}" for line in contents.lines())
    yield from (f"  note: {escape_controls(each)}" for each in contents.problems)


def origin(plugin: InstalledPlugin) -> str:
    """Return where a plugin comes from."""
    commit = f" at commit {plugin.commit[:_SHORT_COMMIT]}" if plugin.commit else ""
    offer = f"{plugin.offer} of " if plugin.offer else ""
    return escape_controls(f"{offer}{plugin.source}{commit}")


def _titled(name: str, plugin: InstalledPlugin) -> str:
    return escape_controls(f"{name} {plugin.version}".rstrip())
