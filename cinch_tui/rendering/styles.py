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


_DIFF_PARTS = tuple(name for name in DiffStyles.__struct_fields__ if name not in ("split_from", "code"))

DIFF_CLASSES = CODE_CLASSES | {"diff--split"} | {f"diff--{name.replace('_', '-')}" for name in _DIFF_PARTS}
"""Component classes for a widget that shows diffs; colors are set in `styles/code.tcss`."""


def diff_styles(widget: Widget) -> DiffStyles:
    """Return the styles of a widget whose component classes include `DIFF_CLASSES`."""
    parts = {name: component_style(widget, f"diff--{name.replace('_', '-')}") for name in _DIFF_PARTS}
    least = widget.get_component_styles("diff--split").min_width
    split_from = DiffStyles().split_from if least is None else int(least.value)
    return DiffStyles(**parts, split_from=split_from, code=code_styles(widget))


def component_style(widget: Widget, name: str) -> Style:
    """Return the style of a component class; colors without a rule stay unset."""
    combined = widget.get_component_rich_style(name)
    own = widget.get_component_rich_style(name, partial=True)
    colours = Style(color=combined.color if own.color else None, bgcolor=combined.bgcolor if own.bgcolor else None)
    return own.without_color + colours


def code_styles(widget: Widget) -> CodeStyles:
    """Return the styles of a widget whose component classes include `CODE_CLASSES`."""
    return CodeStyles(*(component_style(widget, f"code--{name}") for name in CodeStyles.__struct_fields__))
