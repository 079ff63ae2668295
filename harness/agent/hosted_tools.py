"""Tools that the model's service may run itself, such as its web search.

Such a call can be neither approved nor blocked. The service gets the tool only if no mode, rule or hook decides about
single calls and, without a user to ask, only if every call is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from harness.approval.policy import Permissions
from harness.permissions import READ, Rule
from harness.ports.hooks import Hooks
from harness.ports.interaction import UserInteraction, denies_calls
from harness.ports.provider import Model, ToolSpec
from harness.ports.tool import Tool, hosting_of, specs_of


def request_specs(
    tools: Sequence[Tool], model: Model, permissions: Permissions, user: UserInteraction, hooks: Iterable[Hooks]
) -> tuple[ToolSpec, ...]:
    """Return the tools of a request to a model, those that its service runs with `ToolSpec.hosting`."""
    specs = specs_of(tools)
    if not any(map(hosting_of, tools)):
        return specs
    found: list[ToolSpec] = []
    for tool, spec in zip(tools, specs, strict=True):
        hosting = hosting_of(tool)
        if (
            hosting
            and model.native_search
            and _is_unrestricted(tool, permissions)
            and not (denies_calls(user) and _needs_approval(tool, permissions))
            and not any(hook.reviews(tool.name) for hook in hooks)
        ):
            found.append(replace(spec, hosting=hosting))
        elif hosting != "only":
            found.append(spec)
    return tuple(found)


def _is_unrestricted(tool: Tool, permissions: Permissions) -> bool:
    """Return True if no mode, policy or rule asks about single calls of a tool, or denies them."""
    if permissions.approval == "on" or permissions.policy is not None or not permissions.mode.allows(tool):
        return False
    rules = (*permissions.store.of("deny"), *permissions.store.of("ask"))
    return not any(_names(rule, tool) or (rule.tool, rule.pattern) == (READ, "") for rule in rules)


def _needs_approval(tool: Tool, permissions: Permissions) -> bool:
    """Return True if a call of a tool, which reads from the network, needs approval."""
    if permissions.approval == "off":
        return False
    # Rules for reading are about files.
    return not any(_names(rule, tool) and not rule.pattern for rule in permissions.store.of("allow"))


def _names(rule: Rule, tool: Tool) -> bool:
    return fnmatchcase(tool.name, rule.tool)
