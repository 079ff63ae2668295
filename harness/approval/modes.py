"""The modes an agent works in. A mode says which tools a model may call, and what it is told about that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from harness.instructions.prompts import prompt_text
from harness.lazy_dataclass import dataclass
from harness.ports.tool import Tool

ModeName: TypeAlias = Literal["execute", "plan"]

SUBMIT_PLAN = "submit_plan"


@dataclass(frozen=True, slots=True)
class Mode:
    """One way of working. Only a person changes it; a model can at most ask by submitting a plan.

    `prompt` names the text in `instructions.prompts` that is added to the system prompt; empty for none.
    """

    name: ModeName
    label: str
    allows: Callable[[Tool], bool]
    prompt: str = ""

    @property
    def addendum(self) -> str:
        return prompt_text(self.prompt) if self.prompt else ""


@dataclass(frozen=True, slots=True)
class Planning:
    """How a planning phase ends, besides by a plan that the user accepts."""

    max_turns: int = 20
    """Turns of a run in plan mode; 0 = unlimited. They do not count towards `Limits.max_turns`, unless unlimited."""

    on_limit: Literal["end", "execute"] = "end"
    """end: the run ends, in plan mode · execute: the phase is over, and the run continues with all tools."""

    review: bool = True
    """Ask the user about a submitted plan; without a review, it is accepted as submitted."""


def _all_but_submit_plan(tool: Tool) -> bool:
    return tool.name != SUBMIT_PLAN


def _only_reads(tool: Tool) -> bool:
    return not tool.mutates or tool.name == SUBMIT_PLAN


EXECUTE = Mode("execute", "Execute", allows=_all_but_submit_plan)
PLAN = Mode("plan", "Plan", allows=_only_reads, prompt="plan")
MODES: dict[ModeName, Mode] = {mode.name: mode for mode in (EXECUTE, PLAN)}


def permits(mode: Mode, tool: Tool) -> bool:
    """Whether a call of this tool may run now. Asked again at each call: a model may name a tool it was not shown."""
    return mode.allows(tool)


def tools_of(mode: Mode, tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """The tools a model is shown in this mode, in their own order."""
    return tuple(tool for tool in tools if permits(mode, tool))
