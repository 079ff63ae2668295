"""Panel of running tool calls above the prompt: elapsed time, last output line, cancellation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.reactive import var
from textual.style import Style
from textual.timer import Timer

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.keybindings.prompt_keys import FocusPrompt, PanelKeys
from cinch_tui.widgets.status_bar import format_elapsed
from harness.terminal_text import escape_controls

MAX_ROWS = 10
TICK_SECONDS = 0.5
RETIRE_SECONDS = 0.5
FADE_SECONDS = 10.0
_ROOM_FOR_HINT = 50
MIN_LABEL = 20
"""Cells that the name of a tool may take in any case."""
KEYS = (
    "↑ ↓ choose",
    "tools.cancel cancels",
    "tools.background runs in the background",
    "tools.show shows it",
    "tools.leave back",
)

CallState: TypeAlias = Literal["written", "running", "done", "failed"]
"""A call is `written` while the model writes its arguments."""

CallAction: TypeAlias = Literal["cancel", "background", "show"]

_MARKS: dict[CallState, str] = {"written": "○", "running": "●", "done": "✓", "failed": "✗"}


class LiveCall(Struct):
    label: str
    summary: str
    started: float
    tail: str = ""
    state: CallState = "running"
    finished: float = 0.0

    @property
    def is_active(self) -> bool:
        return self.state in ("written", "running")


class ToolPanel(PanelKeys, can_focus=True):
    """Calls are identified by id. Finished calls fade after a while.

    Updates of unknown calls are ignored. While focused, one call is selected.
    """

    BINDINGS = bindings("tools")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"tool-panel--{name}" for name in ("written", "running", "done", "failed", "summary", "tail", "chosen", "hint")
    }

    has_calls = var(default=False, toggle_class="-has-calls")

    class ActionRequested(DataMessage):
        """Perform an action on a call."""

        action: CallAction
        call_id: str

    def __init__(self, clock: Callable[[], float] = time.monotonic, fade_seconds: float = FADE_SECONDS) -> None:
        super().__init__()
        self._clock = clock
        self._fade_seconds = fade_seconds
        self._calls: dict[str, LiveCall] = {}
        self._rows = 0
        self._drawn: list[str] = []
        self._chosen = ""
        # One timer for all rows; none without rows.
        self._ticker: Timer | None = None
        self._retiring: Timer | None = None

    def started(self, call_id: str, label: str, summary: str) -> None:
        if self._retiring is not None:
            self._let_go()
        self._calls[call_id] = LiveCall(_one_line(label), _one_line(summary), self._clock())
        self._changed()

    def written(self, call_id: str, label: str, summary: str, *, since: float) -> None:
        """Show a call that the model writes since a time of the clock."""
        if self._retiring is not None:
            self._let_go()
        self._calls[call_id] = LiveCall(_one_line(label), _one_line(summary), since, state="written")
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
            self.refresh()

    def clear(self) -> None:
        self._calls.clear()
        self._changed()

    def retire(self) -> None:
        """Remove finished and written calls soon; a call that starts first takes their place, so nothing jumps."""
        if self._calls and self._retiring is None:
            self._retiring = self.set_timer(RETIRE_SECONDS, self._retire)

    def _retire(self) -> None:
        self._let_go()
        self._changed()

    def _let_go(self) -> None:
        if self._retiring is not None:
            self._retiring.stop()
            self._retiring = None
        self._keep_calls(lambda call: False)

    def _keep_calls(self, is_kept: Callable[[LiveCall], bool]) -> None:
        """Remove calls that do not run, except for those that are kept."""
        calls = self._calls.items()
        self._calls = {call_id: call for call_id, call in calls if call.state == "running" or is_kept(call)}

    def tick(self) -> None:
        """Update elapsed times and remove faded calls."""
        before, faded = len(self._calls), self._clock() - self._fade_seconds
        self._keep_calls(lambda call: call.is_active or call.finished > faded)
        if len(self._calls) < before:
            self._changed()
        elif any(call.is_active for call in self._calls.values()):
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return min(len(self._calls), MAX_ROWS, max(1, viewport.height // 6)) + (1 if self.has_focus else 0)

    def render(self) -> Content:
        # While focused, the last row shows the keys.
        rows = max(1, self.size.height - (1 if self.has_focus else 0))
        hidden = len(self._calls) - rows
        if self.has_focus:
            self._drawn = self._around_chosen(rows)
            return Content("\n").join([*map(self._line, self._drawn), self._keys_line(counts=hidden > 0)])
        self._drawn = self._kept(max(1, rows - 1) if hidden > 0 else rows)
        lines = [self._line(call_id) for call_id in self._drawn]
        if hidden > 0 and rows > 1:
            lines.append(Content(f"  … and {hidden + 1} more"))
        elif hidden > 0:
            lines = [self._counted(lines[0])]
        return Content("\n").join(lines)

    def _counted(self, line: Content) -> Content:
        """Return the only visible row with the number of other running calls."""
        others = sum(call.is_active for call in self._calls.values()) - 1
        count = f"  +{others} more" if others > 0 else ""
        room = max(0, self.size.width - len(count))
        return line.truncate(room, ellipsis=True, pad=bool(count)).append(count)

    def _keys_line(self, *, counts: bool) -> Content:
        count = f"{len(self._calls)} calls · " if counts else ""
        keys = Content.assemble((f"  {count}{hint(*KEYS)}", self._look("hint")))
        return keys.truncate(self.size.width, ellipsis=True)

    def on_focus(self) -> None:
        self._choose(self._chosen)
        self.refresh(layout=True)

    def on_blur(self) -> None:
        self.refresh(layout=True)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        # On click the rows have already moved, since the focus adds a hint row.
        offset = event.get_content_offset(self)
        if offset is not None and offset.y < len(self._drawn):
            self._choose(self._drawn[offset.y])

    def action_move(self, by: int) -> None:
        calls = list(self._calls)
        if calls:
            at = calls.index(self._chosen) if self._chosen in calls else -by
            self._choose(calls[max(0, min(at + by, len(calls) - 1))])

    def action_do(self, action: CallAction) -> None:
        """Perform an action on the selected call; finished calls can only be shown."""
        call = self._calls.get(self._chosen)
        if call is not None and (action == "show" or call.state == "running"):
            self.post_message(self.ActionRequested(action, self._chosen))

    def _choose(self, call_id: str) -> None:
        """Select a call, or the newest running one if it is gone."""
        running = [each for each, call in self._calls.items() if call.state == "running"]
        self._chosen = call_id if call_id in self._calls else (running or [*self._calls, ""])[-1]
        self.refresh()

    def _around_chosen(self, rows: int) -> list[str]:
        """Return the visible calls in order, including the selected one."""
        calls = list(self._calls)
        place = calls.index(self._chosen) if self._chosen in calls else 0
        first = max(0, min(place - rows // 2, len(calls) - rows))
        return calls[first : first + rows]

    def _kept(self, rows: int) -> list[str]:
        """Return the visible calls in order, preferring running ones, then later ones."""

        def rank(call_id: str) -> tuple[bool, float]:
            return self._calls[call_id].is_active, self._calls[call_id].started

        kept = set(sorted(self._calls, key=rank, reverse=True)[:rows])
        return [call_id for call_id in self._calls if call_id in kept]

    def _line(self, call_id: str) -> Content:
        call = self._calls[call_id]
        if self.has_focus:
            row = self._row(call, self.size.width)
            return row.stylize(self._look("chosen")) if call_id == self._chosen else row
        running = [each for each in self._drawn if self._calls[each].state == "running"]
        way_in = f"  {hint('chat.focus_panel selects')}" if running[:1] == [call_id] else ""
        room = self.size.width - len(way_in)
        if not way_in.strip() or room < _ROOM_FOR_HINT:
            return self._row(call, self.size.width)
        row = self._row(call, room).truncate(room, ellipsis=True, pad=True)
        return Content.assemble(row, (way_in, self._look("hint")))

    def _row(self, call: LiveCall, width: int) -> Content:
        seconds = (self._clock() if call.is_active else call.finished) - call.started
        # Tools of MCP servers have long names; the progress of a call matters more.
        label = Content(call.label).truncate(max(MIN_LABEL, width // 2), ellipsis=True)
        mark = Content.assemble((f"{_MARKS[call.state]} ", self._look(call.state)), label, " ")
        elapsed = f"  {format_elapsed(seconds)}" if seconds >= 1 else ""
        tail = Content.assemble((f"  {call.tail}" if call.tail else "", self._look("tail")))
        room = max(0, width - mark.cell_length - len(elapsed))
        # Summary and output share the width if both do not fit.
        kept = max(room // 2, room - tail.cell_length)
        summary = Content.assemble((call.summary, self._look("summary"))).truncate(kept, ellipsis=True)
        return Content.assemble(mark, summary, elapsed, tail).truncate(width, ellipsis=True)

    def _look(self, name: str) -> Style:
        return self.get_visual_style(f"tool-panel--{name}", partial=True)

    def _changed(self) -> None:
        self.has_calls = bool(self._calls)
        if self.has_focus and not self._calls:
            self.post_message(FocusPrompt(emptied=True))
        elif self.has_focus and self._chosen not in self._calls:
            self._choose("")
        if self._calls and self._ticker is None:
            self._ticker = self.set_interval(TICK_SECONDS, self.tick)
        elif not self._calls and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None
        # Layout only if the number of rows changed.
        before, self._rows = self._rows, len(self._calls)
        self.refresh(layout=self._rows != before)


def _one_line(text: str) -> str:
    return escape_controls(" ".join(text.split()))
