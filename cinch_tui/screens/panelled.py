"""Key actions and messages of the panels around the transcript."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from textual import on, work

from cinch_tui.controller.controller import NOT_READY
from cinch_tui.screens.conversation import ConversationScreen
from cinch_tui.widgets.panel_keys import PanelLeft, PanelTyped
from harness.errors import CinchError

if TYPE_CHECKING:
    from cinch_tui.panels.panel_manager import PanelManager
    from cinch_tui.transcript.block import Block
    from cinch_tui.widgets.panel_area import PanelArea
    from cinch_tui.widgets.tool_panel import ToolPanel


ESCAPE_DELAY = 0.5
"""Seconds during which a key may still be meant for a list that just became empty."""


class PanelledScreen(ConversationScreen):
    """Screen with a transcript and panels, once there is an agent."""

    _panels: PanelManager | None = None
    _emptied_at = -math.inf

    @property
    def panels(self) -> PanelManager:
        """Return the panel manager.

        Raises:
            CinchError: there is no agent yet.
        """
        if self._panels is None:
            raise CinchError(NOT_READY)
        return self._panels

    async def open_panels(self) -> None:
        """Restore the panels of the last start."""
        from cinch_tui.panels.panel_manager import PanelManager

        self._panels = PanelManager(self._controller)
        await self._panels.open()
        self._controller.agent.subscribe(self._panels.receive)

    def replace_conversation(self, blocks: list[Block]) -> None:
        """Show these blocks instead of the current conversation."""
        if self._panels is not None:
            self._panels.forget()
        self.widgets.show(blocks)

    async def pick_session(self) -> None:
        from cinch_tui.commands.session import choose_session

        await choose_session(self._host)

    @property
    def has_panel(self) -> bool:
        """Return True if a panel is visible."""
        return self._panels is not None and bool(self._panels.beside)

    def action_next_panel(self) -> None:
        if self._panels is not None:
            self._panels.cycle()

    def action_focus_panel(self) -> None:
        """Cycle the focus: running calls, panel, prompt."""
        if self._panels is None:
            return
        stops = [*self._panels.stops, self.prompt]
        place = next((place for place, stop in enumerate(stops) if stop.has_focus), -1)
        if len(stops) == 1:
            self._panels.cycle()
            stops = [*self._panels.stops]
        stops[(place + 1) % len(stops)].focus()

    @on(PanelLeft)
    def _panel_left(self, message: PanelLeft) -> None:
        if message.emptied:
            self._emptied_at = time.monotonic()
        self.prompt.focus()

    @property
    def has_just_lost_list(self) -> bool:
        """Return True shortly after the focused list became empty: Esc was meant to leave it."""
        return time.monotonic() - self._emptied_at < ESCAPE_DELAY

    @on(PanelTyped)
    def _panel_typed(self, message: PanelTyped) -> None:
        self.prompt.focus()
        self.prompt.insert(message.text)

    # Handlers found by name: the classes of the messages are imported after the first paint.

    def on_tool_panel_done(self, message: ToolPanel.Done) -> None:
        agent, widgets = self._controller.agent, self.widgets
        match message.deed:
            case "cancel":
                agent.cancel_call(message.call_id)
            case "background":
                if not agent.background_call(message.call_id):
                    self._controller.notice("Only commands can run in the background.", "warning")
            case "show":
                if widgets.transcript.choose_call(message.call_id):
                    widgets.transcript.focus()

    @work(group="command")
    async def on_panel_area_done(self, message: PanelArea.Done) -> None:
        await self.panels.perform(message.deed, message.key)
