"""Panel manager: opens, closes and updates panels, and remembers which are open."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cinch_tui.panels.panel import PanelContext
from cinch_tui.panels.registry import ABOVE_PROMPT, BESIDE, PANELS, PanelSpec, find_panel
from cinch_tui.panels.remembered import PanelLayout, recall_panels, remember_panels
from cinch_tui.panels.sub_agents import SubAgents
from harness.errors import CinchError
from harness.events import AgentEnd, AgentStart, Event, JobEnded, JobStarted, SubagentEvent

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

    from cinch_tui.controller.controller import SessionController
    from cinch_tui.panels.panel import Panel
    from cinch_tui.widgets.panel_area import Deed, PanelArea

TICK_SECONDS = 1.0


class PanelManager:
    """A hidden panel costs nothing: it is not created, not queried, and has no timer."""

    def __init__(self, controller: SessionController) -> None:
        self._controller = controller
        self._file = controller.options.paths.panels_file
        self._layout = PanelLayout()
        self._panel: Panel | None = None
        self._area: PanelArea | None = None
        self._ticker: Timer | None = None
        self.sub_agents = SubAgents()

    @property
    def beside(self) -> str:
        """The panel beside the conversation; empty for none."""
        return self._layout.beside

    async def open(self) -> None:
        """Show the panels that were open last time."""
        kept = await asyncio.to_thread(recall_panels, self._file)
        self._layout = replace(kept, beside="")
        self._show_above()
        spec = find_panel(kept.beside)
        if spec is not None and spec.source:
            self._show(spec)

    def is_shown(self, spec: PanelSpec) -> bool:
        return spec.name == self.beside if spec.source else spec.name not in self._layout.closed

    def toggle(self, name: str) -> None:
        """Raises:
        CinchError: there is no such panel.
        """
        spec = find_panel(name)
        if spec is None:
            raise CinchError(f"there is no panel {name!r}; there are {', '.join(each.name for each in PANELS)}")
        if not spec.source:
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
        spec = find_panel(name)
        assert spec is not None
        self._show(spec)
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
        """Widgets that can take the focus, in order."""
        tools = self._controller.view.widgets.tool_panel
        return [*([tools] if tools.display else []), *([self._area] if self._area else [])]

    def receive(self, event: Event) -> None:
        """Update what an event of the agent affects; subscribed to its bus."""
        self.sub_agents.receive(event)
        if isinstance(event, JobStarted):
            self._controller.notice(f"{event.job_id} continues in the background: {event.title}. /jobs shows it.")
        elif isinstance(event, JobEnded):
            self._announce_end(event)
        if self._panel is not None and (self._panel.affected_by(event) or _changes_counts(event)):
            self.refresh()

    def forget(self) -> None:
        """Drop the subagents of the previous conversation."""
        self.sub_agents.clear()
        self.refresh()

    def refresh(self) -> None:
        if self._panel is not None:
            self._controller.app.run_worker(partial(self._fill, self._panel), group="panel", exclusive=True)

    async def perform(self, deed: Deed, key: str) -> None:
        """Perform an action of the user on a row or on the panel."""
        if self._panel is None:
            return
        match deed:
            case "open":
                await self._panel.open(key)
            case "stop":
                await self._panel.stop(key)
            case "turn":
                self._panel.next_filter()
            case "next" | "previous":
                self.cycle(1 if deed == "next" else -1, may_close=False)
            case "close":
                self.close()
        self.refresh()

    def _show(self, spec: PanelSpec) -> None:
        # Imported when the first panel is opened.
        from cinch_tui.widgets.panel_area import PanelArea

        self._layout = replace(self._layout, beside=spec.name)
        context = PanelContext(self._controller.assembly, self.sub_agents, self._controller.app.push_screen_wait)
        self._panel = spec.build(context)
        if self._area is None:
            self._area = PanelArea()
            self._controller.view.widgets.stage.mount(self._area)
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
        self._area.entitle([self._title(spec) for spec in BESIDE], place, panel.hint)
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
            running = sum(agent.state == "running" for agent in self.sub_agents.newest_first)
        return f"{spec.title} {running}" if running else spec.title

    def _stop_ticking(self) -> None:
        if self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def _announce_end(self, event: JobEnded) -> None:
        job = self._controller.agent.jobs.find(event.job_id)
        if job is not None and job.killer != "leaving":
            failed = event.state == "failed" or bool(event.exit_code)
            self._controller.notice(f"{job.id} {job.status_text}: {job.spec.title}", "warning" if failed else "info")

    def _remember(self) -> None:
        file, layout = self._file, self._layout
        self._controller.app.run_worker(
            lambda: remember_panels(file, layout), thread=True, group="remember", exclusive=True
        )


def _changes_counts(event: Event) -> bool:
    """Return True if the counts in the titles of the panels may have changed."""
    while isinstance(event, SubagentEvent):
        event = event.event
        if isinstance(event, AgentStart | AgentEnd):
            return True
    return isinstance(event, JobStarted | JobEnded)
