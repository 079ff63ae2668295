"""Simple commands: their words, assignments and redirections, and the folders they run in.

Source: "Simple Commands" and "Redirections" in the manual of bash.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from msgspec import Struct, field

from tools.shell.lexer import Lexer, Unreadable
from tools.shell.variables import LONGEST_SEARCHED
from tools.shell.words import Part, Word, as_text, begins_with_folder, expand

_DEEPEST = 20
_MOST_FOLDERS = 16

_REDIRECT = re.compile(r"(\d*)(<<<|<<-?|<&|<>|<(?!\()|>>|>&|>\||>(?!\())|(&>>?)|(\{\w+\}[<>])")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_MAY_ENTER = frozenset({"command", "builtin", "time", "eval", "pushd", "popd"})
_CHANGED_BY_BASH = frozenset(
    {"RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID", "IFS", "_", "PWD", "HOME"}
)


class Draft(Struct):
    """Command as written, before expansion: here-documents may still follow."""

    words: list[list[Part]] = field(default_factory=list[list[Part]])
    assignments: list[tuple[str, list[Part]]] = field(default_factory=list[tuple[str, list[Part]]])
    redirects: list[tuple[str, str, list[Part]]] = field(default_factory=list[tuple[str, str, list[Part]]])
    values: dict[str, tuple[Word, ...]] = field(default_factory=dict[str, tuple[Word, ...]])
    folders: frozenset[str] | None = frozenset({""})
    sources: range = range(0)
    written: list[str] = field(default_factory=list[str])
    """Words as they are written."""
    is_background: bool = False
    is_call: bool = False
    """True if it calls a function of the script."""
    is_test: bool = False
    """True for `[[ … ]]`, whose words bash does not split."""

    @property
    def name(self) -> str:
        """Program, if it is written literally; otherwise empty."""
        first = self.words[0] if self.words else []
        return "".join(part.text or "" for part in first) if all(part.text is not None for part in first) else ""


class State(Struct):
    """State of a parser and of those for texts inside its text."""

    drafts: list[Draft] = field(default_factory=list[Draft])
    problems: list[str] = field(default_factory=list[str])
    functions: frozenset[str] = frozenset()
    """Functions that are certainly defined."""
    values: dict[str, tuple[Word, ...]] = field(default_factory=dict[str, tuple[Word, ...]])
    folders: frozenset[str] | None = frozenset({""})
    depth: int = 0
    nesting: int = 0
    """Number of constructs around the position that may not run, may run again, or run in a process of their own."""
    is_bomb: bool = False


class SimpleCommandParser(Lexer):
    """Reader of simple commands; a subclass reads what they are part of."""

    def __init__(self, text: str, state: State) -> None:
        super().__init__(text)
        self.state = state
        self.spans: set[tuple[int, int]] = set()

    def note(self, problem: str) -> None:
        self.state.problems.append(problem)

    def nested(self, text: str, read: Callable[[Lexer], object]) -> tuple[int, int]:
        start = len(self.state.drafts)
        with self.inside():
            read(type(self)(text, self.state))
        return start, len(self.state.drafts)

    def substitution(self) -> tuple[int, int]:
        self.no_open_document()
        start = len(self.state.drafts)
        with self.inside():
            self.commands()
        self.close(")")
        return start, len(self.state.drafts)

    @contextmanager
    def inside(self) -> Generator[None]:
        """Enter a part whose changes of the folder do not outlast it."""
        state = self.state
        folders, state.depth, state.nesting = state.folders, state.depth + 1, state.nesting + 1
        if state.depth > _DEEPEST:
            raise Unreadable("it is nested too deeply")
        yield
        state.folders, state.depth, state.nesting = folders, state.depth - 1, state.nesting - 1

    def close(self, token: str) -> None:
        self.no_open_document()
        self.blanks()
        self.expect(token)

    def literal_word(self) -> str:
        parts = self.word()
        return "".join(part.text or "" for part in parts) if all(part.text is not None for part in parts) else ""

    def draft(self, **fields: object) -> Draft:
        draft = Draft(values=self.state.values, folders=self.state.folders)
        for name, value in fields.items():
            setattr(draft, name, value)
        return draft

    def set_values(self, name: str, values: tuple[Word, ...]) -> None:
        """Note the values of a variable if nothing else in the text can change it."""
        if len(self.text) > LONGEST_SEARCHED:
            return
        mentions = re.findall(rf"(?<![\w$/.-])(?<!\$\{{){re.escape(name)}\b", self.text)
        # The home folder is known as a path only: in the middle of a word its name would matter.
        is_known = all(word.text is not None and not word.text.startswith("~") for word in values)
        if values and is_known and len(mentions) == 1 and name not in _CHANGED_BY_BASH and not self.state.depth:
            self.state.values = {**self.state.values, name: values}

    def simple(self) -> None:
        draft = self.draft()
        while True:
            self.blanks()
            start = self.position
            if self.redirect(draft):
                continue
            found = None if draft.words else _ASSIGNMENT.match(self.text, self.position)
            if found:
                self.position = found.end()
                draft.assignments.append((found[1] + found[2], self._value()))
            elif parts := self.word():
                draft.words.append(parts)
                draft.written.append(self.text[start : self.position])
            else:
                break
            self.spans.add((start, self.position))
        if not (draft.words or draft.assignments or draft.redirects):
            raise Unreadable(f"unexpected {self.peek()!r}" if self.peek() else "a command is missing")
        name = draft.name
        draft.is_call = name in self.state.functions
        self.state.drafts.append(draft)
        if not draft.words and not self.state.nesting:
            for name, parts in draft.assignments:
                self.set_values(name, () if begins_with_folder(parts) else (as_text(parts, {}),))
        self._enter(draft, name)

    def _value(self) -> list[Part]:
        """Read an assigned value, or the list of an array."""
        if not self.accept("("):
            return self.word()
        parts = [Part(None, is_quoted=True)]
        self.newlines()
        while word := self.word():
            parts += word
            self.newlines()
        self.expect(")")
        return parts

    def redirect(self, draft: Draft) -> bool:
        found = _REDIRECT.match(self.text, self.position)
        if not found:
            return False
        if found[4]:
            raise Unreadable("it assigns a descriptor to a variable")
        self.position = found.end()
        operator = found[2] or found[3]
        if operator in ("<<", "<<-"):
            parts = self.document(strips_tabs=operator == "<<-").parts
        else:
            self.blanks()
            start = self.position
            parts = self.word()
            self.spans.add((start, self.position))
            if not parts:
                raise Unreadable("a redirection has no file")
        draft.redirects.append((operator, found[1] or "", parts))
        return True

    def _enter(self, draft: Draft, name: str) -> None:
        """Follow `cd`."""
        if name == "cd":
            words = [word for parts in draft.words[1:] for word in expand(parts, self.constants())]
            words = words[1:] if words and words[0].text == "--" else words
            self._enter_one_of(self._targets(draft, words))
        elif name in _MAY_ENTER:
            names = {"".join(part.text or "" for part in parts) for parts in draft.words}
            self.state.folders = None if names & {"cd", "pushd", "popd"} else self.state.folders

    def _targets(self, draft: Draft, words: Sequence[Word]) -> Sequence[Word]:
        """Return the folders of which `cd` enters one."""
        parts = draft.words[1] if len(draft.words) == 2 else []
        is_variable = len(parts) == 1 and parts[0].name in self.state.values
        if is_variable:
            return self.state.values[parts[0].name]
        return words if len(words) == 1 else [Word(None) if words else Word("~")]

    def _enter_one_of(self, words: Sequence[Word]) -> None:
        before = self.state.folders
        entered = [_entered(before, word.text if word.is_literal else None) for word in words]
        self.state.folders = entered[0]
        for folders in entered[1:]:
            self.state.folders = either(self.state.folders, folders)

    def constants(self) -> dict[str, Word]:
        return {name: values[0] for name, values in self.state.values.items() if len(values) == 1}

    def commands(self) -> None:
        """Read commands up to `)` or the end."""
        raise NotImplementedError


def either(first: frozenset[str] | None, second: frozenset[str] | None) -> frozenset[str] | None:
    both = None if first is None or second is None else first | second
    return both if both is not None and len(both) <= _MOST_FOLDERS else None


def _entered(folders: frozenset[str] | None, target: str | None) -> frozenset[str] | None:
    if not target or target.startswith("-"):
        return None
    if target.startswith(("/", "~")):
        return frozenset({target})
    return None if folders is None else frozenset(posixpath.normpath(posixpath.join(each, target)) for each in folders)
