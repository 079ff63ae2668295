"""Status bar: agent state, model, cost and context usage."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from cinch_tui.config.tables.ui import StatusItem
from cinch_tui.data_message import DataMessage
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.reports.formatting import format_cost
from harness.terminal_text import escape_controls

CELLS = 10
WIDTH = CELLS + 5
MEDIUM_FROM = 60
HIGH_ABOVE = 85

Fill: TypeAlias = Literal["low", "medium", "high"]
FILLS: tuple[Fill, ...] = ("low", "medium", "high")
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_SECONDS = 0.25
GAP = "  "
AgentState: TypeAlias = Literal["idle", "running", "error", "aborted"]


def fill_of(percent: int) -> Fill:
    return "low" if percent < MEDIUM_FROM else "medium" if percent <= HIGH_ABOVE else "high"


class ContextGauge(Widget):
    """Empty while the context window is unknown."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"context-gauge--filled", "context-gauge--empty"}

    percent: reactive[int | None] = reactive(None)

    def update(self, used: int, window: int) -> None:
        self.percent = round(100 * used / window) if window > 0 else None

    def watch_percent(self, percent: int | None) -> None:
        self.set_class(percent is not None, "-known")
        for fill in FILLS:
            self.set_class(percent is not None and fill_of(percent) == fill, f"-{fill}")

    def render(self) -> Content:
        if self.percent is None:
            return Content()
        filled = min(CELLS, round(self.percent / CELLS))
        return Content.assemble(
            ("█" * filled, self.get_visual_style("context-gauge--filled", partial=True)),
            ("░" * (CELLS - filled), self.get_visual_style("context-gauge--empty", partial=True)),
            f"{min(999, self.percent):>4}%",
        )


class Status(Struct, frozen=True):
    """Content of the bar except the gauge."""

    state: AgentState = "idle"
    turn: int = 0
    """Number of the current turn; 0 before the first one."""
    plan: bool = False
    thinking_hidden: bool = False
    """Thinking is hidden."""
    approval: str = "smart"
    allowed: tuple[str, ...] = ()
    """Permission rules of the session."""
    skipped: tuple[str, ...] = ()
    """Files of the folder that have no effect, because it is not trusted."""
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    """Cost in US dollars; None if the price is unknown."""
    queued: int = 0
    note: str = ""
    command_line: str = ""
    """Output of the user's status command."""
    branch: str = ""
    servers: str = ""
    """MCP servers that need attention."""


class StatusPart(Struct, frozen=True):
    """A piece of the bar. On a narrow terminal `short` replaces its text, then unimportant parts are dropped."""

    text: str
    look: str
    importance: int
    item: StatusItem
    short: str = ""


class Arrangement(Struct, frozen=True):
    """Items of the bar from left to right, and whether animation is on."""

    items: tuple[StatusItem, ...] = get_args(StatusItem)
    moves: bool = True


class StatusLine(Widget):
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"status-line--{name}"
        for name in ("idle", "running", "error", "aborted", "plan", "approval", "note", "model", "figure")
    }

    status: reactive[Status] = reactive(Status())
    arrangement: reactive[Arrangement] = reactive(Arrangement())

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._started = 0.0
        # No timer while the agent is idle: an idle app must not wake up.
        self._ticker: Timer | None = None

    def watch_status(self, before: Status, status: Status) -> None:
        if status.state == "running" and before.state != "running":
            self._started = self._clock()
        self._tick()

    def watch_arrangement(self) -> None:
        self._tick()

    def _tick(self) -> None:
        moves = self.arrangement.moves and self.status.state == "running"
        if moves and self._ticker is None:
            self._ticker = self.set_interval(FRAME_SECONDS, self._spin)
        elif not moves and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def _spin(self) -> None:
        # Behind a dialog, each change repaints the whole screen.
        if self.screen.is_active:
            self.refresh()

    def render(self) -> Content:
        elapsed = self._clock() - self._started
        parts = parts_of(self.status, elapsed if self.arrangement.moves else None)
        shown = fit(arranged(parts, self.arrangement.items), self.size.width)
        pieces = ((part.text, self.get_visual_style(f"status-line--{part.look}", partial=True)) for part in shown)
        return Content(GAP).join([Content.assemble(piece) for piece in pieces])


