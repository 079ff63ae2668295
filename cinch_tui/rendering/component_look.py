"""Component styles of a widget for use in `Content`."""

from __future__ import annotations

from textual.style import Style
from textual.widget import Widget


def look_of(widget: Widget, component: str) -> Style:
    """Return the style of one component class.

    Textual's `get_visual_style` drops `reverse`, the only marker of a selection on terminals with few colors.
    """
    style = widget.get_visual_style(component, partial=True)
    swapped = widget.get_component_styles(component).text_style.reverse
    return style + Style(reverse=True) if swapped else style
