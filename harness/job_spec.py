"""Commands that run as jobs, and the ports of their output and terminal."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from msgspec import Struct


class JobOutput(Protocol):
    """Port: output of a job."""

    def latest(self, limit: int) -> str:
        """Return the last `limit` characters."""
        ...

    def full_text(self) -> str:
        """Return all output so far, or its beginning and end with a note on where the rest is."""
        ...

    def new_text(self) -> str:
        """Return the output since the last call, truncated with a note on where the rest is."""
        ...


class JobScreen(Struct, frozen=True):
    """Screen of a program that draws on its terminal instead of printing lines."""

    text: str
    """Rows, without trailing spaces and empty rows at the end."""
    line: int
    """Line of the cursor, from 1."""
    column: int
    """Column of the cursor, from 1."""
    is_alternate: bool
    """True for a full-screen program, such as an editor: its screen is gone when it ends."""


class JobInput(Protocol):
    """Port: terminal of a job that a program reads its input from."""

    @property
    def screen(self) -> JobScreen | None:
        """Return what the program has drawn; None while it prints lines."""
        ...

    @property
    def uses_application_keys(self) -> bool:
        """True if the program expects the sequences of the application mode for cursor keys."""
        ...

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the terminal; the program is notified."""
        ...

    @property
    def hides_input(self) -> bool:
        """True while the program reads without echo, as it does for a password."""
        ...

    def type(self, data: bytes) -> int:
        """Type data and return how much of it was accepted; 0 once the program has ended."""
        ...

    @property
    def is_settled(self) -> bool:
        """True if the program has printed something since the last input, and nothing for a moment."""
        ...


class JobSpec(Struct, frozen=True):
    """A command to run."""

    call_id: str
    """Id of the tool call."""
    title: str
    """Description for the user, such as the command."""
    output: JobOutput
    """Output of the command."""
    work: Callable[[], Coroutine[Any, Any, int]]  # Any: what a coroutine yields and receives is internal to asyncio
    """Runs the command and returns its exit code; cleans up when cancelled."""
    input: JobInput | None = None
    """Terminal of the command; None if its input is empty."""
