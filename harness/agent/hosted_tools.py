"""Tools that the model's service may run itself, such as its web search.

The user cannot be asked about such a call. The service gets the tool only if no mode or rule asks about single calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from harness.approval.policy import Permissions
from harness.permissions import READ
from harness.ports.provider import Model, ToolSpec
from harness.ports.tool import Tool, hosting_of, specs_of


def request_specs(tools: Sequence[Tool], model: Model, permissions: Permissions) -> tuple[ToolSpec, ...]:
    """Return the tools of a request to a model, those that its service runs with `ToolSpec.hosting`."""
    specs = specs_of(tools)
    if not any(map(hosting_of, tools)):
        return specs
    found: list[ToolSpec] = []
    for tool, spec in zip(tools, specs, strict=True):
        hosting = hosting_of(tool)
        if hosting and model.native_search and _is_unrestricted(tool, permissions):
            found.append(replace(spec, hosting=hosting))
        elif hosting != "only":
            found.append(spec)
    return tuple(found)


def _is_unrestricted(tool: Tool, permissions: Permissions) -> bool:
    """Return True if no mode, policy or rule asks about single calls of a tool, or denies them."""
    if permissions.approval == "on" or permissions.policy is not None:
        return False
    rules = (*permissions.store.of("deny"), *permissions.store.of("ask"))
    return not any(fnmatchcase(tool.name, rule.tool) or (rule.tool, rule.pattern) == (READ, "") for rule in rules)