class StatusBar(Horizontal):
    """Replace `status` as a whole: `bar.status = replace(bar.status, plan=True)`. `update_context` sets the gauge."""

    status: reactive[Status] = reactive(Status())
    arrangement: reactive[Arrangement] = reactive(Arrangement())
    """Items of the bar; the gauge follows at its next update."""

    class Changed(DataMessage):
        """The agent state changed."""

        state: AgentState

    def __init__(self, clock: Callable[[], float] = time.monotonic, arrangement: Arrangement | None = None) -> None:
        super().__init__()
        self.set_reactive(StatusBar.arrangement, arrangement or Arrangement())
        self._line = StatusLine(clock)
        self._gauge = ContextGauge()

    def watch_status(self, before: Status, status: Status) -> None:
        if status.state != before.state:
            self.post_message(self.Changed(status.state))

    def compose(self) -> ComposeResult:
        yield self._line.data_bind(StatusBar.status, StatusBar.arrangement)
        yield self._gauge

    def update_context(self, used: int, window: int) -> None:
        self._gauge.update(used, window if "context" in self.arrangement.items else 0)


def parts_of(status: Status, elapsed: float | None) -> list[StatusPart]:
    """Return all parts. Without elapsed time, a word indicates a run."""
    count = len(status.allowed)
    allowed = f"allowed: {one_line(status.allowed[0])}{f' +{count - 1}' if count > 1 else ''}" if count else ""
    more = f" +{len(status.skipped) - 1}" if len(status.skipped) > 1 else ""
    skipped = f"{one_line(status.skipped[0])}{more} skipped" if status.skipped else ""
    model = escape_controls(status.model)
    has_usage = status.tokens_in or status.tokens_out
    counts = f"↓{format_count(status.tokens_in)} ↑{format_count(status.tokens_out)}"
    parts = (
        StatusPart(f"[{status.state.upper()}]", status.state, 100, "state"),
        *(_progress(status, elapsed) if status.state == "running" else ()),
        StatusPart("PLAN" if status.plan else "", "plan", 90, "plan"),
        StatusPart(f"approve:{status.approval}" if status.approval != "smart" else "", "approval", 80, "approval"),
        StatusPart(allowed, "approval", 72, "approval", short=f"allowed: {count}"),
        StatusPart(skipped, "note", 71, "approval", short="not trusted"),
        StatusPart("thinking hidden" if status.thinking_hidden else "", "note", 60, "note"),
        StatusPart(f"{status.queued} queued" if status.queued else "", "note", 70, "queue"),
        StatusPart(escape_controls(status.note), "note", 65, "note"),
        StatusPart(status.servers, "note", 68, "note", short="/mcp" if status.servers else ""),
        StatusPart(model, "model", 50, "model", short=model.rpartition("/")[2]),
        StatusPart(counts if has_usage else "", "figure", 30, "tokens"),
        StatusPart(format_cost(status.cost) if has_usage else "", "figure", 40, "cost"),
        StatusPart(f"⎇ {escape_controls(status.branch)}" if status.branch else "", "figure", 10, "branch"),
        StatusPart(one_line(status.command_line), "figure", 20, "command"),
    )
    return [part for part in parts if part.text]


def _progress(status: Status, elapsed: float | None) -> tuple[StatusPart, StatusPart]:
    frame = SPINNER[int((elapsed or 0) / FRAME_SECONDS) % len(SPINNER)]
    sign = "working" if elapsed is None else f"{frame} {format_elapsed(elapsed)}"
    turn = f"turn {status.turn}" if status.turn else ""
    return StatusPart(sign, "running", 75, "state"), StatusPart(turn, "figure", 35, "state")


def arranged(parts: list[StatusPart], items: tuple[StatusItem, ...]) -> list[StatusPart]:
    """Return the configured parts in their order."""
    return [part for item in dict.fromkeys(items) for part in parts if part.item == item]


def fit(parts: list[StatusPart], width: int) -> list[StatusPart]:
    """Return the parts that fit: shorten texts first, then drop the least important."""
    shown = list(parts)
    for part in sorted(parts, key=lambda part: part.importance):
        if _width(shown) <= width:
            break
        if part.short:
            shown[shown.index(part)] = replace(part, text=part.short, short="")
    while _width(shown) > width and len(shown) > 1:
        shown.remove(min(shown, key=lambda part: part.importance))
    return shown


def _width(parts: list[StatusPart]) -> int:
    return sum(Content(part.text).cell_length for part in parts) + len(GAP) * (len(parts) - 1)


def format_count(number: int) -> str:
    """Format a number, rounded down: 999, 1.0K, 9.9K, 10K, 999K, 1.0M."""
    if number < 1_000:
        return str(number)
    if number < 10_000:
        return f"{number // 100 / 10:.1f}K"
    if number < 1_000_000:
        return f"{number // 1_000}K"
    return f"{number // 100_000 / 10:.1f}M"


def format_elapsed(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:02}:{minute:02}:{second:02}" if hours else f"{minute:02}:{second:02}"
