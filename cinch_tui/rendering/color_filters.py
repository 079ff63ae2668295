"""Line filters for terminals with fewer colors or styles: 256 colors, no colors, no italics.

Rich rounds each of red, green and blue to six levels: a bluish gray becomes dark blue, the pale background of an added
line gray. The conversion here picks the perceptually nearest color.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from math import dist, hypot
from typing import NamedTuple

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color, rgb_to_lab
from textual.filter import LineFilter

# In units of CIE Lab; the eye notices a difference of two or three.
STRONG_FROM = 20.0
GREYISH_BELOW = 10.0
# Weight of saturation relative to brightness when matching a pale color.
STRENGTH_WEIGHT = 0.3
_STEPS = (0, 95, 135, 175, 215, 255)


class Lab(NamedTuple):
    """Color in CIE Lab: brightness, green to red, blue to yellow."""

    brightness: float
    red: float
    yellow: float

    @property
    def strength(self) -> float:
        return hypot(self.red, self.yellow)


class StyleFilter(LineFilter):
    """Line filter that converts every style with one of the functions below."""

    def __init__(self, convert: Callable[[Style], Style]) -> None:
        super().__init__()
        self._convert = convert

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, self._convert(style) if style else style, control) for text, style, control in segments]


@lru_cache(4096)
def nearest(red: int, green: int, blue: int) -> int:
    """Return the number of the nearest color."""
    if (exact := _NUMBERS.get((red, green, blue))) is not None:
        return exact
    wanted = _lab(red, green, blue)
    if wanted.strength >= STRONG_FROM:
        return min(_TABLE, key=lambda number: dist(wanted, _TABLE[number]))
    return min(_candidates(wanted), key=lambda number: _difference(wanted, _TABLE[number]))


def _candidates(pale: Lab) -> list[int]:
    """Return the candidates for a pale color.

    Pale red and green carry meaning, as in a diff; a hint of blue or yellow only makes a gray cooler or warmer.
    """
    if abs(pale.red) > max(abs(pale.yellow), STRONG_FROM / 4):
        return _REDS if pale.red > 0 else _GREENS
    return _GREYS if pale.strength < GREYISH_BELOW else [*_TABLE]


@lru_cache(4096)
def with_256_colors(style: Style) -> Style:
    """Return the style with the 240 fixed colors; the user may redefine the first sixteen."""
    fore, back = _eight_bit(style.color), _eight_bit(style.bgcolor)
    return style + Style(color=fore, bgcolor=back) if fore or back else style


def _eight_bit(color: RichColor | None) -> RichColor | None:
    """Return the 8-bit color; None if it needs no conversion."""
    return RichColor.from_ansi(nearest(*color.triplet)) if color and color.triplet else None


def _difference(pale: Lab, other: Lab) -> float:
    return abs(pale.brightness - other.brightness) + STRENGTH_WEIGHT * dist(pale[1:], other[1:])


def _lab(*colour: int) -> Lab:
    red, green, blue = colour
    return Lab(*rgb_to_lab(Color(red, green, blue)))


_CUBE = dict(enumerate(product(_STEPS, repeat=3), 16))
_RAMP = {232 + step: (8 + 10 * step,) * 3 for step in range(24)}
_TABLE = {number: _lab(*colour) for number, colour in (_CUBE | _RAMP).items()}
_NUMBERS = {colour: number for number, colour in (_CUBE | _RAMP).items()}
_REDS = [number for number, (red, green, blue) in _CUBE.items() if red > green == blue]
_GREENS = [number for number, (red, green, blue) in _CUBE.items() if green > red == blue]
_GREYS = [number for number, (red, green, blue) in (_CUBE | _RAMP).items() if red == green == blue]


@lru_cache(1024)
def without_colors(style: Style) -> Style:
    """Return the style without colors, for NO_COLOR.

    A background becomes reverse video, since it marks the selection.
    """
    has_background = style.bgcolor is not None and not style.bgcolor.is_default
    return style.without_color + _REVERSE if has_background else style.without_color


@lru_cache(1024)
def without_italics(style: Style) -> Style:
    """Return the style without italics, for GNU screen, which shows them as reverse video."""
    return style + _UPRIGHT if style.italic else style


_REVERSE = Style(reverse=True)
_UPRIGHT = Style(italic=False)
