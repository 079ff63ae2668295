"""Completion candidates, and completion of commands and their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.commands import SIGILS
from harness.errors import CinchError
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.commands.host import CommandHost
    from cinch_tui.commands.registry import Command, Registry

MAX_CANDIDATES = 100
# Short queries match everything; ranking all paths of a large project would delay every key.
_MAX_RANKED = 4_000


class Candidate(Struct, frozen=True):
    """A completion candidate."""

    text: str
    """Inserted text."""
    description: str = ""
    then: str = ""
    """Text inserted after it."""
    is_complete: bool = True
    """Nothing needs to follow."""
    shown: str = ""
    """Label in the list, if it differs from the text."""

    @property
    def label(self) -> str:
        return escape_controls(self.shown or self.text)


class Completion(Struct, frozen=True):
    """Candidates for the text before the cursor."""

    start: int
    """Column from which the candidate replaces the text."""
    typed: str
    """Text from there to the cursor."""
    candidates: tuple[Candidate, ...]
    accepts_on_enter: bool = True
    """Enter accepts a candidate; otherwise it submits the typed text."""

    def expects(self, candidate: Candidate) -> bool:
        """Return True if Enter must accept the candidate: a part of it is typed and more is needed.

        False for a match of scattered letters, since the text may be a prompt.
        """
        is_part = self.accepts_on_enter and bool(self.typed) and _names_part(self.typed, candidate)
        return is_part and not (candidate.is_complete and candidate.text == self.typed)


class CommandCompletion:
    """Completes command names and arguments. `commands` is not called before a command is typed."""

    def __init__(self, commands: Callable[[], Registry], host: CommandHost) -> None:
        self._commands = commands
        self._host = host

    def complete(self, before: str, *, one_line: bool) -> Completion | None:
        """Return candidates for the line up to the cursor; None if it is no command. Called at every key."""
        if not one_line or before[:1] not in {*SIGILS}:
            return None
        word, space, argument = before.partition(" ")
        if not space:
            return self._names(word)
        command = self._commands().find(word)
        if command is None or command.arguments is None:
            return None
        if command.takes_several:
            if "--" in argument.split():
                return None
            argument = argument.rpartition(" ")[2]
        try:
            choices = command.arguments(self._host)
        except CinchError:
            # A front end that is still starting has no choices yet.
            return None
        found = _fitting(argument, [Candidate(each.value, each.description, shown=each.shown) for each in choices])
        # The first characters of a session's id are enough if no other session matches.
        is_id = len(found) == 1 and bool(found[0].shown and argument) and found[0].text.startswith(argument)
        return Completion(len(before) - len(argument), argument, found, not is_id) if found else None

    def _names(self, word: str) -> Completion | None:
        # A bare prefix lists each command once, without aliases.
        named = (
            each for each in self._commands().named if len(word) > 1 or each[0] in (each[1].name, each[1].slash_name)
        )
        found = best(word, (_candidate(command, name) for name, command in named if name[0] == word[0]))
        return Completion(0, word, found) if found else None


def _fitting(typed: str, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return matching candidates, best first; titled candidates stay in their order."""
    if not any(candidate.shown for candidate in candidates):
        return best(typed, candidates)
    words = typed.lower().split()
    fitting = (each for each in candidates if all(_names_part(word, each) for word in words))
    return tuple(islice(fitting, MAX_CANDIDATES))


def _names_part(typed: str, candidate: Candidate) -> bool:
    return any(typed.lower() in text.lower() for text in (candidate.text, candidate.shown))


def _candidate(command: Command, name: str) -> Candidate:
    parameters = command.usage.removeprefix(command.name)
    description = f"{parameters.strip()}  {command.summary}".strip()
    return Candidate(name, description, then=" " if parameters else "", is_complete="<" not in parameters)


def best(typed: str, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return matching candidates, best first.

    Order: prefix, prefix of the file name, part of the file name, other substring; scattered letters only if nothing
    else matches.
    """
    wanted = typed.lower()
    if not wanted:
        return tuple(islice(candidates, MAX_CANDIDATES))
    lowered = [(each.text.lower(), each) for each in candidates]
    fitting = list(islice((pair for pair in lowered if wanted in pair[0]), _MAX_RANKED))
    # Scattered letters match almost anything and are slow: the last resort.
    if not fitting:
        fits = scattered(wanted)
        fitting = list(islice((pair for pair in lowered if fits(pair[0])), _MAX_RANKED))
    fitting.sort(key=lambda pair: rank(wanted, pair[0]))
    return tuple(candidate for _, candidate in fitting[:MAX_CANDIDATES])


def scattered(letters: str) -> Callable[[str], object]:
    """Return a matcher for texts that contain the letters in order."""
    # Lazy dots would backtrack for minutes on a text that does not match.
    return re.compile("".join(f"[^{re.escape(each)}]*{re.escape(each)}" for each in letters)).match


def rank(wanted: str, text: str) -> int:
    if text.startswith(wanted):
        return 0 if text == wanted else 1
    name = text.rpartition("/")[2]
    if name.startswith(wanted):
        return 2
    return 3 if wanted in name else 4
