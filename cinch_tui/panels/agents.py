"""Panel of subagents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.keybindings.keymap import hint
from cinch_tui.panels.panel import StaticPanel
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.widgets.item_list import ItemRow
from cinch_tui.widgets.status_bar import format_count, format_elapsed
from harness.events import Event, MessageUpdate, SubagentEvent

if TYPE_CHECKING:
    from cinch_tui.panels.panel import Panel, PanelContext
    from cinch_tui.panels.sub_agents import SubAgent

_MARKS = {"running": "●", "done": "✓", "failed": "✗", "stopped": "■"}


class AgentsPanel(StaticPanel):
    empty = "No subagent has worked in this session."

    def __init__(self, context: PanelContext) -> None:
        self._context = context

    @property
    def hint(self) -> str:
        return hint("panel.open what it did", "panel.stop stops it")

    @property
    def is_live(self) -> bool:
        return any(agent.state == "running" for agent in self._agents)

    def affected_by(self, event: Event) -> bool:
        while isinstance(event, SubagentEvent):
            event = event.event
            if not isinstance(event, SubagentEvent | MessageUpdate):
                return True
        return False

    async def rows(self) -> Sequence[ItemRow]:
        return [_row(agent) for agent in self._agents]

    async def open(self, key: str) -> None:
        from cinch_tui.screens.reader import Reader

        agent = self._context.sub_agents.find(key)
        if agent is None:
            return
        await self._context.open_screen(Reader(one_line(agent.name), lambda: agent.story))

    async def stop(self, key: str) -> None:
        agent = self._context.sub_agents.find(key)
        if agent is not None:
            self._context.agent.cancel_call(agent.call_id, agent.caller)

    @property
    def _agents(self) -> list[SubAgent]:
        return self._context.sub_agents.newest_first


def _row(agent: SubAgent) -> ItemRow:
    now = f" · {one_line(agent.doing)}" if agent.doing and agent.state == "running" else ""
    label = f"{'  ' * agent.depth}{_MARKS[agent.state]} {one_line(agent.name)}{now}"
    turns = f"{agent.turns} turn{'' if agent.turns == 1 else 's'}"
    return ItemRow(
        label, f"{turns} · {format_count(agent.tokens)} · {format_elapsed(agent.seconds)}", key=agent.session_id
    )


if TYPE_CHECKING:
    _: type[Panel] = AgentsPanel
