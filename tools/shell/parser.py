"""Grammar of bash: lists, pipelines, loops, functions and simple commands.

Source: "Shell Commands" in the manual of bash.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeAlias

from tools.shell.lexer import Unreadable
from tools.shell.simple_commands import SimpleCommandParser, either
from tools.shell.words import MOST_WORDS, Part, Word, begins_with_folder, expand

_MOST_COMMANDS = 500

_RESERVED = re.compile(r"([a-z]+|[{}!]|\[\[)(?=[ \t\n;&|<>()]|\\\n|$)")
_FUNCTION = re.compile(r"([\w:.@+-]+)[ \t]*\([ \t]*\)", re.ASCII)
_FOLLOWED = frozenset({"cd", "pushd", "popd", "pwd", "command", "builtin"})
_CLOSING = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}", "in"})
_OPENING = frozenset({"{", "if", "while", "until", "for", "case", "function", "[[", "select", "coproc"})


_Surroundings: TypeAlias = "tuple[frozenset[str] | None, dict[str, tuple[Word, ...]], frozenset[str]]"


class Parser(SimpleCommandParser):
    """Reader of a whole text; `script` fills `state`."""

    def script(self) -> None:
        self._list()
        if self.position < len(self.text):
            raise Unreadable(f"unexpected {self.text[self.position]!r}")
        if self._documents:
            self.note("a here-document has no body")

    def commands(self) -> None:
        self._list()

    def _reserved(self) -> str:
        found = _RESERVED.match(self.text, self.position)
        return found[1] if found and (found[1] in _CLOSING or found[1] in _OPENING or found[1] == "!") else ""

    def _keyword(self, *words: str) -> str:
        """Consume one of these reserved words."""
        self.newlines()
        found = self._reserved()
        if found not in words:
            raise Unreadable(f"{' or '.join(words)} is missing")
        self.position += len(found)
        return found

    def _list(self, *ends: str) -> None:
        """Read commands up to one of the reserved words, `)`, `;;` or the end."""
        while True:
            self.newlines()
            if not self.peek() or self.peek() == ")" or self.peek(2) in (";;", ";&") or self._reserved() in ends:
                return
            start, before = len(self.state.drafts), self._surroundings
            self._and_or()
            self.blanks()
            is_background = self.peek(2) not in ("&&", "&>") and bool(self.accept("&"))
            if is_background:
                for draft in self.state.drafts[start:]:
                    draft.is_background = True
                self._surroundings = before
            else:
                self._separator(*ends)

    @property
    def _surroundings(self) -> _Surroundings:
        """Part of the state that what runs in another process does not change."""
        return self.state.folders, self.state.values, self.state.functions

    @_surroundings.setter
    def _surroundings(self, surroundings: _Surroundings) -> None:
        self.state.folders, self.state.values, self.state.functions = surroundings

    def _separator(self, *ends: str) -> None:
        is_last = self.peek() in ("\n", ")", "") or self.peek(2) in (";;", ";&") or self._reserved() in ends
        if not is_last and not self.accept(";"):
            raise Unreadable(f"unexpected {self.peek()!r}")

    def _and_or(self) -> None:
        before = self.state.folders
        self._pipeline()
        possible = either(before, self.state.folders)
        self.state.nesting += 1
        while True:
            self.blanks()
            operator = self.accept("&&", "||")
            if not operator:
                break
            self.newlines()
            after_success = self.state.folders
            if operator == "||":
                self.state.folders = possible
            self._pipeline()
            possible = either(possible, self.state.folders)
            if operator == "||":
                self.state.folders = either(self.state.folders, after_success)
        self.state.nesting -= 1
        self.state.folders = possible

    def _pipeline(self) -> None:
        before, is_negated = self._surroundings, False
        while self._reserved() == "!":
            self.position, is_negated = self.position + 1, True
            self.blanks()
        start = len(self.state.drafts)
        self._command(start)
        while self._accept_pipe():
            self._surroundings = before
            self.newlines()
            with self.inside():
                self._command(start)
        if is_negated:
            self.state.folders = either(self.state.folders, before[0])

    def _accept_pipe(self) -> bool:
        self.blanks()
        return self.peek(2) != "||" and bool(self.accept("|&", "|"))

    def _command(self, pipe_start: int) -> None:
        """Read a command whose input comes from the commands since `pipe_start`."""
        start = len(self.state.drafts)
        self._one_command()
        for draft in self.state.drafts[start:]:
            if start > pipe_start and not draft.sources:
                draft.sources = range(pipe_start, start)
        if len(self.state.drafts) > _MOST_COMMANDS:
            raise Unreadable("it has too many commands")

    def _one_command(self) -> None:
        reserved, values, folders = self._reserved(), self.state.values, self.state.folders
        if self.peek(2) == "((":
            self.position += 2
            self.arithmetic_command()
        elif self.accept("("):
            with self.inside():
                self._list()
            self.close(")")
        elif reserved:
            self.position += len(reserved)
            self._compound(reserved)
        elif found := _FUNCTION.match(self.text, self.position):
            self.position = found.end()
            self._function(found[1])
            return
        else:
            self.simple()
            return
        draft = self.draft(values=values, folders=folders)
        self.blanks()
        while self.redirect(draft):
            self.blanks()
        if draft.redirects:
            self.state.drafts.append(draft)

    def _compound(self, reserved: str) -> None:
        match reserved:
            case "{":
                self._list("}")
                self._keyword("}")
            case "if":
                self._if()
            case "while" | "until":
                with self._repeated():
                    self._list("do")
                    self._body()
            case "for":
                self._for()
            case "case":
                self._case()
            case "[[":
                self._test()
            case "function":
                self._named_function()
            case _:
                raise Unreadable(f"{reserved} is not supported here")

    @contextmanager
    def _repeated(self) -> Generator[None]:
        """Enter a part that may run several times, or later."""
        state = self.state
        before, state.nesting = state.folders, state.nesting + 1
        yield
        state.nesting -= 1
        if state.folders != before:
            self.note("it changes the folder in a loop or function")

    def _if(self) -> None:
        self.state.nesting += 1
        before = self.state.folders
        following = "elif"
        while following == "elif":
            self._list("then")
            self._keyword("then")
            self._list("elif", "else", "fi")
            self.state.folders = either(self.state.folders, before)
            following = self._keyword("elif", "else", "fi")
        if following == "else":
            self._list("fi")
            self._keyword("fi")
        self.state.folders = either(self.state.folders, before)
        self.state.nesting -= 1

    def _body(self) -> None:
        self._keyword("do")
        self._list("done")
        self._keyword("done")

    def _for(self) -> None:
        self.blanks()
        name = self.literal_word()
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise Unreadable("this kind of for loop is not supported")
        self.newlines()
        words = list[list[Part]]()
        if self._reserved() == "in":
            self.position += 2
            self.blanks()
            while parts := self.word():
                words.append(parts)
                self.blanks()
        # The substitutions of its words belong to a command without a program.
        self.state.drafts.append(self.draft(assignments=[(name, parts) for parts in words or [[]]]))
        self.accept(";")
        self.set_values(name, self._values_of(words))
        with self._repeated():
            self._body()
        self.state.values = {key: value for key, value in self.state.values.items() if key != name}

    def _values_of(self, words: list[list[Part]]) -> tuple[Word, ...]:
        """Return the values of a loop variable; empty if they are not known."""
        if any(map(begins_with_folder, words)):
            return ()
        found = tuple(word for parts in words for word in expand(parts, self.constants()))
        return found if len(found) <= MOST_WORDS and all(word.text is not None for word in found) else ()

    def _case(self) -> None:
        self.blanks()
        words = [self.word()]
        self._keyword("in")
        self.state.nesting += 1
        before = self.state.folders
        self.newlines()
        while self._reserved() != "esac":
            self.accept("(")
            words += self._patterns()
            self._list("esac")
            self.state.folders = either(self.state.folders, before)
            if not self.accept(";;&", ";;", ";&"):
                break
            self.newlines()
        self._keyword("esac")
        self.state.nesting -= 1
        self.state.drafts.append(self.draft(assignments=[("", parts) for parts in words]))

    def _patterns(self) -> list[list[Part]]:
        words = list[list[Part]]()
        while True:
            self.blanks()
            words.append(self.word())
            if not words[-1]:
                raise Unreadable("a pattern is missing")
            self.blanks()
            if not self.accept("|"):
                self.close(")")
                return words

    def _test(self) -> None:
        """Read `[[ … ]]`, whose operators are words here."""
        draft = self.draft(words=[[Part("[[")]], is_test=True)
        while True:
            self.newlines()
            start = self.position
            if parts := self.word():
                draft.words.append(parts)
                if self.text[start : self.position] == "=~":
                    draft.words.append(self._expression())
                elif self.text[start : self.position] == "]]":
                    break
            elif operator := self.accept("&&", "||", "(", ")", "<", ">"):
                draft.words.append([Part(operator)])
            else:
                raise Unreadable("a test does not end")
        self.state.drafts.append(draft)

    def _expression(self) -> list[Part]:
        """Read a regular expression, in which parentheses and bars are literal."""
        self.blanks()
        parts = list[Part]()
        while (found := self.word()) or self.peek() in ("(", ")", "|"):
            parts += found or [Part(self.peek())]
            self.position += not found
        return parts

    def _named_function(self) -> None:
        self.blanks()
        name = self.literal_word()
        self.blanks()
        if self.accept("("):
            self.close(")")
        self._function(name)

    def _function(self, name: str) -> None:
        self.newlines()
        start = len(self.state.drafts)
        if name in _FOLLOWED:
            self.note(f"it redefines {name}")
        if not self.state.nesting:
            self.state.functions |= {name}
        values, self.state.values = self.state.values, {}
        with self.inside(), self._repeated():
            self._one_command()
        self.state.values = values
        own = [draft for draft in self.state.drafts[start:] if draft.name == name]
        self.state.is_bomb |= len(own) > 1 or any(draft.is_background for draft in own)
