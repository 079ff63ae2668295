"""Base class of the panels around the conversation, and the table of all panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from textual.screen import Screen

    from cinch_tui.assembly.assembly import Assembly
    from cinch_tui.panels.subagents import Subagents
    from cinch_tui.widgets.item_list import ItemRow
    from harness.agent.agent import Agent
    from harness.events import Event


class PanelContext(Struct, frozen=True):
    """State that a panel reads, and a way to open a screen."""

    assembly: Assembly
    subagents: Subagents
    open_screen: Callable[[Screen[None]], Awaitable[None]]
    """Open a screen and wait until it is closed; to be called in a worker."""

    @property
    def agent(self) -> Agent:
        return self.assembly.agent


class Panel:
    """A list of rows, each identified by a key. By default they change with events only."""

    empty = ""
    """Text shown when there are no rows."""
    keys: tuple[str, ...] = ()
    """Keys that can be pressed, as parts of a `hint`."""
    follows = False
    """The newest rows are at the end, where the cursor then goes."""

    def __init__(self, context: PanelContext) -> None:
        self._context = context

    @property
    def is_live(self) -> bool:
        """True if the rows change with time alone; they are then updated every second."""
        return False

    def affected_by(self, event: Event) -> bool:
        """Return True if this event may have changed the rows."""
        del event
        return False

    async def rows(self) -> Sequence[ItemRow]:
        """Return the current rows; not called while the panel is hidden."""
        raise NotImplementedError

    async def open(self, key: str) -> None:
        """Show the details of a row, if it still exists."""
        raise NotImplementedError

    async def stop(self, key: str) -> None:
        """Stop what a row shows, if it still runs."""

    def next_filter(self) -> None:
        """Switch to the next filter, if there are any."""


class PanelSpec(Struct, frozen=True):
    """A panel that can be shown and hidden."""

    name: str
    title: str
    summary: str
    above_prompt: bool = False
    """True for a widget above the prompt; the others share the area next to the conversation, one at a time."""


PANELS: tuple[PanelSpec, ...] = (
    PanelSpec("tools", "Calls", "running calls, above the prompt", above_prompt=True),
    PanelSpec("todo", "Steps", "the agent's todo list, above the prompt", above_prompt=True),
    PanelSpec("changes", "Changes", "files changed in this session"),
    PanelSpec("jobs", "Jobs", "background jobs"),
    PanelSpec("agents", "Agents", "subagents and their activity"),
    PanelSpec("logs", "Logs", "what this program notes of itself"),
)


def find_panel(name: str) -> PanelSpec | None:
    return next((spec for spec in PANELS if spec.name == name), None)
