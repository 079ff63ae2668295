"""Contents of a plugin in the standard layout, as the user sees them before it is added."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from extensions.commands import load_commands
from extensions.hooks.config import HookSource, LoadedHooks, add_hooks
from extensions.locations import Kind, Root, extension_files
from extensions.plugins.layout import HOOKS, LANGUAGE_SERVERS, SERVERS
from extensions.plugins.manifest import read_object
from extensions.script_tools import load_scripts
from extensions.skills import load_skills
from extensions.subagents import load_subagents
from harness.errors import ConfigError
from harness.messages import JsonObject, JsonValue
from harness.terminal_text import escape_controls

KINDS: frozenset[Kind] = frozenset({"skill", "command", "subagent", "output style", "script tool"})
"""Kinds of extensions that a plugin may contain."""
_TITLES: dict[Kind, str] = {
    "skill": "skills",
    "command": "commands",
    "subagent": "subagents",
    "output style": "output styles",
}
_LONGEST_LINE = 4_000


class PluginContents(Struct, frozen=True):
    """Contents of a plugin."""

    names: dict[Kind, tuple[str, ...]]
    """Names of extensions by kind."""
    tools: tuple[str, ...] = ()
    """Each script tool with its command."""
    hooks: tuple[str, ...] = ()
    """Each hook: its event, the calls it applies to, and what it runs."""
    servers: tuple[str, ...] = ()
    """Each MCP server with its command or address."""
    language_servers: tuple[str, ...] = ()
    """Each language server with its command and its files."""
    problems: tuple[str, ...] = ()
    """Parts that are not used."""

    @property
    def is_empty(self) -> bool:
        """True if the folder contains nothing that a plugin may contain."""
        parts = (*self.names.values(), self.hooks, self.tools, self.servers, self.language_servers)
        return not any(parts)

    @property
    def runs_programs(self) -> bool:
        """True if it runs programs, or connects to servers, without a call of the model."""
        return bool(self.hooks or self.servers or self.language_servers)

    @property
    def counts(self) -> str:
        """Numbers of its parts, on one line."""
        numbers = [(len(names), _TITLES[kind]) for kind, names in self.names.items()]
        numbers += [(len(self.tools), "script tools"), (len(self.hooks), "hooks"), (len(self.servers), "MCP servers")]
        numbers.append((len(self.language_servers), "language servers"))
        shown = (f"{count} {title if count > 1 else title.removesuffix('s')}" for count, title in numbers if count)
        return ", ".join(shown) or "nothing"

    def lines(self) -> Iterator[str]:
        """Yield all of it as lines of text."""
        for kind, names in self.names.items():
            if names:
                yield f"{_TITLES[kind]}: {', '.join(names)}"
        yield from (f"script tool: {each}" for each in self.tools)
        yield from (f"hook: {each}" for each in self.hooks)
        yield from (f"MCP server: {each}" for each in self.servers)
        yield from (f"language server: {each}" for each in self.language_servers)


def read_contents(folder: Path) -> PluginContents:
    """Return what a plugin in the standard layout contains. Never raises: invalid parts are problems."""
    root = Root(folder, "plugin", KINDS)
    skills = load_skills([root])
    commands, subagents, scripts = load_commands([root]), load_subagents([root]), load_scripts([root])
    found = (*skills.problems, *commands.problems, *subagents.problems, *scripts.problems)
    problems = [each.replace(f"{folder}/", "") for each in found]
    names: dict[Kind, tuple[str, ...]] = {
        "skill": tuple(each.name for each in skills.skills),
        "command": tuple(_shown(each.name) for each in commands.commands),
        "subagent": tuple(_shown(each.name) for each in subagents.subagents),
        "output style": tuple(_shown(each.parts[-1]) for each in extension_files("output style", [root])),
    }
    hooks = _object(folder / HOOKS, problems)
    events = hooks.get("hooks", hooks)
    if events:
        loaded = LoadedHooks()
        add_hooks(loaded, events, HookSource(Path(HOOKS), "plugin"))
        problems += map(_shown, (*loaded.problems, *loaded.unsupported))
    return PluginContents(
        names,
        tuple(_shown(f"{each.name} runs {' '.join(each.command)}") for each in scripts.scripts),
        tuple(_hooks(events)),
        tuple(_servers(folder / SERVERS, problems)),
        tuple(_language_servers(folder / LANGUAGE_SERVERS, problems)),
        tuple(problems),
    )


def _object(path: Path, problems: list[str]) -> JsonObject:
    try:
        return read_object(path) if path.is_file() else {}
    except ConfigError as error:
        problems.append(_shown(str(error)))
        return {}


def _servers(path: Path, problems: list[str]) -> Iterator[str]:
    if not path.is_file():
        return
    # Imported here because few plugins have servers.
    from tools.mcp.import_files import describe_servers, parse_servers

    imported = parse_servers(path.read_text("utf-8", "replace"), SERVERS)
    problems += map(_shown, imported.problems)
    yield from (_shown(describe_servers([each])) for each in imported.servers)


def _language_servers(path: Path, problems: list[str]) -> Iterator[str]:
    if not path.is_file():
        return
    # Imported here because few plugins have language servers.
    from tools.lsp.plugin_servers import describe_server, parse_servers

    imported = parse_servers(path.read_text("utf-8", "replace"), LANGUAGE_SERVERS)
    problems += map(_shown, imported.problems)
    yield from (_shown(describe_server(each)) for each in imported.servers)


def _hooks(events: JsonValue) -> Iterator[str]:
    for event, groups in events.items() if isinstance(events, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            if isinstance(group, dict):
                matcher = group.get("matcher")
                applies = f" ({matcher})" if isinstance(matcher, str) and matcher not in ("", "*") else ""
                for hook in _dicts(group.get("hooks")):
                    yield _shown(f"{event}{applies} {_action(hook)}")


def _action(hook: JsonObject) -> str:
    for key, verb in (("command", "runs"), ("url", "sends to"), ("prompt", "asks a model:")):
        if isinstance(value := hook.get(key), str):
            arguments = hook.get("args")
            more = " ".join(map(str, arguments)) if isinstance(arguments, list) else ""
            return f"{verb} {value} {more}".rstrip()
    return f"of the type {hook.get('type')}"


def _dicts(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _shown(text: str) -> str:
    line = escape_controls(" ".join(text.split()))
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… (+{len(line) - _LONGEST_LINE} characters)"
