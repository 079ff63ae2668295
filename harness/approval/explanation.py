"""Decision on a call that is not run: for explanations, without hooks and without the user."""

from __future__ import annotations

from msgspec import Struct

from harness.approval.assessment import CallContext, checked, evaluate_policy
from harness.approval.policy import BUILT_IN, Permissions
from harness.messages import Text, ToolCall
from harness.permissions import Decision
from harness.ports.tool import Tool, ToolOutput
from harness.risk import Risk
from harness.workspace.workspace import Workspace


class CallSettings(Struct, frozen=True):
    """Tools, permissions and workspace, on which decisions depend."""

    permissions: Permissions
    """Modes and permission rules."""
    workspace: Workspace
    """Files that calls may access."""
    tools: tuple[Tool, ...]
    """All tools."""

    def name_of(self, tool: str) -> str:
        return tool

    def in_dialect(self, text: str, tool: str) -> str:
        return text

    def tool(self, name: str) -> Tool | None:
        """Return a tool by its name."""
        return next((tool for tool in self.tools if tool.name == name), None)


def explain(settings: CallContext, call: ToolCall) -> Decision:
    """Return the decision that a call would get now. Nothing is executed, and no use of a rule is counted.

    A call that cannot be assessed is denied, as it is in a run.
    """
    try:
        wanted = checked(settings, call, "tool_use")
        if not isinstance(wanted, ToolOutput):
            return evaluate_policy(settings, wanted)
        why = "\n".join(each.text for each in wanted.content if isinstance(each, Text)).removeprefix("Error: ")
    except Exception as error:  # noqa: BLE001 user-supplied tool or policy; may raise
        why = f"the call cannot be assessed: {error}"
    return Decision("deny", why, Risk("none"), source=BUILT_IN)
