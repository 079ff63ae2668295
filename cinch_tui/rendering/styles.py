"""Styles of code and diffs, taken from the theme through a widget's component classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from rich.style import Style

if TYPE_CHECKING:
    from textual.widget import Widget

PLAIN = Style()


class CodeStyles(Struct, frozen=True):
    """Styles of syntax tokens."""

    keyword: Style = PLAIN
    string: Style = PLAIN
    comment: Style = PLAIN
    number: Style = PLAIN
    function: Style = PLAIN
    type: Style = PLAIN
    constant: Style = PLAIN
    operator: Style = PLAIN
    tag: Style = PLAIN
    attribute: Style = PLAIN
    inserted: Style = PLAIN
    deleted: Style = PLAIN


CODE_CLASSES = frozenset(f"code--{name}" for name in CodeStyles.__struct_fields__)
"""Component classes for a widget that shows code; colors are set in `styles/code.tcss`."""


class DiffStyles(Struct, frozen=True):
    """Styles of the parts of a diff, from the component classes of the widget that shows it."""

    added: Style = PLAIN
    removed: Style = PLAIN
    context: Style = PLAIN
    gutter: Style = PLAIN
    hunk: Style = PLAIN
    head: Style = PLAIN
    added_word: Style = PLAIN
    removed_word: Style = PLAIN
    split_from: int = 150
    """Minimum width of the side-by-side view, in cells."""
    code: CodeStyles = field(default_factory=CodeStyles)


DIFF_CLASSES = CODE_CLASSES | {
    "diff--added",
    "diff--removed",
    "diff--context",
    "diff--gutter",
    "diff--hunk",
    "diff--head",
    "diff--added-word",
    "diff--removed-word",
    "diff--split",
}
"""Component classes for a widget that shows diffs; colors are set in `styles/code.tcss`."""


def diff_styles(widget: Widget) -> DiffStyles:
    """Return the styles of a widget whose component classes include `DIFF_CLASSES`."""

    def style(part: str) -> Style:
        return component_style(widget, f"diff--{part}")

    return DiffStyles(
        added=style("added"),
        removed=style("removed"),
        context=style("context"),
        gutter=style("gutter"),
        hunk=style("hunk"),
        head=style("head"),
        added_word=style("added-word"),
        removed_word=style("removed-word"),
        split_from=_least_width(widget, "diff--split"),
        code=code_styles(widget),
    )


def _least_width(widget: Widget, name: str) -> int:
    least = widget.get_component_styles(name).min_width
    return DiffStyles().split_from if least is None else int(least.value)


def component_style(widget: Widget, name: str) -> Style:
    """Return the style of a component class; colors without a rule stay unset."""
    whole = widget.get_component_rich_style(name)
    own = widget.get_component_rich_style(name, partial=True)
    colours = Style(color=whole.color if own.color else None, bgcolor=whole.bgcolor if own.bgcolor else None)
    return own.without_color + colours


def code_styles(widget: Widget) -> CodeStyles:
    """Return the styles of a widget whose component classes include `CODE_CLASSES`."""
    return CodeStyles(*(component_style(widget, f"code--{name}") for name in CodeStyles.__struct_fields__))
