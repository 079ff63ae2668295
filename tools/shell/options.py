"""Command-line options, resolved as programs resolve them.

A table names every option that may be used. Abbreviations, joined letters and attached values are resolved over all
names of the table, refused ones included; an option that no name matches is a problem.

Source: getopt_long(3); POSIX Utility Syntax Guidelines; the "old style" of tar(1).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, field

from tools.shell.words import Word

Style: TypeAlias = Literal["gnu", "posix", "bsd", "single", "words"]
"""Conventions of a program.

- `gnu`: options and operands in any order
- `posix`: options end at the first operand; what follows may be a command
- `bsd`: as `gnu`, and the first word may be a group of letters without a dash, whose values are the words after it
- `single`: long options with one dash (`-name`), no joined letters
- `words`: no options; a word with a dash is an operand
"""

Arity: TypeAlias = Literal["none", "one", "two", "optional"]
"""Values of an option: none · one, attached or the next word · two, the next words · one, only if it is attached."""

_MARKS: Mapping[str, Arity] = {"==": "two", ":": "one", "=": "one", "?": "optional", "[]": "optional"}


class OptionTable(Struct, frozen=True):
    """Options of one program."""

    arities: Mapping[str, Arity]
    """Known options with their dashes (`-k`, `--key`), refused ones included."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """Options that make the program do more than read, and what each does."""
    style: Style = "gnu"
    """Conventions of the program."""
    abbreviates: bool = True
    """True if the program accepts the beginning of a long option for all of it."""
    takes_number: bool = False
    """True if `-5` is an option."""


class GivenOption(Struct, frozen=True):
    """One option of a command line."""

    name: str
    """Full name with its dashes; of an ambiguous abbreviation, the first match."""
    value: Word | None = None
    """Its value, the last one if it has two; None if it has none."""


class Resolved(Struct):
    """Options and operands of a command line."""

    options: list[GivenOption] = field(default_factory=list[GivenOption])
    """Options in order."""
    operands: list[Word] = field(default_factory=list[Word])
    """Operands in order."""
    problem: str = ""
    """First option that is unknown, ambiguous or refused, and why; empty if all are allowed."""
    uncertain: list[Word] = field(default_factory=list[Word])
    """Operands that may turn out to be options when the command runs."""

    def has(self, names: Container[str]) -> bool:
        """Return True if one of the options is given."""
        return any(option.name in names for option in self.options)

    def values(self, names: Container[str]) -> Iterator[Word]:
        """Yield the values of the given options, in order."""
        return (option.value for option in self.options if option.name in names and option.value is not None)


def parse_options(text: str) -> dict[str, Arity]:
    """Return the options that a text lists.

    Args:
        text: Names separated by blanks: `-a` and `--all` have no value, `-k:` and `--key=` need one, `--arg==` needs
            two, `-p?` and `--color[]` accept an attached one.
    """
    return dict(_option(word) for word in text.split())


def _option(word: str) -> tuple[str, Arity]:
    for mark, arity in _MARKS.items():
        if word.endswith(mark) and len(word) > len(mark) + 1:
            return word.removesuffix(mark), arity
    return word, "none"


def resolve(table: OptionTable, words: Sequence[Word]) -> Resolved:
    """Resolve the words after a program's name.

    The first problem is kept and resolving continues, so that the files of a refused option are known. After an unknown
    option every word without a dash is taken for an operand.
    """
    reader = _Reader(table, words)
    reader.read()
    return reader.found


class _Reader:
    def __init__(self, table: OptionTable, words: Sequence[Word]) -> None:
        self.found = Resolved()
        self._table = table
        self._words = list(words)
        self._at = 0
        self._is_stopped = False

    def read(self) -> None:
        if self._table.style == "words":
            self.found.operands += self._words
            return
        if self._table.style == "bsd" and self._words:
            self._read_old_style()
        while self._at < len(self._words):
            if self._is_stopped:
                self.found.operands += [word for word in self._words[self._at :] if _is_operand(word)]
                return
            word = self._words[self._at]
            self._at += 1
            if word.text == "--":
                self.found.operands += self._words[self._at :]
                return
            if _is_operand(word):
                self._add_operand(word)
                if self._table.style == "posix":
                    self.found.operands += self._words[self._at :]
                    return
            else:
                self._read_option(word.text or "")

    def _add_operand(self, word: Word) -> None:
        self.found.operands.append(word)
        if may_be_option(word):
            self.found.uncertain.append(word)

    def _read_option(self, text: str) -> None:
        if self._table.takes_number and text[1:].isdecimal():
            return
        if text.startswith("--") or self._table.style == "single":
            self._read_long(text)
        else:
            self._read_letters(text)

    def _read_long(self, text: str) -> None:
        given, separator, value = text.partition("=")
        names = self._candidates(given)
        if not names:
            self._stop(f"unknown option {given}")
            return
        arity = self._table.arities[names[0]]
        if any(self._table.arities[name] != arity for name in names):
            self._stop(f"ambiguous option {given}")
            return
        refused = next((name for name in names if name in self._table.refused), names[0])
        self._add(refused, Word(text=value) if separator else None, arity)

    def _candidates(self, given: str) -> list[str]:
        if given in self._table.arities:
            return [given]
        if not self._table.abbreviates or self._table.style == "single":
            return []
        return [name for name in self._table.arities if name.startswith(given) and len(given) > 2]

    def _read_letters(self, text: str) -> None:
        for number, letter in enumerate(text[1:], 2):
            name = f"-{letter}"
            arity = self._table.arities.get(name)
            if arity is None:
                self._stop(f"unknown option {name}")
                return
            rest = text[number:]
            if arity == "none":
                self._add(name, None, arity)
            else:
                self._add(name, Word(text=rest) if rest else None, arity)
                return

    def _read_old_style(self) -> None:
        first = self._words[0]
        if first.text is None or first.text.startswith("-"):
            return
        self._at = 1
        for letter in first.text:
            name = f"-{letter}"
            if name not in self._table.arities:
                self._stop(f"unknown option {letter}")
                return
            self._add(name, None, self._table.arities[name])

    def _add(self, name: str, value: Word | None, arity: Arity) -> None:
        if arity == "none" and value is not None:
            self._stop(f"option {name} takes no value")
            return
        missing = 2 if arity == "two" else int(arity == "one" and value is None)
        if missing:
            if self._at + missing > len(self._words):
                self._stop(f"option {name} has no value")
                return
            self._at += missing
            value = self._words[self._at - 1]
            self._check_value(name, self._words[self._at - missing : self._at])
        self.found.options.append(GivenOption(name, value))
        if name in self._table.refused:
            self._report(f"option {name} {self._table.refused[name]}")

    def _check_value(self, name: str, values: Sequence[Word]) -> None:
        if any(word.is_glob or not word.is_single for word in values):
            self._report(f"the value of option {name} may become several words when the command runs")
        # Some programs take the value of a long option after `=` only: git reads `--format --output=x` as two options.
        if name.startswith("--") and len(values) == 1 and _may_begin_with_dash(values[0]):
            self._report(f"the value of option {name} may be an option")

    def _stop(self, problem: str) -> None:
        self._report(problem)
        self._is_stopped = True

    def _report(self, problem: str) -> None:
        self.found.problem = self.found.problem or problem


def _is_operand(word: Word) -> bool:
    return word.text is None or word.is_glob or word.text == "-" or not word.text.startswith("-")


def _may_begin_with_dash(word: Word) -> bool:
    return word.prefix[:1] in ("", "-") if word.text is None else word.text.startswith("-")


_WILD = ("*", "?", "[", "-", "+(", "@(", "!(")


def may_be_option(word: Word) -> bool:
    """Return True if a word, or one of the words it becomes, may begin with a dash when the command runs."""
    if word.is_glob:
        return (word.text or "").startswith(_WILD)
    return word.text is None and (not word.is_single or word.prefix[:1] in ("", "-"))
