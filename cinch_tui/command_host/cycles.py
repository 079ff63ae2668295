"""What one key steps through: the colours a terminal always has (F3), and the models at hand (F4)."""

from __future__ import annotations

from collections.abc import Iterable

from cinch_tui.app.theme_switch import AUTO, ThemeSwitch

MONO = ("mono-white", "mono-black")


class ThemeCycle:
    """From the person's theme to white, to black, and back; nothing of it is kept."""

    def __init__(self, theme_switch: ThemeSwitch) -> None:
        self._theme_switch = theme_switch
        self._usual = AUTO

    def step(self) -> str:
        """Show the next one; the result is its name.

        Raises:
            ConfigError: it cannot be used.
        """
        chosen = self._theme_switch.chosen
        if chosen not in MONO:
            self._usual = chosen
        name = next_of((self._usual, *MONO), chosen)
        self._theme_switch.choose(name)
        return name


class ModelCycle:
    """The models that were named, chosen or used since the start, in the order in which they came up."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def step(self, current: str, at_hand: Iterable[str]) -> str:
        """The one after `current`; itself where there is no other."""
        self._names.update(dict.fromkeys(name for name in (*at_hand, current) if "/" in name))
        return next_of(tuple(self._names), current)


def next_of(names: tuple[str, ...], current: str) -> str:
    """The name after the current one, and after the last the first."""
    return names[(names.index(current) + 1) % len(names)]
