"""How a part of a widget looks by its style sheet, for what is written as `Content`."""

from __future__ import annotations

from textual.style import Style
from textual.widget import Widget


def look_of(widget: Widget, component: str) -> Style:
    """The style of that part alone. Textual's own leaves out that colours are swapped, which is all that marks a
    choice where there are few colours or none.
    """
    style = widget.get_visual_style(component, partial=True)
    swapped = widget.get_component_styles(component).text_style.reverse
    return style + Style(reverse=True) if swapped else style
