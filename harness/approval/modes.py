"""Approval modes, and the modes of an agent: planning or executing.

The mode of an agent determines which calls are refused. System prompt and tool list are the same in every mode, because
services cache a request by its beginning; `harness.agent.reminders` announces the mode to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.ports.tool import Tool
from harness.risk import Risk

ApprovalMode: TypeAlias = Literal["on", "smart", "edits", "off"]
"""Calls that need no approval, if no rule decides.

- `on`: calls without effect
- `smart`: reading
- `edits`: reading, and changing files in the workspace
- `off`: all but forbidden calls
"""

APPROVAL_MODES: tuple[ApprovalMode, ...] = ("on", "smart", "edits", "off")
"""Approval modes, strictest first."""

ModeName: TypeAlias = Literal["execute", "plan"]

SUBMIT_PLAN = "submit_plan"


class Mode(Struct, frozen=True):
    """A mode. Only the user changes it; a model can at most submit a plan."""

    name: ModeName
    """Name of the mode."""
    label: str
    """Name for users."""
    allows: Callable[[Tool], bool]
    """Returns True for tools that may be used; a call of another one is refused without a question."""

    def allows_call(self, tool: Tool, risk: Risk) -> bool:
        """Return True if the mode allows a call of such risk; some tools change something only in some calls."""
        return self.allows(tool) and (self.name != "plan" or tool.mutates != "by_call" or not risk.changes)


class Planning(Struct, frozen=True):
    """Options of a planning phase."""

    max_turns: int = 20
    """Maximum number of turns in plan mode; 0 = unlimited. If limited, they do not count for `Limits.max_turns`."""

    on_limit: Literal["end", "execute"] = "end"
    """At the limit, `end` ends the run in plan mode; `execute` ends the phase and continues with all tools.

    A user who reviews plans is asked first; without a user it continues at once.
    """

    review: bool = True
    """True to ask the user about a submitted plan, and at the limit; False to accept the plan as submitted."""


EXECUTE = Mode("execute", "Execute", allows=lambda tool: tool.name != SUBMIT_PLAN)
PLAN = Mode("plan", "Plan", allows=lambda tool: tool.mutates is not True or tool.name == SUBMIT_PLAN)
MODES: dict[ModeName, Mode] = {mode.name: mode for mode in (EXECUTE, PLAN)}


def tools_of(mode: Mode, tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Return the tools that this mode allows, in their original order."""
    return tuple(tool for tool in tools if mode.allows(tool))
