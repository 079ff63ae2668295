"""Tools, hooks and themes of installed Python packages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from inspect import isclass, isroutine
from pathlib import Path
from typing import TypeAlias, cast, get_args, get_type_hints

from harness.agent.arguments import ToolLike, tool_list
from harness.entry_points import PackageObjects, created
from harness.errors import ConfigError
from harness.ports.hooks import Hooks
from harness.ports.tool import Tool

TOOLS = "cinch.tools"
HOOKS = "cinch.hooks"
THEMES = "cinch.themes"
BUILTIN_THEMES = Path(__file__).resolve().parents[1] / "themes"
Toml: TypeAlias = dict[str, object]
_TEXTS = ("name", "label", "description")
_METHODS = ("validate", "summary", "risk", "preview", "run")


class PackageTools:
    """Check of tools; no name is used twice.

    Args:
        taken: Names of other tools.
    """

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = set(taken)

    def __call__(self, found: object, name: str) -> tuple[Tool, ...]:
        del name
        tools = tool_list(_tools_in(found))
        for tool in tools:
            _check_tool(tool)
            if tool.name in self._taken:
                raise ConfigError(f"another tool is named {tool.name!r}")
        self._taken.update(tool.name for tool in tools)
        return tools


def package_tools(others: Sequence[Tool] = ()) -> PackageObjects[tuple[Tool, ...]]:
    """Return the tools of packages, several for one entry point; none has the name of one of the others."""
    return PackageObjects(TOOLS, PackageTools(reserved_tool_names() | {tool.name for tool in others}))


def package_hooks() -> PackageObjects[Hooks]:
    """Return the hooks of packages, new ones for each agent."""
    return PackageObjects(HOOKS, _hooks)


def package_themes() -> PackageObjects[Toml]:
    """Return the themes of packages as tables."""
    return PackageObjects(THEMES, _theme, _reject_theme)


def _tools_in(found: object) -> Sequence[ToolLike]:
    if isclass(found) or (isroutine(found) and _returns_tools(found)):
        found = found()
    return cast("Sequence[ToolLike]", found if isinstance(found, list | tuple) else [found])  # checked by tool_list


def _returns_tools(function: object) -> bool:
    """Return True if the type hints of a function say that it returns tools; any other function is a tool itself."""
    hint = get_type_hints(function).get("return")
    return any(isclass(each) and hasattr(each, "run") and hasattr(each, "validate") for each in (hint, *get_args(hint)))


def _check_tool(tool: Tool) -> None:
    kind = type(tool).__name__
    if missing := [name for name in _METHODS if not callable(getattr(tool, name, None))]:
        raise ConfigError(f"the tool {tool.name!r} ({kind}) has no method {missing[0]}")
    if wrong := [name for name in _TEXTS if not isinstance(getattr(tool, name, None), str)]:
        raise ConfigError(f"the tool {tool.name!r} ({kind}) has no text {wrong[0]}")
    parameters: object = getattr(tool, "parameters", None)
    if not isinstance(parameters, dict) or not hasattr(tool, "mutates"):
        raise ConfigError(f"the tool {tool.name!r} ({kind}) has no {'mutates' if parameters else 'parameters'}")


def _hooks(found: object, name: str) -> Hooks:
    del name
    hooks = created(found)
    if not isinstance(hooks, Hooks):
        raise ConfigError(f"expected Hooks, not {type(hooks).__name__}")
    return hooks


def _reject_theme(name: str) -> str:
    is_builtin = name == "auto" or (BUILTIN_THEMES / f"{name}.toml").is_file()
    return "cinch has a theme of that name" if is_builtin else ""


def _theme(found: object, name: str) -> Toml:
    del name
    theme = created(found)
    if isinstance(theme, Mapping):
        return dict(cast("Mapping[str, object]", theme))
    if isinstance(theme, str | Path):
        import tomllib  # few users have themes of packages

        return tomllib.loads(Path(theme).read_text("utf-8"))
    raise ConfigError(f"expected the path of a TOML file or a mapping, not {type(theme).__name__}")


def reserved_tool_names() -> set[str]:
    """Return the names of the tools that cinch may offer."""
    from harness.agent.tool_search import CALL_TOOL, FIND_TOOLS
    from tools.builtin import CLASSES, OPTIONAL_CLASSES

    return {*CLASSES, *OPTIONAL_CLASSES, FIND_TOOLS, CALL_TOOL, "skill"}
