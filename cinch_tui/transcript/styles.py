"""Styles of transcript lines, read from the style sheet once per theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from msgspec import Struct
from rich.style import Style

from cinch_tui.rendering.styles import DiffStyles, component_style, diff_styles

if TYPE_CHECKING:
    from textual.widget import Widget

_Markdown: TypeAlias = Literal["heading", "strong", "emphasis", "strike", "code", "code-block", "link"]
_Structure: TypeAlias = Literal["quote-mark", "rule", "bullet", "table-header"]
_Message: TypeAlias = Literal["user", "user-mark", "thinking", "info", "warning", "error", "muted"]
_ToolCall: TypeAlias = Literal["waiting", "running", "done", "failed", "denied", "label", "metric", "command"]
StyleName: TypeAlias = Literal[_Markdown, _Structure, _Message, _ToolCall, "cursor", "match", "match-current"]

STYLE_NAMES: tuple[StyleName, ...] = get_args(StyleName)


def component_class(name: StyleName) -> str:
    return f"transcript--{name}"


ImageMode: TypeAlias = Literal["off", "blocks", "kitty"]


class DisplayOptions(Struct, frozen=True):
    """Display options."""

    stamps: bool = False
    """Show time stamps."""
    root: str = ""
    """Base directory of file links; empty: none."""
    images: ImageMode = "off"


class BlockStyles(Struct, frozen=True):
    """Styles of a theme, and display options. Lines drawn with other ones are outdated."""

    base: Style
    named: Mapping[StyleName, Style]
    diff: DiffStyles
    options: DisplayOptions = DisplayOptions()

    def __getitem__(self, name: StyleName) -> Style:
        """Return the style alone, to be combined with another."""
        return self.named.get(name, Style.null())

    def on_base(self, name: StyleName) -> Style:
        return self.base + self[name]

    @classmethod
    def bare(cls) -> BlockStyles:
        """Return styles without colors."""
        return cls(Style.null(), {}, DiffStyles())


def block_styles(widget: Widget, options: DisplayOptions) -> BlockStyles:
    """Return the styles of a widget with the component classes of blocks and diffs."""
    styles: dict[StyleName, Style] = {name: component_style(widget, component_class(name)) for name in STYLE_NAMES}
    return BlockStyles(widget.rich_style, styles, diff_styles(widget), options)
