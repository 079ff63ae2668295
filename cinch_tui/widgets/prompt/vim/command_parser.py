"""Parser for Vim commands: count, operator, motion."""

from __future__ import annotations

from collections.abc import Sequence

from cinch_tui.widgets.prompt.vim.text_objects import KINDS
from harness.lazy_dataclass import dataclass

OPERATORS = "dcy"
_MOTIONS = {*"hjklwWbBeE0^$G;,%{}", "gg"}
_TO_LETTER = "fFtT"
_ACTIONS = {*"xXDCYsSr~pPJu.oOaAiIvV", "redo"}
_VISUAL_ACTIONS = {*"dcyxsr~pPJuUovV"}


class MoreIsNeeded(Exception):
    """The keys are the start of a command."""


class NoCommand(Exception):
    """The keys are not a command."""


@dataclass(frozen=True, slots=True)
class Command:
    """A parsed command. A count of 0 was not given."""

    action: str = ""
    operator: str = ""
    motion: str = ""
    """With its letter, as `fx`; equal to the operator for whole lines, as `dd`."""
    thing: str = ""
    """Text object, as `iw`."""
    letter: str = ""
    count: int = 0

    @property
    def times(self) -> int:
        return max(1, self.count)


class _Keys:
    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = list(keys)

    def next(self) -> str:
        if not self._keys:
            raise MoreIsNeeded
        return self._keys.pop(0)

    def number(self) -> int:
        digits = ""
        # A leading 0 is a motion.
        while self._keys and self._keys[0].isascii() and self._keys[0].isdigit() and (digits or self._keys[0] != "0"):
            digits += self._keys.pop(0)
        return min(int(digits or 0), 9_999)


def read_command(keys: Sequence[str], *, visual: bool) -> Command:
    """Raises:
    MoreIsNeeded, NoCommand
    """
    waiting = _Keys(keys)
    count = waiting.number()
    key = waiting.next()
    if visual and key in "ia":
        return Command(thing=_thing(key, waiting), count=count)
    if not visual and key in OPERATORS:
        return _operation(key, count, waiting)
    if key in (_VISUAL_ACTIONS if visual else _ACTIONS):
        letter = waiting.next() if key == "r" else ""
        return Command(action=key, letter=letter, count=count)
    return Command(motion=_motion(key, waiting), count=count)


def _operation(operator: str, count: int, waiting: _Keys) -> Command:
    inner = waiting.number()
    count = max(1, count) * max(1, inner) if count or inner else 0
    key = waiting.next()
    if key == operator:
        return Command(operator=operator, motion=operator, count=count)
    if key in "ia":
        return Command(operator=operator, thing=_thing(key, waiting), count=count)
    return Command(operator=operator, motion=_motion(key, waiting), count=count)


def _motion(key: str, waiting: _Keys) -> str:
    if key == "g":
        key += waiting.next()
    if key in _TO_LETTER:
        return key + waiting.next()
    if key not in _MOTIONS:
        raise NoCommand
    return key


def _thing(key: str, waiting: _Keys) -> str:
    kind = waiting.next()
    if kind not in KINDS:
        raise NoCommand
    return key + kind
