"""Panel manager: opens, closes and updates panels, and remembers which are open."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.config.paths import load_json, save_json
from cinch_tui.keybindings.keymap import hint
from cinch_tui.panels.panel import PANELS, PanelContext, PanelSpec, find_panel
from cinch_tui.panels.subagents import Subagents
from cinch_tui.reports.notices import job_notice
from harness.errors import CinchError
from harness.events import AgentEnd, AgentStart, Event, JobEnded, JobStarted
from harness.publishing import innermost

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

    from cinch_tui.controller.controller import SessionController
    from cinch_tui.panels.panel import Panel
    from cinch_tui.widgets.panel_area import PanelAction, PanelArea

TICK_SECONDS = 1.0
ABOVE_PROMPT = tuple(spec.name for spec in PANELS if spec.above_prompt)
BESIDE = tuple(spec for spec in PANELS if not spec.above_prompt)
"""Panels that share the area beside the conversation; one is shown at a time."""


class PanelLayout(Struct, frozen=True):
    """Names of the panels that are open and closed."""

    beside: str = ""
    """Panel beside the conversation; empty for none."""
    closed: tuple[str, ...] = ()
    """Panels above the prompt that the user has closed."""


class PanelManager:
    """A hidden panel costs nothing: it is not created, not queried, and has no timer."""

    def __init__(self, controller: SessionController) -> None:
        self._controller = controller
        self._file = controller.options.paths.panels_file
        self._layout = PanelLayout()
        self._panel: Panel | None = None
        self._area: PanelArea | None = None
        self._ticker: Timer | None = None
        self.subagents = Subagents()

    @property
    def beside(self) -> str:
        """Return the panel beside the conversation; empty for none."""
        return self._layout.beside

    async def open(self) -> None:
        """Show the panels that were open last time."""
        kept = await asyncio.to_thread(load_json, self._file, PanelLayout) or PanelLayout()
        self._layout = replace(kept, beside="")
        self._show_above()
        if kept.beside in {spec.name for spec in BESIDE}:
            self._show(kept.beside)

    def is_shown(self, spec: PanelSpec) -> bool:
        return spec.name not in self._layout.closed if spec.above_prompt else spec.name == self.beside

    def toggle(self, name: str) -> None:
        """Raises:
        CinchError: there is no such panel.
        """
        spec = find_panel(name)
        if spec is None:
            raise CinchError(f"there is no panel {name!r}; there are {', '.join(each.name for each in PANELS)}")
        if spec.above_prompt:
            closed = set(self._layout.closed) ^ {name}
            self._layout = replace(self._layout, closed=tuple(each for each in ABOVE_PROMPT if each in closed))
            self._show_above()
            self._remember()
        elif name == self.beside:
            self.close()
        else:
            self.turn_to(name)

    def turn_to(self, name: str, *, focus: bool = False) -> None:
        """Show this panel beside the conversation, instead of any other."""
        self._show(name)
        self._remember()
        if focus and self._area is not None:
            self._area.focus()

    def close(self) -> None:
        """Close the panel beside the conversation."""
        self._layout = replace(self._layout, beside="")
        self._panel = None
        self._stop_ticking()
        if self._area is not None:
            if self._area.has_focus:
                self._controller.view.prompt.focus()
            self._area.remove()
            self._area = None
        self._remember()

    def cycle(self, by: int = 1, *, may_close: bool = True) -> None:
        """Show the next panel; after the last one none, or the first one again."""
        names = [*(spec.name for spec in BESIDE), *([""] if may_close else [])]
        after = names[(names.index(self.beside) + by) % len(names)] if self.beside in names else names[0]
        if after:
            self.turn_to(after)
        else:
            self.close()

    @property
    def stops(self) -> list[Widget]:
        """Return the widgets that can take the focus, in order."""
        tools = self._controller.view.widgets.tool_panel
        return [*([tools] if tools.display else []), *([self._area] if self._area else [])]

    def receive(self, event: Event) -> None:
        """Update what an event of the agent affects; subscribed to its bus."""
        self.subagents.receive(event)
        if isinstance(event, JobStarted):
            self._controller.notice(f"{event.job_id} continues in the background: {event.title}. /jobs shows it.")
        elif isinstance(event, JobEnded):
            self._announce_end(event)
        if self._panel is not None and (self._panel.affected_by(event) or _changes_counts(event)):
            self.refresh()

    def forget(self) -> None:
        """Drop the subagents of the previous conversation."""
        self.subagents.clear()
        self.refresh()

    def refresh(self) -> None:
        if self._panel is not None:
            self._controller.app.run_worker(partial(self._fill, self._panel), group="panel", exclusive=True)

    async def perform(self, action: PanelAction, key: str) -> None:
        """Perform an action of the user on a row or on the panel."""
        if self._panel is None:
            return
        match action:
            case "open":
                await self._panel.open(key)
            case "stop":
                await self._panel.stop(key)
            case "turn":
                self._panel.next_filter()
            case "next" | "previous":
                self.cycle(1 if action == "next" else -1, may_close=False)
            case "close":
                self.close()
        self.refresh()

    def _show(self, name: str) -> None:
        # Imported when the first panel is opened.
        from cinch_tui.panels.builtin_panels import PANEL_CLASSES
        from cinch_tui.widgets.panel_area import PanelArea

        self._layout = replace(self._layout, beside=name)
        context = PanelContext(self._controller.assembly, self.subagents, self._controller.app.push_screen_wait)
        self._panel = PANEL_CLASSES[name](context)
        if self._area is None:
            self._area = PanelArea()
            self._controller.view.widgets.transcript_area.mount(self._area)
        self.refresh()

    def _show_above(self) -> None:
        widgets = self._controller.view.widgets
        for name, widget in (("tools", widgets.tool_panel), ("todo", widgets.todo_panel)):
            widget.set_class(name in self._layout.closed, "-closed")

    async def _fill(self, panel: Panel) -> None:
        try:
            rows = await panel.rows()
        except CinchError as error:
            self._controller.notice(str(error), "error")
            return
        if self._area is None or panel is not self._panel:
            return
        place = next(place for place, spec in enumerate(BESIDE) if spec.name == self.beside)
        self._area.set_titles([self._title(spec) for spec in BESIDE], place, hint(*panel.keys))
        self._area.fill(rows, panel.empty, follow=panel.follows)
        if panel.is_live and self._ticker is None:
            self._ticker = self._area.set_interval(TICK_SECONDS, self.refresh)
        elif not panel.is_live:
            self._stop_ticking()

    def _title(self, spec: PanelSpec) -> str:
        running = 0
        if spec.name == "jobs":
            running = len(self._controller.agent.jobs.running)
        elif spec.name == "agents":
            running = sum(agent.state == "running" for agent in self.subagents.newest_first)
        return f"{spec.title} {running}" if running else spec.title

    def _stop_ticking(self) -> None:
        if self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def _announce_end(self, event: JobEnded) -> None:
        jobs = self._controller.agent.jobs
        job, notice = jobs.find(event.job_id), job_notice(event, jobs)
        if job and notice and job.killer != "leaving":
            self._controller.notice(*notice)

    def _remember(self) -> None:
        save = partial(save_json, self._file, self._layout)
        self._controller.app.run_worker(save, thread=True, group="remember", exclusive=True)


def _changes_counts(event: Event) -> bool:
    """Return True if the counts in the titles of the panels may have changed."""
    inner = innermost(event)
    return isinstance(inner, JobStarted | JobEnded) or (inner is not event and isinstance(inner, AgentStart | AgentEnd))
