"""`cinch plugin`: add and manage plugin folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cinch_tui.config.paths import find_paths
from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.plugin_folders import find_plugin, plugin_store, set_enabled
from cinch_tui.print_mode.output import Output
from cinch_tui.reports.plugins import detail_lines, summary_lines
from cinch_tui.subcommands.action_parser import ActionParser
from extensions.plugins.contents import read_contents
from extensions.plugins.store import InstalledPlugin, PluginStore
from harness.errors import ConfigError
from harness.messages import JsonObject

HELP = """\
cinch plugin add SOURCE [PLUGIN …]  show what plugins contain, ask, and add them. SOURCE is a
                        folder, a git URL, or OWNER/REPO on GitHub; #REF after it names a
                        branch, tag or commit. PLUGIN names those of a catalog
  --name NAME           add the plugin under another name
  --yes                 do not ask
cinch plugin list       list the plugins
  --json                print one JSON object per line
cinch plugin show NAME  show what a plugin contains
cinch plugin update [NAME …]
                        fetch plugins again, show what changed, and ask; default: all
  --yes                 do not ask
cinch plugin disable NAME, cinch plugin enable NAME
                        keep a plugin without using it, or use it again
cinch plugin remove NAME
                        delete a plugin
Changes apply from the next start on.
"""
_OTHER_NAMES = {"install": "add", "rm": "remove", "uninstall": "remove", "ls": "list"}


def run(argv: Sequence[str], cwd: Path, out: Output) -> int:
    """Run one action and return the exit status: 1 if the user declined.

    Raises:
        ConfigError: the arguments are invalid, or a plugin cannot be used.
    """
    if not argv or argv[0] in ("--help", "-h", "help") or list(argv[1:]) in (["--help"], ["-h"]):
        out.write_text(HELP)
        return 0
    action, arguments = _OTHER_NAMES.get(argv[0], argv[0]), list(argv[1:])
    store = plugin_store(find_paths(os.environ))
    if action in ("add", "update"):
        from cinch_tui.subcommands import plugin_add  # loads git and the catalogs

        return (plugin_add.add if action == "add" else plugin_add.update)(arguments, cwd, store, out)
    if action not in _ACTIONS:
        raise ConfigError(
            f"cinch plugin: unknown command {argv[0]!r}{did_you_mean(argv[0], (*_ACTIONS, 'add', 'update'))}"
        )
    _ACTIONS[action](arguments, store, out)
    return 0


def _list(argv: list[str], store: PluginStore, out: Output) -> None:
    parser = ActionParser("plugin", "list")
    parser.add_argument("--json", action="store_true")
    if not parser.parse_args(argv).json:
        out.write_text("\n".join(summary_lines(store)))
        return
    for name, plugin in store.plugins().items():
        out.write_json(_record(name, plugin, store))


def _record(name: str, plugin: InstalledPlugin, store: PluginStore) -> JsonObject:
    return {
        "name": name,
        "version": plugin.version,
        "source": plugin.source,
        "plugin": plugin.offer,
        "commit": plugin.commit,
        "enabled": plugin.enabled,
        "folder": str(store.path(plugin)),
    }


def _show(argv: list[str], store: PluginStore, out: Output) -> None:
    name = _name("show", argv)
    plugin = find_plugin(name, store)
    path = store.path(plugin)
    lines = list(detail_lines(name, plugin, read_contents(path)))
    out.write_text("\n".join((*lines, f"  folder: {path}", *([] if plugin.enabled else ["  disabled"]))))


def _remove(argv: list[str], store: PluginStore, out: Output) -> None:
    name = _name("remove", argv)
    with store.changing():
        find_plugin(name, store)
        store.put(name, None)
    out.write_text(f"removed {name}")


def _enable(argv: list[str], store: PluginStore, out: Output) -> None:
    _change(_name("enable", argv), store, out, enabled=True)


def _disable(argv: list[str], store: PluginStore, out: Output) -> None:
    _change(_name("disable", argv), store, out, enabled=False)


def _change(name: str, store: PluginStore, out: Output, *, enabled: bool) -> None:
    set_enabled(name, store, enabled=enabled)
    out.write_text(f"{'enabled' if enabled else 'disabled'} {name}, from the next start")


def _name(action: str, argv: list[str]) -> str:
    parser = ActionParser("plugin", action)
    parser.add_argument("name", metavar="NAME")
    name: str = parser.parse_args(argv).name
    return name


_ACTIONS: Mapping[str, Callable[[list[str], PluginStore, Output], None]] = {
    "list": _list,
    "show": _show,
    "remove": _remove,
    "enable": _enable,
    "disable": _disable,
}
