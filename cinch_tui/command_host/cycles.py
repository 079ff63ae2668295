"""Cycles that one key steps through: themes (F3) and models (F4)."""

from __future__ import annotations

from collections.abc import Iterable

from cinch_tui.app.themes import AUTO, ThemeSwitch

MONO = ("mono-white", "mono-black")


class ThemeCycle:
    """The user's theme, white and black; the choice is not saved."""

    def __init__(self, theme_switch: ThemeSwitch) -> None:
        self._theme_switch = theme_switch
        self._usual = AUTO

    def step(self) -> str:
        """Switch to the next theme and return its name.

        Raises:
            ConfigError: It cannot be used.
        """
        chosen = self._theme_switch.chosen
        if chosen not in MONO:
            self._usual = chosen
        name = next_of((self._usual, *MONO), chosen)
        self._theme_switch.choose(name)
        return name


class ModelCycle:
    """Models named, chosen or used since the start, in that order."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def step(self, current: str, at_hand: Iterable[str]) -> str:
        """Return the model after `current`, or `current` if there is no other."""
        self._names.update(dict.fromkeys(name for name in (*at_hand, current) if "/" in name))
        return next_of(tuple(self._names), current)


def next_of(names: tuple[str, ...], current: str) -> str:
    """Return the name after the current one; after the last, the first."""
    return names[(names.index(current) + 1) % len(names)]
