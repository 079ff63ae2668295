"""Table of all panels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cinch_tui.panels.panel import Panel, PanelContext


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """A panel that can be shown and hidden."""

    name: str
    title: str
    summary: str
    source: str = ""
    """The class that fills it, as "module:class"; empty for the widgets above the prompt."""

    def build(self, context: PanelContext) -> Panel:
        """Create the panel; imports its module."""
        module, _, kind = self.source.partition(":")
        return getattr(import_module(f"cinch_tui.panels.{module}"), kind)(context)


PANELS: tuple[PanelSpec, ...] = (
    PanelSpec("tools", "Calls", "the calls that run, above the prompt"),
    PanelSpec("todo", "Steps", "the agent's list of steps, above the prompt"),
    PanelSpec("changes", "Changes", "the files this session changed", "changes:ChangesPanel"),
    PanelSpec("jobs", "Jobs", "commands in the background", "jobs:JobsPanel"),
    PanelSpec("agents", "Agents", "subagents and what they do", "agents:AgentsPanel"),
    PanelSpec("logs", "Logs", "what this program notes of itself", "logs:LogsPanel"),
)
ABOVE_PROMPT = tuple(spec.name for spec in PANELS if not spec.source)
BESIDE = tuple(spec for spec in PANELS if spec.source)
"""Panels that share the area beside the conversation; one is shown at a time."""


def find_panel(name: str) -> PanelSpec | None:
    return next((spec for spec in PANELS if spec.name == name), None)
