"""Panel of the files that this session changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.changes import FileChange, SessionChanges
from cinch_tui.keybindings.keymap import hint
from cinch_tui.panels.panel import StaticPanel
from cinch_tui.rendering.diff import diff_stat
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.widgets.item_list import ItemRow
from harness.events import AgentEnd, Event, SubagentEvent, ToolExecutionEnd

if TYPE_CHECKING:
    from cinch_tui.panels.panel import Panel, PanelContext


class ChangesPanel(StaticPanel):
    empty = "This session has changed no file."

    def __init__(self, context: PanelContext) -> None:
        self._context = context

    @property
    def hint(self) -> str:
        return hint("panel.open the diff")

    def affected_by(self, event: Event) -> bool:
        while isinstance(event, SubagentEvent):
            event = event.event
        return isinstance(event, ToolExecutionEnd | AgentEnd)

    async def rows(self) -> Sequence[ItemRow]:
        ledger = self._ledger()
        return await asyncio.to_thread(lambda: [_row(change) for change in ledger.changes("session")])

    async def open(self, key: str) -> None:
        from cinch_tui.screens.changes import ChangesScreen

        screen = ChangesScreen(self._ledger(), "session", at=key)
        await self._context.open_screen(screen)

    def _ledger(self) -> SessionChanges:
        assembly = self._context.assembly
        return SessionChanges(assembly.originals, assembly.workspace, assembly.agent.add_reminder)


def _row(change: FileChange) -> ItemRow:
    view = change.view
    counts = "+{} −{}".format(*diff_stat(view)) if view else "binary" if change.is_known else "?"
    letter = "A" if change.before is None and change.is_known else "D" if change.now is None else "M"
    return ItemRow(f"{letter} {one_line(change.shown)}", counts, key=change.shown)


if TYPE_CHECKING:
    _: type[Panel] = ChangesPanel
