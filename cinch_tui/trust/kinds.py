"""Kinds of files that change how cinch works: which are pinned, and their summaries for the user."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "instructions",
    "configuration",
    "rules",
    "Claude Code settings",
    "hooks",
    "MCP servers",
    "skill",
    "command",
    "subagent",
    "agent",
    "output style",
    "script tool",
    "task",
]
CLAUDE: Kind = "Claude Code settings"
LOADED: frozenset[Kind] = frozenset(
    {
        "instructions",
        "configuration",
        CLAUDE,
        "MCP servers",
        "output style",
        "rules",
        "hooks",
        "skill",
        "command",
        "subagent",
        "agent",
        "script tool",
        "task",
    }
)
"""Kinds that this version of cinch uses; the others are shown and trusted along with them."""
_RUNS_CODE = re.compile(
    r"!`|!\{|```!|^\s*[\"']?(?:hooks|mcpServers|permissionMode|allowed[-_]tools|shell)[\"']?\s*[:=]", re.MULTILINE
)
"""A shell line of a command, or metadata that runs programs or loosens permissions."""


def is_pinned(kind: Kind, text: str, others: int) -> bool:
    """Return True if trust in a file must apply to its content: it can run code or loosen permissions.

    Args:
        kind: its kind.
        text: its content.
        others: number of the other files of a skill.
    """
    match kind:
        case "instructions" | "rules" | "output style":
            return False
        case "skill":
            return others > 0 or _RUNS_CODE.search(text) is not None
        case "command" | "subagent":
            return _RUNS_CODE.search(text) is not None
        case _:
            return True


def summarize(kind: Kind, text: str, others: int) -> str:
    """Return the effect of a file, for the user; the arguments are those of `is_pinned`."""
    if kind == "skill" and others:
        return f"with {others} other file{'' if others == 1 else 's'}"
    return _SUMMARIES[kind](text)


def _lines(text: str) -> str:
    count = text.count("\n") + (not text.endswith("\n"))
    return f"{count} lines" if count > 1 else "1 line"


def _configured(text: str) -> str:
    """Name the settings in a configuration file that only a trusted folder may set."""
    # Imported here because few folders have a configuration file.
    import tomllib

    from cinch_tui.config.file import flatten
    from cinch_tui.config.named_tables import NAMED_TABLES
    from cinch_tui.config.names import RENAMED, find_key

    try:
        names = [RENAMED.get(name, name) for name, _ in flatten(tomllib.loads(text))]
    except (ValueError, RecursionError):
        return "not valid"
    is_server = re.compile(r"mcp\.servers\.").match
    apis = dict.fromkeys(name.split(".")[2] for name in names if re.match(r"openapi\.apis\..", name))
    language_servers = dict.fromkeys(name.split(".")[2] for name in names if re.match(r"lsp\.servers\..", name))
    known = [name for name in names if not name.startswith(NAMED_TABLES)]
    guarded = [n for n in known if (key := find_key(n)) is None or key.guard != "open"]
    effects = [f"sets {_few(guarded)}"] if guarded else []
    if hooks := [name.removeprefix("hooks.") for name in names if name.startswith("hooks.")]:
        effects.append(f"runs hooks at {_few(hooks)}")
    if apis:
        effects.append(f"offers tools of the API{'s' if len(apis) > 1 else ''} {_few(list(apis))}")
    if language_servers:
        effects.append(
            f"starts the language server{'s' if len(language_servers) > 1 else ''} {_few(list(language_servers))}"
        )
    if any(map(is_server, names)):
        from cinch_tui.config.server_keys import written_servers  # few files have servers
        from tools.mcp.import_files import describe_servers

        effects.append(describe_servers(written_servers(text)))
    return "; ".join(effects) or "sets nothing that needs trust"


def _json_keys(text: str) -> dict[str, object]:
    import json

    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}  # pyright: ignore[reportUnknownVariableType] only its keys are used


def _settings_keys(text: str) -> str:
    data = _json_keys(text)
    if not data:
        return "not valid"
    permissions, hooks = data.pop("permissions", None), data.pop("hooks", None)
    effects: list[str] = []
    if isinstance(hooks, dict) and hooks:
        effects.append(f"runs hooks at {_few(list(hooks))}")  # pyright: ignore[reportUnknownArgumentType] JSON
    if data.pop("disableAllHooks", None) is True:
        effects.append("turns all hooks off")
    if isinstance(permissions, dict):
        rules = sum(len(each) for name in ("allow", "ask", "deny") if isinstance(each := permissions.get(name), list))  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportUnknownArgumentType] JSON
        effects.append(f"{rules} permission rule{'' if rules == 1 else 's'}")
    if data:
        effects.append(f"{_few(list(data))} not used")
    return "; ".join(effects) or "no permissions"


def _servers(text: str) -> str:
    # Imported here because few folders have MCP servers.
    from tools.mcp.import_files import describe_servers, parse_servers

    return describe_servers(parse_servers(text, "").servers)


def _hook(text: str) -> str:
    del text
    return "runs programs"


def _agent(text: str) -> str:
    del text
    return "may set permissions and servers"


def _script(text: str) -> str:
    # Imported here because few folders have script tools.
    import tomllib

    try:
        command = tomllib.loads(text).get("command")
    except (ValueError, RecursionError):
        return "not valid"
    words = command if isinstance(command, list) else [command]  # pyright: ignore[reportUnknownVariableType] only shown
    return f"runs {' '.join(map(str, words))}"  # pyright: ignore[reportUnknownArgumentType] as above


def _definition(text: str) -> str:
    return "runs commands or changes permissions" if _RUNS_CODE.search(text) else _lines(text)


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown


_SUMMARIES: Mapping[Kind, Callable[[str], str]] = {
    "instructions": _lines,
    "configuration": _configured,
    "rules": _lines,
    "Claude Code settings": _settings_keys,
    "hooks": _hook,
    "MCP servers": _servers,
    "skill": _definition,
    "command": _definition,
    "subagent": _definition,
    "agent": _agent,
    "output style": _lines,
    "script tool": _script,
    "task": _lines,
}
