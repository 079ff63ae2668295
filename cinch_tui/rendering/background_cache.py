"""Workaround for Textual 8.2, which caches the background of each widget by the widget's `StylesCache`.

The cache keeps up to 1,024 of these alive after their widgets, some hundred megabytes in a long session.
"""

from __future__ import annotations

from functools import lru_cache

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.style import Style


@lru_cache(1024)
def _inner_and_outer(base: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base + background), Style(background=base)


def remember_backgrounds_by_colour() -> None:
    """Patch Textual. Call it once, before the first paint."""
    StylesCache.get_inner_outer = staticmethod(_inner_and_outer)  # pyright: ignore[reportAttributeAccessIssue]
