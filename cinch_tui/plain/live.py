"""Live output: the lines that a running command prints, at a bounded rate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from cinch_tui.plain.line_writer import LineWriter
from harness.views import TerminalView, View

PACE = 1.0
"""Time before the first lines and between further ones, in seconds."""
MOST_LINES = 10
"""Lines printed at a time; of more, the last ones."""


class LiveOutput:
    """Prints each line of one command once, when it is complete. Belongs to the event loop of the agent.

    A command that ends within `pace` prints nothing here. While the user types a line, the output waits. `label`
    returns the label of the lines.
    """

    def __init__(
        self, writer: LineWriter, label: Callable[[], str], *, most: int = MOST_LINES, pace: float = PACE
    ) -> None:
        self.has_printed = False
        self._writer = writer
        self._label = label
        self._most = most
        self._pace = pace
        self._view = TerminalView("", "")
        self._position = 0
        self._loop = asyncio.get_running_loop()
        self._next_at = self._loop.time() + pace
        self._timer: asyncio.TimerHandle | None = None

    def update(self, view: View) -> None:
        """Take the output so far, to be printed when it is time."""
        if isinstance(view, TerminalView):
            self._view = view
            self._timer = self._timer or self._loop.call_at(self._next_at, self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def finish(self, view: View | None) -> None:
        """Print the rest of the output of a command that has ended, when some of it was printed before."""
        self.stop()
        if isinstance(view, TerminalView):
            self._view = view
        if self.has_printed:
            self._print(len(self._view.output))

    def _tick(self) -> None:
        self._timer, self._next_at = None, self._loop.time() + self._pace
        if self._writer.is_paused:
            self._timer = self._loop.call_at(self._next_at, self._tick)
        else:
            self._print(self._view.output.rfind("\n") + 1)

    def _print(self, end: int) -> None:
        """Print the output up to `end`, from where the last call of this ended."""
        left_out = self._view.left_out or 0
        text = self._view.output[max(0, self._position - left_out) : end]
        has_gap, self._position = self._position < left_out, max(self._position, left_out + end)
        if text.strip():
            self.has_printed = True
            lines = text.strip("\n").split("\n")
            self._writer.write(self._label(), "\n".join(last_lines(lines, self._most, has_gap=has_gap)))


def last_lines(lines: Sequence[str], most: int, *, has_gap: bool) -> list[str]:
    """Return the last lines, after one that says how many others there are; with a gap before them it cannot say."""
    if has_gap:
        return ["[lines left out]", *lines[-most:]]
    if len(lines) <= most + 1:
        return list(lines)
    return [f"[{len(lines) - most} more lines]", *lines[-most:]]
