"""Port: a panel beside the conversation, and what it may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.screen import Screen

    from cinch_tui.assembly import Assembly
    from cinch_tui.panels.sub_agents import SubAgents
    from cinch_tui.widgets.item_list import ItemRow
    from harness.agent.agent import Agent
    from harness.events import Event


@dataclass(frozen=True, slots=True)
class PanelContext:
    """State that a panel reads, and a way to open a screen."""

    assembly: Assembly
    sub_agents: SubAgents
    open_screen: Callable[[Screen[None]], Awaitable[None]]
    """Open a screen and wait until it is closed; to be called in a worker."""

    @property
    def agent(self) -> Agent:
        return self.assembly.agent


class Panel(Protocol):
    """A list of rows, each identified by a key."""

    @property
    def empty(self) -> str:
        """Text shown when there are no rows."""
        ...

    @property
    def hint(self) -> str:
        """Keys that can be pressed."""
        ...

    @property
    def is_live(self) -> bool:
        """True if the rows change with time alone; they are then updated every second."""
        ...

    @property
    def follows(self) -> bool:
        """True if the newest rows are at the end, where the cursor then goes."""
        ...

    def affected_by(self, event: Event) -> bool:
        """Return True if this event may have changed the rows."""
        ...

    async def rows(self) -> Sequence[ItemRow]:
        """Return the current rows; not called while the panel is hidden."""
        ...

    async def open(self, key: str) -> None:
        """Show the details of a row, if it still exists."""
        ...

    async def stop(self, key: str) -> None:
        """Stop what a row shows, if it still runs."""
        ...

    def next_filter(self) -> None:
        """Switch to the next filter, if there are any."""
        ...


class StaticPanel:
    """Defaults for a panel that changes with events only."""

    @property
    def is_live(self) -> bool:
        return False

    @property
    def follows(self) -> bool:
        return False

    async def stop(self, key: str) -> None:
        """Do nothing: the rows show nothing that runs."""

    def next_filter(self) -> None:
        """Do nothing: there are no filters."""
