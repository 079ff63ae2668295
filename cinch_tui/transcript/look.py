"""The styles that lines are drawn with, read once from the stylesheet for a theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from rich.style import Style

from cinch_tui.rendering.code import CodeStyles
from cinch_tui.rendering.diff import DiffStyles

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
]

STYLE_NAMES: tuple[StyleName, ...] = get_args(StyleName)


def component_class(name: StyleName) -> str:
    return f"transcript--{name}"


class Look:
    """How the parts of a conversation look under one theme. A new theme is a new Look: lines drawn for another are stale."""

    __slots__ = ("_styles", "base", "diff")

    def __init__(self, base: Style, styles: Mapping[StyleName, Style], diff: DiffStyles) -> None:
        self.base = base
        self.diff = diff
        self._styles = styles

    @property
    def code(self) -> CodeStyles:
        return self.diff.code

    def __getitem__(self, name: StyleName) -> Style:
        """The style alone, to be laid over another."""
        return self._styles.get(name, Style.null())

    def on_base(self, name: StyleName) -> Style:
        return self.base + self[name]

    @classmethod
    def bare(cls) -> Look:
        """No colours at all."""
        return cls(Style.null(), {}, DiffStyles())
