from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain

import pytest
from fakes.widget_app import STYLES
from textual.color import Color

from cinch_tui.app.themes import load_theme, theme_names

COLOURED = tuple(name for name in theme_names() if not name.startswith("ansi"))
"""What the colours of a terminal are is known to its owner alone."""

MARKS = (
    "context-gauge", "scrollbar", "border", "quote-mark", "rule", "bullet", "user-mark", "#choices",
)  # fmt: skip
"""What is no text: lines, bars, dots, and choices that cannot be picked while something else is written."""

UNNEEDED = (
    "context-gauge--empty",
    "--rule",
    "--quote-mark",
    "scrollbar",
    "border: round $foreground 40%",
    "border-top: round $foreground 40%",
    "border-left: vkey $foreground 40%",
    "#choices",
)
"""Marks that say nothing which is not said beside them."""

DECLARATION = re.compile(r"(?P<property>[a-z-]*(?:color|background|border))\s*:\s*(?P<value>[^;}]*\$[^;}]*)")
BASE = ("$background", "$surface", "$panel")
HIGHLIGHTS = {
    "$background": ("transcript--cursor", "transcript--match"),
    "$surface": ("option-list--option-highlighted", "item-list--cursor", "completion-popup--highlighted"),
}
CHANGES = ("diff--added", "diff--removed", "diff--added-word", "diff--removed-word")


@dataclass(frozen=True)
class Rule:
    selector: str
    sets: str
    value: str

    @property
    def is_mark(self) -> bool:
        return self.sets != "background" and any(mark in f"{self.selector} {self.sets}" for mark in MARKS)

    @property
    def is_needed(self) -> bool:
        return not any(mark in f"{self.selector} {self.sets}: {self.value}" for mark in UNNEEDED)


@cache
def rules() -> tuple[Rule, ...]:
    sheets = [path.read_text() for path in sorted(STYLES.glob("*.tcss")) if path.stem != "ansi"]
    widgets = sorted((STYLES.parent / "widgets").rglob("*.py"))
    written = [re.findall(r'DEFAULT_CSS = """(.*?)"""', path.read_text(), flags=re.DOTALL) for path in widgets]
    return tuple(rule for sheet in (*sheets, *chain(*written)) for rule in _rules(sheet))


def _rules(sheet: str) -> Iterator[Rule]:
    """Each declaration of a colour, with the selectors around it."""
    around: list[str] = []
    for piece in re.findall(r"[^{};]*[{};]", re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)):
        match piece[-1]:
            case "{":
                around.append(piece[:-1].strip())
            case "}":
                around.pop()
            case _:
                if found := DECLARATION.match(piece.strip()):
                    yield Rule(" ".join(around), found["property"], found["value"].strip())


class Palette:
    def __init__(self, name: str) -> None:
        self._variables = load_theme(name).to_color_system().generate()

    def over(self, value: str, ground: Color) -> Color:
        """What is seen of a colour on a ground."""
        name, _, share = re.sub("^(round|outer|vkey) ", "", value).partition(" ")
        written = self._variables[name.removeprefix("$")]
        shown, _, alpha = written.partition(" ")
        colour = ground.get_contrast_text(1.0) if shown == "auto" else Color.parse(shown)
        for part in (share, alpha):
            if part:
                colour = colour.multiply_alpha(int(part.removesuffix("%")) / 100)
        return ground + colour

    def solid(self, value: str) -> Color:
        return self.over(value, Color(0, 0, 0))


def contrast(first: Color, second: Color) -> float:
    """The ratio of WCAG 2, from 1 to 21."""

    def luminance(colour: Color) -> float:
        channels = [channel / 255 for channel in colour.rgb]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def wanted(name: str) -> float:
    return 7 if name == "high-contrast" else 4.5


def texts() -> list[Rule]:
    """What colours letters, and stands on whatever ground there is."""
    grounds = {rule.selector for rule in rules() if rule.sets == "background" and "transparent" not in rule.value}
    plain = [rule for rule in rules() if rule.sets.endswith("color") and not rule.is_mark]
    return [rule for rule in plain if rule.value != "$background" or rule.selector not in grounds]


def unreadable(palette: Palette, rules: list[Rule], ground: Color, least: float) -> list[str]:
    seen = ((rule, contrast(palette.over(rule.value, ground), ground)) for rule in rules)
    return [f"{rule.selector}: {rule.value} on {ground.hex}: {ratio:.2f}" for rule, ratio in seen if ratio < least]


def background_of(part: str) -> str:
    return next(rule.value for rule in rules() if part == rule.selector.split(".")[-1] and rule.sets == "background")


@pytest.mark.parametrize("name", COLOURED)
def test_text_can_be_read_on_every_ground(name: str):
    palette = Palette(name)

    found = [unreadable(palette, texts(), palette.solid(ground), wanted(name)) for ground in BASE]

    assert not list(chain(*found))


@pytest.mark.parametrize("name", COLOURED)
def test_text_under_the_cursor_has_enough_contrast(name: str):
    palette = Palette(name)

    grounds = [
        palette.over(background_of(part), palette.solid(base)) for base, parts in HIGHLIGHTS.items() for part in parts
    ]

    lists = [rule for rule in texts() if rule.value.startswith("$foreground") or "list" in rule.selector]
    assert not list(chain.from_iterable(unreadable(palette, lists, ground, wanted(name)) for ground in grounds))


@pytest.mark.parametrize("name", COLOURED)
def test_code_can_be_read_where_it_changed(name: str):
    palette = Palette(name)
    code = [rule for rule in texts() if rule.selector.startswith(".code--")]

    grounds = [palette.over(background_of(part), palette.solid("$background")) for part in CHANGES]

    assert len(code) > 8
    assert not list(chain.from_iterable(unreadable(palette, code, ground, wanted(name)) for ground in grounds))


@pytest.mark.parametrize("name", COLOURED)
def test_letters_on_a_ground_of_their_own_can_be_read(name: str):
    palette = Palette(name)
    own = {rule.selector: rule.value for rule in rules() if rule.sets == "background"}
    letters = [rule for rule in rules() if rule.value == "$background" and rule.sets == "color"]
    pairs = [(rule, palette.solid(own[rule.selector])) for rule in letters if rule.selector in own]

    assert pairs
    assert not list(chain.from_iterable(unreadable(palette, [rule], ground, wanted(name)) for rule, ground in pairs))


@pytest.mark.parametrize("name", COLOURED)
def test_marks_can_be_seen(name: str):
    palette = Palette(name)
    marks = [rule for rule in rules() if rule.is_mark and rule.is_needed]

    found = [unreadable(palette, marks, palette.solid(ground), 3) for ground in BASE]

    assert len(marks) > 8
    assert not list(chain(*found))


@pytest.mark.parametrize("name", COLOURED)
def test_every_frame_can_be_seen(name: str):
    palette = Palette(name)
    frames = [rule for rule in rules() if rule.sets.startswith("border") and not rule.sets.endswith("color")]

    found = [unreadable(palette, frames, palette.solid(ground), 2) for ground in ("$background", "$surface")]

    assert len(frames) >= 8
    assert not list(chain(*found))


@pytest.mark.parametrize("name", sorted(set(theme_names()) - set(COLOURED)))
def test_frames_of_terminal_themes_have_the_terminals_own_letter_colour(name: str):
    variables = load_theme(name).to_color_system().generate()

    assert len(theme_names()) == 11
    assert Color.parse(variables["foreground"]).ansi == Color.parse(variables["background"]).ansi == -1
