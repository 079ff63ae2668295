"""`cinch plugin add` and `cinch plugin update`."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.plugin_folders import find_plugin
from cinch_tui.print_mode.output import Output
from cinch_tui.reports.plugins import detail_lines, origin
from cinch_tui.subcommands.action_parser import ActionParser
from extensions.plugins.contents import PluginContents, read_contents
from extensions.plugins.preparation import Preparation, PreparedPlugin
from extensions.plugins.staging import file_hashes
from extensions.plugins.store import InstalledPlugin, PluginStore
from harness.errors import ConfigError
from harness.terminal_text import escape_controls

_MOST_OFFERS = 200
_MOST_FILES = 20


class _Arguments(argparse.Namespace):
    source: str
    names: list[str]
    name: str
    yes: bool


def add(argv: list[str], cwd: Path, store: PluginStore, out: Output) -> int:
    """Add the plugins of a source and return the exit status: 1 if the user declined.

    Raises:
        ConfigError: the arguments are invalid, or a plugin cannot be used.
    """
    parser = ActionParser("plugin", "add")
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("names", nargs="*", metavar="PLUGIN")
    parser.add_argument("--name", default="")
    parser.add_argument("--yes", "-y", action="store_true")
    arguments = parser.parse_args(argv, namespace=_Arguments())
    with store.changing() as staging:
        source = Preparation(arguments.source, cwd, staging, os.environ, out.write_text)
        wanted = _wanted(source, arguments, out)
        if arguments.name and len(wanted) > 1:
            raise ConfigError("cinch plugin add: --name is for one plugin")
        prepared = [source.plugin(each, arguments.name) for each in wanted]
        installed = store.plugins()
        for each in prepared:
            if each.name in installed:
                raise ConfigError(
                    f"a plugin named {each.name} is installed already; cinch plugin update {each.name} updates it, "
                    "--name adds this one under another name"
                )
        for each in prepared:
            out.write_text("\n".join(detail_lines(each.name, each.record, each.contents)))
        _warn_of_programs([each.contents for each in prepared], out)
        if not _agrees("Add it?" if len(prepared) == 1 else f"Add these {len(prepared)} plugins?", arguments):
            out.write_text("nothing was added")
            return 1
        for each in prepared:
            store.install(each.name, each.record, each.copy)
    out.write_text(f"added {', '.join(each.name for each in prepared)}, from the next start")
    return 0


def update(argv: list[str], cwd: Path, store: PluginStore, out: Output) -> int:
    """Update plugins and return the exit status: 1 if the user declined, or one cannot be updated.

    Raises:
        ConfigError: the arguments are invalid.
    """
    parser = ActionParser("plugin", "update")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--yes", "-y", action="store_true")
    arguments = parser.parse_args(argv, namespace=_Arguments())
    status = 0
    with store.changing() as staging:
        wanted = {name: find_plugin(name, store) for name in arguments.names} or store.plugins()
        prepare = partial(Preparation, cwd=cwd, staging=staging, environ=os.environ, report=out.write_text)
        sources: dict[str, Preparation] = {}
        for name, plugin in wanted.items():
            try:
                source = sources[plugin.source] = sources.get(plugin.source) or prepare(plugin.source)
                if plugin.offer and plugin.offer not in source.offers:
                    raise ConfigError(f"{plugin.source} offers it no more")
                is_used = _Update(name, plugin, source.plugin(plugin.offer, name)).run(store, arguments, out)
            except (ConfigError, OSError) as error:
                out.write_text(f"{name} is not updated, and stays as it is: {error}")
                is_used = False
            status = status if is_used else 1
    return status


class _Update(Struct):
    """A plugin and its new version."""

    name: str
    old: InstalledPlugin
    new: PreparedPlugin

    def run(self, store: PluginStore, arguments: _Arguments, out: Output) -> bool:
        """Install the new version if the user agrees, and return True unless they decline."""
        name, old, new = self.name, self.old, self.new
        record = replace(new.record, enabled=old.enabled)
        path = store.path(old)
        before, after = file_hashes(path) if path.is_dir() else {}, file_hashes(new.copy)
        if before == after:
            store.put(name, replace(record, copy=old.copy))
            out.write_text(f"{name} is up to date")
            return True
        out.write_text("\n".join((f"{name}: {origin(record)}", *_changes(read_contents(path), new.contents))))
        out.write_text("\n".join(_changed_files(before, after)))
        _warn_of_programs([new.contents], out)
        if not _agrees(f"Update {name}?", arguments):
            out.write_text(f"{name} stays as it is")
            return False
        store.install(name, record, new.copy)
        out.write_text(f"updated {name}, from the next start")
        return True


def _changes(old: PluginContents, new: PluginContents) -> Iterator[str]:
    """Yield the lines that describe the contents and differ."""
    lines = difflib.unified_diff(list(old.lines()), list(new.lines()), n=0, lineterm="")
    yield from (f"  {line[0]} {line[1:]}" for line in lines if not line.startswith(("---", "+++", "@@")))
    yield from (f"  note: {escape_controls(each)}" for each in new.problems)


def _changed_files(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    names = sorted(before.keys() | after.keys())
    changed = [name for name in names if before.get(name) != after.get(name)]
    for name in changed[:_MOST_FILES]:
        how = "new" if name not in before else "deleted" if name not in after else "changed"
        yield f"  {how}: {escape_controls(name)}"
    if len(changed) > _MOST_FILES:
        yield f"  and {len(changed) - _MOST_FILES} more files"


def _wanted(source: Preparation, arguments: _Arguments, out: Output) -> Sequence[str]:
    """Return the names of the wanted plugins of a catalog; an empty name for a source that is no catalog."""
    offers = source.offers
    if not offers:
        if arguments.names:
            raise ConfigError(f"{arguments.source} is no catalog of plugins, so it offers no {arguments.names[0]!r}")
        return [""]
    for name in arguments.names:
        if name not in offers:
            raise ConfigError(f"{arguments.source} offers no plugin {name!r}{did_you_mean(name, offers)}")
    if arguments.names or len(offers) == 1:
        return arguments.names or list(offers)
    for each in list(offers.values())[:_MOST_OFFERS]:
        out.write_text(f"  {each.name}: {each.description}".rstrip(": "))
    raise ConfigError(
        f"{arguments.source} is a catalog of {len(offers)} plugins; choose some: "
        f"cinch plugin add {arguments.source} {next(iter(offers))}"
    )


def _warn_of_programs(contents: Sequence[PluginContents], out: Output) -> None:
    if any(each.runs_programs for each in contents):
        out.write_text("Hooks, MCP servers and language servers run with your rights, without approval of each call.")


def _agrees(question: str, arguments: _Arguments) -> bool:
    if arguments.yes:
        return True
    if not sys.stdin.isatty():
        raise ConfigError("nothing was changed: cinch plugin asks first; without a terminal, --yes agrees")
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
