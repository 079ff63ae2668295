"""The command `/plugin`: lists plugins, and turns them on and off."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from cinch_tui.plugin_folders import find_plugin, plugin_store, set_enabled

if TYPE_CHECKING:
    from extensions.plugins.store import PluginStore

PLUGINS = CommandGroup("Plugins")


def _choices(host: CommandHost) -> tuple[Choice, ...]:
    choices = [Choice("reload", "use the plugins and other extensions that are installed now")]
    for name, plugin in plugin_store(host.session.options.paths).plugins().items():
        choices.append(Choice(name, plugin.description))
        choices.append(Choice(f"disable {name}" if plugin.enabled else f"enable {name}"))
    return tuple(choices)


@PLUGINS.command("/plugin [action name]", "show plugins; turn one on or off", while_running=False, arguments=_choices)
async def plugin(host: CommandHost, argument: str) -> None:
    store = plugin_store(host.session.options.paths)
    action, _, name = argument.partition(" ")
    if action in ("add", "update", "remove"):
        host.notice(f"Run in a shell: cinch plugin {argument}. Then use /plugin reload here.")
    elif argument == "reload":
        await host.session.reload_folder()
        host.notice("Plugins and other extensions are up to date.")
    elif action in ("enable", "disable") and name:
        await asyncio.to_thread(set_enabled, name, store, enabled=action == "enable")
        await host.session.reload_folder()
        host.notice(f"{name} is {action}d.")
    else:
        lines = await asyncio.to_thread(_lines, argument.removeprefix("show").strip(), store)
        # Indented, the lines are not Markdown.
        host.show("Plugins", textwrap.indent("\n".join(lines), "    "))


def _lines(name: str, store: PluginStore) -> Sequence[str]:
    # Imported here because few users have plugins.
    from cinch_tui.reports.plugins import detail_lines, summary_lines
    from extensions.plugins.contents import read_contents

    if not name or name == "list":
        return list(summary_lines(store))
    plugin = find_plugin(name, store)
    return list(detail_lines(name, plugin, read_contents(store.path(plugin))))
