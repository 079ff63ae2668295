"""Syntax of a shell command: every simple command that it may run, wherever it stands.

Our own parser decides, and the tree of tree-sitter-bash must agree with it about the words (`syntax_tree`): each of the
two accepts text that bash reads differently. Both run nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice, product
from math import prod

from msgspec import Struct

from tools.shell.lexer import Unreadable
from tools.shell.parser import Parser
from tools.shell.simple_commands import Draft, State
from tools.shell.syntax_tree import disagreement
from tools.shell.words import MOST_WORDS, Part, Word, as_text, expand

_LONGEST = 50_000
_LONGEST_PIPE = 32
_MOST_GUESSED = 2_000
# Bash joins the lines first: `"$` and `(ls)"` become a substitution.
_CONTINUED = re.compile(r"[^\w\s./:@%+,^\"')}\]-]\\\n", re.ASCII)
_SEPARATORS = re.compile(r"[;&|\n(){}`]+")


class Redirect(Struct, frozen=True):
    """Redirection of one descriptor."""

    operator: str
    """Characters between descriptor and target: `>`, `>>`, `<`, `<<`, `<<<`, `>&`, …"""
    target: Word
    """File, descriptor, or the text of a here-document or here-string."""
    descriptor: str = ""
    """Number in front of the operator; empty for the default."""


class Command(Struct, frozen=True):
    """Simple command: a program or builtin with its words. Words are empty for assignments and redirections alone."""

    words: tuple[Word, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    """Names and values in front of the words."""
    redirects: tuple[Redirect, ...] = ()
    folders: tuple[str, ...] = ("",)
    """Folders it may run in, relative to where the script starts; empty if they are not known."""
    sources: tuple[int, ...] = ()
    """Indices of the commands whose output it gets through pipes."""
    substitutions: tuple[tuple[int, int], ...] = ()
    """Indices of a word (-1: of input or an assignment) and of a command inside a substitution in it."""
    is_background: bool = False
    """True if the script does not wait for it."""
    is_call: bool = False
    """True if it calls a function of the script, whose commands stand for themselves."""


class Script(Struct, frozen=True):
    """Everything that a command line may run."""

    commands: tuple[Command, ...] = ()
    is_opaque: bool = False
    """True if it may do more than `commands` shows."""
    why: str = ""
    """Reason of `is_opaque`."""
    is_bomb: bool = False
    """True if a function starts more copies of itself."""


@lru_cache(maxsize=256)
def read_script(text: str, folder: str = "") -> Script:
    """Return the commands of a command line. Text that is not valid is read by guessing; never raises.

    Args:
        text: The command line.
        folder: Folder that it starts in, relative to the workspace root.
    """
    text = text.strip(" \t\n")
    if len(text) > _LONGEST:
        return _guess(text[:_LONGEST], folder, "it is too long")
    parser = Parser(text, State(folders=frozenset({folder})))
    try:
        parser.script()
    except Unreadable as error:
        return _guess(text, folder, str(error))
    except RecursionError:
        return _guess(text, folder, "it is nested too deeply")
    line = text.replace("\t", " ").replace("\n", " ")
    if not line.isprintable():
        hidden = next(each for each in line if not each.isprintable())
        parser.note(f"it has a control character or an invisible one (U+{ord(hidden):04X})")
    if _CONTINUED.search(text):
        parser.note("a line continues inside an expansion or operator")
    if difference := disagreement(text, parser.spans):
        parser.note(difference)
    return _script(parser.state)


def _script(state: State) -> Script:
    expanded = [_variants(draft) for draft in state.drafts]
    starts = [0, *accumulate(map(len, expanded))]
    pairs = [(draft, values) for draft, variants in zip(state.drafts, expanded, strict=True) for values in variants]
    commands = tuple(_command(draft, values, starts) for draft, values in pairs)
    if any(_hides_name(command, draft) for command, (draft, _) in zip(commands, pairs, strict=True)):
        state.problems.append("it reads a variable whose name is not written out")
    why = next(iter(state.problems), "")
    return Script(commands, bool(why), why, state.is_bomb)


def _hides_name(command: Command, draft: Draft) -> bool:
    """Return True for `read` with a variable that a look at the text does not find, such as `read a'b'`."""
    if not command.words or command.words[0].text != "read":
        return False
    texts = (word.text or "" for word in command.words[1:])
    return any(text.isidentifier() and text not in draft.written for text in texts)


def _variants(draft: Draft) -> list[dict[str, Word]]:
    """Return the values of the variables with each of which a command may run."""
    if not draft.values:
        return [{}]
    lists = [*draft.words, *(parts for _, parts in draft.assignments), *(parts for *_, parts in draft.redirects)]
    names = dict.fromkeys(part.name for parts in lists for part in parts if part.name in draft.values)
    known = {name: draft.values[name] for name in names}
    if prod(map(len, known.values())) > MOST_WORDS:
        known = {}
    return [dict(zip(known, values, strict=True)) for values in product(*known.values())]


def _command(draft: Draft, values: dict[str, Word], starts: Sequence[int]) -> Command:
    """Return a command.

    Args:
        draft: The command as written.
        values: Variables with a known value.
        starts: For each draft of the script, the index of its first command; then the number of commands.
    """
    words: list[Word] = []
    inner: list[tuple[int, int]] = []
    for parts in draft.words:
        inner += [(len(words), index) for index in _inside(parts, starts)]
        words += (as_text(parts, values),) if draft.is_test else expand(parts, values)
    redirects = [
        Redirect(operator, _target(operator, parts, values), number) for operator, number, parts in draft.redirects
    ]
    others = [parts for _, parts in draft.assignments] + [parts for *_, parts in draft.redirects]
    return Command(
        tuple(words),
        tuple((name, as_text(parts, values)) for name, parts in draft.assignments),
        tuple(redirects),
        () if draft.folders is None else tuple(sorted("" if each == "." else each for each in draft.folders)),
        tuple(range(starts[draft.sources.start], starts[draft.sources.stop])),
        (*inner, *((-1, index) for parts in others for index in _inside(parts, starts))),
        draft.is_background,
        draft.is_call,
    )


def _target(operator: str, parts: list[Part], values: dict[str, Word]) -> Word:
    """Return the target of a redirection; bash refuses one that becomes several words."""
    if operator in ("<<", "<<-", "<<<"):
        return as_text(parts, values)
    words = expand(parts, values)
    return words[0] if len(words) == 1 else Word(None)


def _inside(parts: Sequence[Part], starts: Sequence[int]) -> Iterator[int]:
    for part in parts:
        yield from range(starts[part.commands[0]], starts[part.commands[1]])


def _guess(text: str, folder: str, why: str) -> Script:
    """Return what a line that is not understood may run: each part between operators, fed by those before it."""
    pieces = islice(filter(None, (_split(piece) for piece in _SEPARATORS.split(text))), _MOST_GUESSED)
    has_pipe = "|" in text
    commands = tuple(
        Command(tuple(map(Word, words)), folders=(folder,), sources=_sources(index) if has_pipe else ())
        for index, words in enumerate(pieces)
    )
    return Script(commands, is_opaque=True, why=why)


def _sources(index: int) -> tuple[int, ...]:
    return tuple(range(max(0, index - _LONGEST_PIPE), index))


def _split(piece: str) -> list[str]:
    try:
        return shlex.split(piece)
    except ValueError:
        return piece.replace('"', "").replace("'", "").split()
