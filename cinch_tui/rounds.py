"""What one key goes round: the colours a terminal always has, and the models at hand."""

from __future__ import annotations

from collections.abc import Iterable

from cinch_tui.wardrobe import AUTO, Wardrobe

MONO = ("mono-white", "mono-black")


class ColourRound:
    """From the person's theme to white, to black, and back; nothing of it is kept."""

    def __init__(self, wardrobe: Wardrobe) -> None:
        self._wardrobe = wardrobe
        self._usual = AUTO

    def step(self) -> str:
        """Wear the next one; the result is its name.

        Raises:
            ConfigError: it cannot be used.
        """
        chosen = self._wardrobe.chosen
        if chosen not in MONO:
            self._usual = chosen
        name = next_of((self._usual, *MONO), chosen)
        self._wardrobe.choose(name)
        return name


class ModelRound:
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
