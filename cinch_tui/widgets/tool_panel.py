"""The live tool calls, above the prompt: what runs, since when, and its last line of output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from textual.content import Content
from textual.geometry import Size
from textual.reactive import var
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget

from cinch_tui.transcript.plain import harmless
from cinch_tui.widgets.status_bar import format_elapsed

MAX_ROWS = 10
TICK_SECONDS = 0.5
FADE_SECONDS = 10.0

CallState: TypeAlias = Literal["running", "done", "failed"]

_MARKS: dict[CallState, str] = {"running": "●", "done": "✓", "failed": "✗"}


@dataclass(slots=True)
class LiveCall:
    label: str
    summary: str
    started: float
    tail: str = ""
    state: CallState = "running"
    finished: float = 0.0


class ToolPanel(Widget):
    """Calls are told apart by their id, whatever their names. What is finished fades after a while.

    An update or an end of a call that is not shown changes nothing.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tool-panel--running",
        "tool-panel--done",
        "tool-panel--failed",
        "tool-panel--summary",
        "tool-panel--tail",
    }

    has_calls = var(default=False, toggle_class="-has-calls")

    def __init__(self, clock: Callable[[], float] = time.monotonic, fade_seconds: float = FADE_SECONDS) -> None:
        super().__init__()
        self._clock = clock
        self._fade_seconds = fade_seconds
        self._calls: dict[str, LiveCall] = {}
        # One timer for all rows, and none while there is no row.
        self._ticker: Timer | None = None

    @property
    def is_ticking(self) -> bool:
        return self._ticker is not None

    def started(self, call_id: str, label: str, summary: str) -> None:
        self._calls[call_id] = LiveCall(_one_line(label), _one_line(summary), self._clock())
        self._changed()

    def updated(self, call_id: str, tail_line: str) -> None:
        if call_id in self._calls:
            self._calls[call_id].tail = _one_line(tail_line)
            self.refresh()

    def finished(self, call_id: str, *, ok: bool) -> None:
        call = self._calls.get(call_id)
        if call is not None:
            call.state = "done" if ok else "failed"
            call.finished = self._clock()
            self._changed()

    def clear(self) -> None:
        self._calls.clear()
        self._changed()

    def tick(self) -> None:
        """Draw the time that has passed, and let go what has faded."""
        now = self._clock()
        faded = [call_id for call_id, call in self._calls.items() if self._has_faded(call, now)]
        for call_id in faded:
            del self._calls[call_id]
        if faded:
            self._changed()
        elif _any_running(self._calls.values()):
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, width
        return min(len(self._calls), MAX_ROWS, max(1, viewport.height // 6))

    def render(self) -> Content:
        rows = max(1, self.size.height)
        calls = list(self._calls.values())
        # What runs is worth more than what is over, then what began later.
        ranked = sorted(calls, key=lambda call: (call.state == "running", call.started), reverse=True)
        hidden = len(calls) - rows
        kept = ranked[: max(1, rows - 1)] if hidden > 0 else ranked
        lines = [self._row(call) for call in calls if any(call is each for each in kept)]
        if hidden > 0 and rows > 1:
            lines.append(Content(f"  … and {hidden + 1} more"))
        return Content("\n").join(lines)

    def _row(self, call: LiveCall) -> Content:
        seconds = (self._clock() if call.state == "running" else call.finished) - call.started
        mark = Content.assemble((f"{_MARKS[call.state]} ", self._look(call.state)), call.label, " ")
        elapsed = f"  {format_elapsed(seconds)}" if seconds >= 1 else ""
        tail = Content.assemble((f"  {call.tail}" if call.tail else "", self._look("tail")))
        room = max(0, self.size.width - mark.cell_length - len(elapsed))
        # Both what was called for and what it is at must be seen: neither takes more than half where they do not fit.
        kept = max(room // 2, room - tail.cell_length)
        summary = Content.assemble((call.summary, self._look("summary"))).truncate(kept, ellipsis=True)
        return Content.assemble(mark, summary, elapsed, tail).truncate(self.size.width, ellipsis=True)

    def _look(self, name: str) -> Style:
        return self.get_visual_style(f"tool-panel--{name}", partial=True)

    def _changed(self) -> None:
        self.has_calls = bool(self._calls)
        if self._calls and self._ticker is None:
            self._ticker = self.set_interval(TICK_SECONDS, self.tick)
        elif not self._calls and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None
        self.refresh(layout=True)

    def _has_faded(self, call: LiveCall, now: float) -> bool:
        return call.state != "running" and now - call.finished >= self._fade_seconds


def _any_running(calls: Iterable[LiveCall]) -> bool:
    return any(call.state == "running" for call in calls)


def _one_line(text: str) -> str:
    return harmless(" ".join(text.split()))
