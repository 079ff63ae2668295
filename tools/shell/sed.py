"""Check of sed scripts: only commands that read and print are accepted."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"\d+(?:~\d+)?|\$|[+~]\d+")
_PLAIN = frozenset("pPdDgGhHnNx=zF")
_WITH_NUMBER = frozenset("qQlL")
_WITH_LABEL = frozenset("btT:")
_WITH_TEXT = frozenset("aic")
_NUMBER = re.compile(r"[ \t]*\d*")
_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_]*")
_TEXT = re.compile(r"(?:[^\\\n]|\\.)*", re.DOTALL)
_END = re.compile(r"[ \t]*(?:[;\n]|#[^\n]*|(?=\})|$)")
_REGEX_FLAGS = re.compile(r"[IM]*")
_SUBSTITUTION_FLAGS = re.compile(r"[gpiImM0-9]*")


class _Refused(Exception):
    """The script is not known to be harmless."""


def check_sed(text: str) -> str:
    """Return what makes a script do more than print its input, or an empty string."""
    try:
        _Script(text).read()
    except _Refused as problem:
        return str(problem)
    return ""


class _Script:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def read(self) -> None:
        while self._skip_blanks():
            self._addresses()
            self._command()
        if self._depth:
            raise _Refused("has an open {")

    def _skip_blanks(self) -> bool:
        while self._peek() in (" ", "\t", "\n", ";"):
            self._at += 1
        return self._at < len(self._text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        letter = self._peek()
        if not letter:
            raise _Refused("is not complete")
        self._at += 1
        return letter

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise _Refused(f"has an unknown part: {self._text[self._at : self._at + 20]}")
        self._at = found.end()
        return found.group()

    def _addresses(self) -> None:
        if self._address():
            self._blanks()
            if self._peek() == ",":
                self._at += 1
                self._blanks()
                if not self._address():
                    raise _Refused("has an incomplete address")
        self._blanks()
        while self._peek() == "!":
            self._at += 1
            self._blanks()

    def _blanks(self) -> None:
        while self._peek() in (" ", "\t"):
            self._at += 1

    def _address(self) -> bool:
        if self._peek() == "/":
            self._at += 1
            self._delimited("/")
        elif self._peek() == "\\":
            self._at += 1
            self._delimited(self._delimiter())
        elif _ADDRESS.match(self._text, self._at):
            self._match(_ADDRESS)
            return True
        else:
            return False
        self._match(_REGEX_FLAGS)
        return True

    def _delimiter(self) -> str:
        letter = self._next()
        if letter in "\\\n[" or letter.isalnum():
            raise _Refused("has an unusual delimiter")
        return letter

    def _delimited(self, end: str, *, is_regex: bool = True) -> None:
        start = self._at
        while (letter := self._next()) != end:
            if letter == "\\":
                self._next()
            elif letter == "\n" and is_regex:
                raise _Refused("has a regular expression of several lines")
        part = self._text[start : self._at - 1]
        # Implementations disagree whether a delimiter in brackets ends the expression.
        if is_regex and part.rfind("[") > part.rfind("]"):
            raise _Refused("has a delimiter in brackets")

    def _command(self) -> None:
        letter = self._next()
        if letter == "{":
            self._depth += 1
            return
        if letter == "}":
            self._depth -= 1
            if self._depth < 0:
                raise _Refused("has a } without {")
        elif letter == "#":
            self._at -= 1
        elif letter == "s":
            self._substitution()
        elif letter == "y":
            end = self._delimiter()
            self._delimited(end)
            self._delimited(end, is_regex=False)
        elif letter in _WITH_TEXT:
            self._match(_TEXT)
            return
        else:
            self._simple(letter)
        self._match(_END)

    def _simple(self, letter: str) -> None:
        if letter in _WITH_NUMBER:
            self._match(_NUMBER)
        elif letter in _WITH_LABEL:
            self._match(_LABEL)
        elif letter not in _PLAIN:
            effect = {"w": "writes a file", "W": "writes a file", "e": "runs a command", "r": "reads a file"}
            raise _Refused(f"{effect.get(letter, 'has an unknown command')}: {letter}")

    def _substitution(self) -> None:
        end = self._delimiter()
        self._delimited(end)
        self._delimited(end, is_regex=False)
        self._match(_SUBSTITUTION_FLAGS)
        if self._peek() == "e":
            raise _Refused("runs the result of a substitution")
        if self._peek() == "w":
            raise _Refused("writes the result of a substitution to a file")
