"""Terminal rendering of an app as readable, comparable text: characters, and their colours below.

Much smaller than an SVG, and a change of one cell is a change of one line.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from textual._context import visible_screen_stack
from textual.app import App
from textual.strip import Strip

MARKS = string.ascii_letters + string.digits + "αβγδεζηθικλμνξοπρστυφχψω"
ATTRIBUTES = ("bold", "dim", "italic", "underline", "strike", "reverse", "blink")


@dataclass(frozen=True, slots=True)
class Painting:
    """Rows of text with the style of each cell."""

    rows: tuple[str, ...]
    styles: tuple[tuple[str, ...], ...]


def strips_of(app: App[object]) -> list[Strip]:
    """Return what the terminal shows; cheaper to compare than a `Painting`."""
    # A dialog is painted over the screen below it.
    visible_screen_stack.set(app._background_screens)
    return app.screen._compositor.render_strips()


def paint(app: App[object]) -> Painting:
    rows: list[str] = []
    styles: list[tuple[str, ...]] = []
    for strip in strips_of(app):
        cells = [cell for segment in strip for cell in _cells(segment.text, _style_name(segment.style))]
        rows.append("".join(text for text, _ in cells).rstrip())
        styles.append(tuple(style for text, style in cells for _ in range(cell_len(text))))
    return Painting(tuple(rows), tuple(styles))


def side_by_side(paintings: dict[str, Painting]) -> str:
    """Return the same screen in several themes as one text; only colours may differ."""
    first, *others = paintings.values()
    assert all(other.rows == first.rows for other in others), "a theme has changed what is written"
    stacked = [
        list(zip(*rows, strict=True)) for rows in zip(*(each.styles for each in paintings.values()), strict=True)
    ]
    seen = dict.fromkeys(cell for row in stacked for cell in row)
    marks = dict(zip(seen, MARKS, strict=False))
    assert len(marks) == len(seen), "more styles than there are marks for them"
    legend = [f"{mark}  {'  |  '.join(style)}" for style, mark in marks.items()]
    return "\n".join([*first.rows, "", " | ".join(paintings), *legend, "", *_runs(stacked, marks), ""])


def _runs(stacked: Sequence[Sequence[tuple[str, ...]]], marks: dict[tuple[str, ...], str]) -> Iterator[str]:
    for row in stacked:
        yield " ".join(f"{marks[style]}{len(list(same))}" for style, same in groupby(row))


def _cells(text: str, style: str) -> Iterator[tuple[str, str]]:
    """Return the characters, each with its combining marks."""
    letter = ""
    for character in text:
        if letter and cell_len(letter + character) > cell_len(letter):
            yield letter, style
            letter = ""
        letter += character
    if letter:
        yield letter, style


def _style_name(style: Style | None) -> str:
    if style is None:
        return "as it comes"
    on = [name for name in ATTRIBUTES if getattr(style, name)]
    return " ".join([_colour(style.color), "on", _colour(style.bgcolor), *on])


def _colour(colour: Color | None) -> str:
    if colour is None or colour.is_default:
        return "default"
    return colour.triplet.hex if colour.triplet else colour.name
