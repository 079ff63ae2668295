"""Port: what the area beside the conversation shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from cinch_tui.widgets.item_list import ItemRow

if TYPE_CHECKING:
    from harness.events import Event


class Panel(Protocol):
    """A list of lines, each with a key by which it is known. `empty` stands where there are none; `hint` says what can
    be pressed."""

    @property
    def empty(self) -> str: ...

    @property
    def hint(self) -> str: ...

    @property
    def is_live(self) -> bool:
        """Whether time alone changes what it shows, so that it is drawn anew each second while it is seen."""
        ...

    @property
    def follows(self) -> bool:
        """Whether its end is what matters, so that the cursor goes there."""
        ...

    def concerns(self, event: Event) -> bool:
        """Whether this may have changed what it shows."""
        ...

    async def rows(self) -> Sequence[ItemRow]:
        """Its lines as they are now; never asked for while it is hidden."""
        ...

    async def open(self, key: str) -> None:
        """Show more of the line of that key, where there is one yet."""
        ...

    async def stop(self, key: str) -> None:
        """End what the line of that key stands for, where there is one yet."""
        ...

    def turn(self) -> None:
        """Look at it another way, where there is one."""
        ...


class StillPanel:
    """What most panels have in common."""

    @property
    def is_live(self) -> bool:
        return False

    @property
    def follows(self) -> bool:
        return False

    async def stop(self, key: str) -> None:
        """There is nothing to end."""

    def turn(self) -> None:
        """There is no other way to look at it."""
