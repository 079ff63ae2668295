"""Tools of an agent: tools and plain functions, checked and with distinct names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from harness.errors import ConfigError
from harness.ports.tool import Tool

ToolLike: TypeAlias = Tool | Callable[..., object]
"""A tool, or a function with type hints, which becomes one as with `@tool`."""


def tool_list(tools: Sequence[ToolLike]) -> tuple[Tool, ...]:
    """Return the tools as a tuple, functions as function tools.

    Raises:
        ConfigError: An item is not a tool and cannot become one, or two tools have the same name.
    """
    found = tuple(each if _is_tool(each) else _made(each) for each in tools)
    names = [tool.name for tool in found]
    if len(set(names)) == len(names):
        return found
    duplicates = sorted({name for name in names if names.count(name) > 1})
    raise ConfigError(f"two tools have the same name: {', '.join(duplicates)}")


def _made(given: object) -> Tool:
    if inspect.isclass(given):
        raise ConfigError(f"{given.__name__} in tools is a class: pass an instance of it")
    if not inspect.isroutine(given):
        raise ConfigError(f"{given!r:.80} in tools is not a tool: pass a function with type hints, or a harness.Tool")
    if getattr(given, "__name__", "") == "<lambda>":
        raise ConfigError("a lambda in tools has no name and no type hints: pass a function defined with def")
    # Imported late: most agents have no function tools.
    from harness.function_tools.function_tool import FunctionTool

    return FunctionTool(given, {})


if TYPE_CHECKING:
    from typing import TypeGuard


def _is_tool(given: object) -> TypeGuard[Tool]:
    # Checked on the class: it is fast, and the port has properties that read files.
    kind = type(given)
    return hasattr(kind, "run") and hasattr(kind, "validate") and isinstance(getattr(given, "name", None), str)
