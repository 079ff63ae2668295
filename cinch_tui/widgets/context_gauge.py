"""Context window usage as a bar of ten cells and a percentage."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

CELLS = 10
WIDTH = CELLS + 5
MEDIUM_FROM = 60
HIGH_ABOVE = 85

Fill: TypeAlias = Literal["low", "medium", "high"]
FILLS: tuple[Fill, ...] = ("low", "medium", "high")


def fill_of(percent: int) -> Fill:
    if percent < MEDIUM_FROM:
        return "low"
    return "medium" if percent <= HIGH_ABOVE else "high"


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
