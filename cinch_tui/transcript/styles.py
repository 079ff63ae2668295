"""The styles that lines are drawn with, read once from the stylesheet for a theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from rich.style import Style

from cinch_tui.rendering.styles import CodeStyles, DiffStyles, component_style, diff_styles
from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from textual.widget import Widget

StyleName: TypeAlias = Literal[
    "user",
    "user-mark",
    "muted",
    "heading",
    "strong",
    "emphasis",
    "strike",
    "code",
    "code-block",
    "link",
    "quote-mark",
    "rule",
    "bullet",
    "table-header",
    "thinking",
    "info",
    "warning",
    "error",
    "waiting",
    "running",
    "done",
    "failed",
    "denied",
    "label",
    "metric",
    "cursor",
    "command",
    "match",
    "match-current",
]

STYLE_NAMES: tuple[StyleName, ...] = get_args(StyleName)


def component_class(name: StyleName) -> str:
    return f"transcript--{name}"


ImageWay: TypeAlias = Literal["off", "blocks", "kitty"]


@dataclass(frozen=True, slots=True)
class Ways:
    """What else is shown than what was said: when it was said; files below `root` as links; pictures."""

    stamps: bool = False
    root: str = ""
    images: ImageWay = "off"


@dataclass(frozen=True, slots=True)
class BlockStyles:
    """The styles of one theme, and what the person wants to see. Lines drawn for another are stale."""

    base: Style
    styles: Mapping[StyleName, Style]
    diff: DiffStyles
    ways: Ways = Ways()

    @property
    def code(self) -> CodeStyles:
        return self.diff.code

    def __getitem__(self, name: StyleName) -> Style:
        """The style alone, to be laid over another."""
        return self.styles.get(name, Style.null())

    def on_base(self, name: StyleName) -> Style:
        return self.base + self[name]

    @classmethod
    def bare(cls) -> BlockStyles:
        """No colours at all."""
        return cls(Style.null(), {}, DiffStyles())


def block_styles(widget: Widget, ways: Ways) -> BlockStyles:
    """The look of a widget whose component classes include all of ours, and those of diffs."""
    styles: dict[StyleName, Style] = {name: component_style(widget, component_class(name)) for name in STYLE_NAMES}
    return BlockStyles(widget.rich_style, styles, diff_styles(widget), ways)
