"""Port: the permission policy, which decides whether a tool call runs, needs approval, or is denied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from harness.messages import JsonObject, ToolCall
from harness.permissions import Decision, Effect
from harness.ports.hooks import AllowCall, AskUser
from harness.ports.tool import Tool
from harness.risk import Risk
from harness.workspace.workspace import Workspace


class CallFacts(Struct, frozen=True):
    """A tool call as a permission policy sees it."""

    tool: Tool
    """The tool."""
    call: ToolCall
    """The call as the model sent it."""
    arguments: JsonObject
    """Validated arguments."""
    risk: Risk
    """Risk assessment."""
    workspace: Workspace
    """Files the agent may access."""
    verdict: AllowCall | AskUser | None = None
    """Verdict of the `before_tool` hooks on the permission; None if they have none."""


@runtime_checkable
class PermissionPolicy(Protocol):
    """Decides which calls run.

    Forbidden calls, and calls that plan mode excludes, are denied before any policy decides.
    """

    def decide(self, call: CallFacts, risk: Risk) -> Decision:
        """Decide on a call. Synchronous, without side effects and fast, because it is called several times per call."""
        ...


PolicyFunction: TypeAlias = Callable[[CallFacts, Risk], Decision | Effect]
"""Function that decides on a call, in place of a `PermissionPolicy`."""
