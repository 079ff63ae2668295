"""Every panel there is: a line here, and a file beside this one, make one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cinch_tui.controller.controller import SessionController
    from cinch_tui.panels.panel import Panel


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """`source` is the class that fills it, as "module:class"; empty for what comes and goes above the prompt."""

    name: str
    title: str
    summary: str
    source: str = ""

    def build(self, controller: SessionController) -> Panel:
        """Its module is loaded when it is first shown."""
        module, _, kind = self.source.partition(":")
        return getattr(import_module(f"cinch_tui.panels.{module}"), kind)(controller)


PANELS: tuple[PanelSpec, ...] = (
    PanelSpec("tools", "Calls", "the calls that run, above the prompt"),
    PanelSpec("todo", "Steps", "the agent's list of steps, above the prompt"),
    PanelSpec("changes", "Changes", "the files this session changed", "changes:ChangesPanel"),
    PanelSpec("jobs", "Jobs", "commands in the background", "jobs:JobsPanel"),
    PanelSpec("agents", "Agents", "sub-agents and what they do", "agents:AgentsPanel"),
    PanelSpec("logs", "Logs", "what this program notes of itself", "logs:LogsPanel"),
)
ABOVE_PROMPT = tuple(spec.name for spec in PANELS if not spec.source)
BESIDE = tuple(spec for spec in PANELS if spec.source)
"""Those that share the area beside the conversation; one is shown at a time."""


def find_panel(name: str) -> PanelSpec | None:
    return next((spec for spec in PANELS if spec.name == name), None)
