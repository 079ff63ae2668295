"""Random, seeded actions of a user at a terminal, independent of what is displayed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from soak.keyboard import STOPS, keys_to_press, sent_for

from cinch_tui.commands.builtin import builtin_commands
from harness.terminal_text import escape_controls

SIZES = ((80, 24), (120, 40), (100, 32), (40, 10), (20, 5), (300, 80), (200, 60), (5, 3))
ESC_IS_ALONE = 0.15
"""Seconds within which a terminal treats Esc and the next key as one key with Alt."""

QUITS_WITHIN = 2.0
WORDS = ("hello", "fix", "the", "discount", "please", "why", "数える", "שלום", "👩‍👩‍👧‍👦", "q", "n", "y", "[red]", "1")
SHELL = ("!echo hello", "!seq 1 300", "!sleep 30", "!!ls", "!printf '\\033[2Jx'", "!false", "!cat", "!nosuchthing")
ARGUED = (
    "#approve on",
    "#approve smart",
    "#approve untrust",
    "/diff git",
    "/theme dark",
    "/theme light",
    "/theme solarized",
    "/theme nothing",
    "/model anthropic/another",
    "/model anthropic/fake-model",
    "/thinking low",
    "/thinking off",
    "/doctor anthropic",
    "/system Be brief.",
    "#copy all",
    "/copy code",
    "/btw what is that?",
    "/btw off",
    "/parallel anthropic/one anthropic/two -- which?",
    "/parallel off",
    "#load nothing",
    "/plna",
    "#frobnicate",
)
LEAVE = frozenset({"/quit"})


@dataclass(frozen=True, slots=True)
class Step:
    """Keys or a size, and how long to wait afterwards."""

    keys: str = ""
    size: tuple[int, int] = (0, 0)
    pause: float = 0.0

    def __str__(self) -> str:
        what = "resize to {}×{}".format(*self.size) if self.size[0] else repr(escape_controls(self.keys)[:70])
        return f"{what}, wait {self.pause:g} s" if self.pause else what


class User:
    """Generator of actions; each is some steps that belong together."""

    def __init__(self, seed: int, *, without: frozenset[str] = frozenset()) -> None:
        """Create it; `without` are commands that are never used."""
        self._chance = random.Random(seed)
        self._keys = [sent_for(key) for key in keys_to_press()]
        self._commands = [name.name for name in builtin_commands().commands if name.name not in LEAVE | without]
        self._size = SIZES[0]
        self._deeds: dict[Callable[[], list[Step]], int] = {
            self._says_something: 8,
            self._presses_keys: 12,
            self._runs_a_command: 5,
            self._runs_one_with_an_argument: 3,
            self._picks_from_the_palette: 1,
            self._runs_something_of_their_own: 2,
            self._pastes: 1,
            self._completes: 3,
            self._searches: 2,
            self._uses_the_mouse: 6,
            self._resizes: 3,
            self._answers: 10,
            self._stops: 3,
            self._looks_away: 1,
        }

    def deeds(self) -> Iterator[list[Step]]:
        while True:
            deed = self._chance.choices(list(self._deeds), list(self._deeds.values()))[0]
            yield deed()

    def _words(self) -> str:
        return " ".join(self._chance.choices(WORDS, k=self._chance.randrange(1, 9)))

    def _short_pause(self) -> float:
        return self._chance.choice((0.0, 0.05, 0.3, 1.0))

    def _says_something(self) -> list[Step]:
        end = self._chance.choice(("\r", "\r", "\r", "\x1b\r", "\n", ""))
        return [Step(self._words()), Step(end, pause=self._short_pause())]

    def _presses_keys(self) -> list[Step]:
        keys = self._chance.choices(self._keys, k=self._chance.randrange(1, 8))
        return [Step(key, pause=ESC_IS_ALONE if key == "\x1b" else 0.0) for key in keys]

    def _runs_a_command(self) -> list[Step]:
        return [Step("\x15" + self._chance.choice(self._commands)), Step("\r", pause=self._short_pause())]

    def _runs_one_with_an_argument(self) -> list[Step]:
        return [Step("\x15" + self._chance.choice(ARGUED)), Step("\r", pause=self._short_pause())]

    def _picks_from_the_palette(self) -> list[Step]:
        name = self._chance.choice(("usage", "info", "diff", "theme", "help"))
        return [Step("\x15"), Step("\x10", pause=0.3), Step(name, pause=0.5), self._end_of_list(), *self._escapes(1)]

    def _end_of_list(self) -> Step:
        return Step(self._chance.choice(("\r", "")), pause=0.1)

    def _runs_something_of_their_own(self) -> list[Step]:
        return [Step("\x15" + self._chance.choice(SHELL)), Step("\r", pause=self._short_pause())]

    def _pastes(self) -> list[Step]:
        lines = [self._words() for _ in range(self._chance.choice((1, 5, 40, 3000)))]
        return [Step("\x1b[200~" + "\r".join(lines) + "\x1b[201~", pause=0.1)]

    def _completes(self) -> list[Step]:
        start = self._chance.choice(("@sh", "@README", "/mo", "#he", "see @new/", "@~/", "!ls sho"))
        moves = self._chance.choices(("\x1b[B", "\x1b[A", "\t", "x"), k=2)
        return [Step("\x15" + start, pause=0.1), *(Step(move) for move in moves)]

    def _searches(self) -> list[Step]:
        key = self._chance.choice(("\x06", "\x12"))
        moves = self._chance.choices(("\x1b[A", "\x1b[B", "\r", "\x12", "\x7f"), k=3)
        return [Step(key, pause=0.1), Step(self._chance.choice(("o", "line", "數"))), *(Step(move) for move in moves)]

    def _uses_the_mouse(self) -> list[Step]:
        chance, (columns, rows) = self._chance, self._size
        places = [(chance.randrange(1, columns + 1), chance.randrange(1, rows + 1)) for _ in range(3)]
        (x, y), (to_x, to_y), _ = places
        gestures = (
            [f"\x1b[<0;{x};{y}M", f"\x1b[<0;{x};{y}m"],
            [f"\x1b[<0;{x};{y}M", f"\x1b[<32;{to_x};{to_y}M", f"\x1b[<0;{to_x};{to_y}m"],
            [f"\x1b[<0;{x};{y}M", f"\x1b[<0;{x};{y}m"] * 2,
            [f"\x1b[<{chance.choice((64, 65))};{x};{y}M"] * chance.randrange(1, 9),
            [f"\x1b[<35;{column};{row}M" for column, row in places],
            [f"\x1b[<2;{x};{y}M", f"\x1b[<2;{x};{y}m"],
        )
        return [Step(report) for report in chance.choice(gestures)]

    def _resizes(self) -> list[Step]:
        sizes = self._chance.choices(SIZES, k=self._chance.randrange(1, 4))
        self._size = sizes[-1]
        return [Step(size=size, pause=self._chance.choice((0.0, 0.05, 0.2))) for size in sizes]

    def _answers(self) -> list[Step]:
        """Answer whatever is open after the grace period, if anything is."""
        return [Step(pause=0.6), Step(self._chance.choice(("y", "s", "n", "\r", "1", "2", "h", "d", " ", "e", "a")))]

    def _stops(self) -> list[Step]:
        key = self._chance.choice(("\x1b", "\x1b", *(sent_for(stop) for stop in sorted(STOPS))))
        return [Step(key, pause=ESC_IS_ALONE if key == "\x1b" else QUITS_WITHIN)]

    def _escapes(self, count: int) -> list[Step]:
        return [Step("\x1b", pause=ESC_IS_ALONE)] * count

    def _looks_away(self) -> list[Step]:
        return [Step("\x1b[O", pause=0.5), Step("\x1b[I")]
