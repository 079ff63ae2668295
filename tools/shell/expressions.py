"""Expressions given as words: those of `find`, and those of `test` and `[`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from harness.risk import Coverage, PathAccess, PathKind
from tools.shell.find_results import found_files
from tools.shell.options import may_be_option, resolve
from tools.shell.tables import Judgement, load_table
from tools.shell.words import Word

_OPTIONS_BEFORE_PATHS = ("-H", "-L", "-P", "-O0", "-O1", "-O2", "-O3")
_OPERATORS = frozenset(("(", ")", "!", ",", "-a", "-o", "-not", "-and", "-or"))
_RUNS = ("-exec", "-ok")
_LATER = "is only known when the command runs"


def judge_find(words: Sequence[Word]) -> Judgement:
    """Judge a `find` command. Every primary of its expression must be in `find.toml`.

    A command after `-exec` is `inner`, with `{}` replaced by a word for any file below the first folder.
    """
    finder = _Find(words[1:])
    why = finder.read()
    kind: PathKind = "search" if _reads(finder.inner) else "list"
    found = found_files(words)
    names = found.names if found.only_files or _reads_one(finder.inner or ()) else ()
    accesses = [
        PathAccess(
            folder.text or "",
            kind,
            is_pattern=folder.is_glob,
            names=names,
            is_listed=finder.inner is not None and not found.only_files,
        )
        for folder in finder.folders or [Word(text=".")]
    ]
    accesses += finder.accesses
    coverage: Coverage = "any" if not why else "exact" if finder.may_run else "written"
    return Judgement("other" if why else "read", why, tuple(accesses), finder.inner, coverage)


def _reads_one(inner: Sequence[Word]) -> bool:
    """Return True if a command reads nothing of a folder that it gets."""
    table = load_table(inner[0].text or "") if inner and inner[0].is_literal else None
    if table is None or table.operands != "read" or table.has_pairs:
        return False
    return not resolve(table.options, inner[1:]).has(table.recursive)


def _reads(inner: Sequence[Word] | None) -> bool:
    """Return True if a command may read the files that it gets, and not only list them."""
    if inner is None:
        return False
    table = load_table(inner[0].text or "") if inner[0].is_literal else None
    return table is None or bool(table.subcommands) or table.operands not in ("list", "text")


class _Find:
    def __init__(self, words: Sequence[Word]) -> None:
        self.folders: list[Word] = []
        self.accesses: list[PathAccess] = []
        self.inner: tuple[Word, ...] | None = None
        self._words = list(words)
        self.may_run = any((word.text or "").startswith(_RUNS) for word in words)
        table = load_table("find")
        assert table is not None
        self._options = table.options
        self._paths = table.paths

    def read(self) -> str:
        """Read the words; return the reason why the command does not only read, or an empty string."""
        while self._words and self._words[0].text in _OPTIONS_BEFORE_PATHS:
            self._words.pop(0)
        while self._words and not self._starts_expression(self._words[0]):
            self.folders.append(self._words.pop(0))
        if any(word.text is None or may_be_option(word) for word in self.folders):
            return f"a folder of find {_LATER}"
        while self._words:
            why = self._primary(self._words.pop(0))
            if why:
                return why
        return ""

    def _starts_expression(self, word: Word) -> bool:
        return word.text is not None and not word.is_glob and (word.text.startswith("-") or word.text in _OPERATORS)

    def _primary(self, word: Word) -> str:
        name = word.text or ""
        if not word.is_literal:
            return f"a part of the expression of find {_LATER}"
        if name in _OPERATORS:
            return ""
        if name == "-exec":
            return self._command()
        if name in self._options.refused:
            return f"{name} of find {self._options.refused[name]}"
        arity = self._options.arities.get(name)
        if arity is None:
            return f"unknown part of the expression of find: {name}"
        return self._value(name) if arity == "one" else ""

    def _value(self, name: str) -> str:
        if not self._words:
            return f"{name} of find has no value"
        value = self._words.pop(0)
        if not value.is_single or (value.is_glob and self._may_be_refused(value)):
            return f"the value of {name} of find {_LATER}"
        if name in self._paths:
            if value.text is None:
                return f"the value of {name} of find {_LATER}"
            self.accesses.append(_access(value, "list"))
        return ""

    def _may_be_refused(self, glob: Word) -> bool:
        """Return True if a file could have the name of a refused primary and match the glob."""
        return any(fnmatchcase(name, glob.text or "") for name in (*self._options.refused, "-exec"))

    def _command(self) -> str:
        """Read the command after `-exec`."""
        ends = [
            number
            for number, word in enumerate(self._words)
            if word.text == ";" or (word.text == "+" and number and self._words[number - 1].text == "{}")
        ]
        if not ends:
            return "-exec of find has no end"
        if self.inner is not None:
            return "find runs more than one command"
        self.inner = tuple(self._with_file(word) for word in self._words[: ends[0]]) or None
        del self._words[: ends[0] + 1]
        return ""

    def _with_file(self, word: Word) -> Word:
        if "{}" not in (word.text or word.prefix):
            return word
        folder = (self.folders[0].text if self.folders else None) or "."
        is_alone = word.text == "{}"
        return Word(text=None, prefix=folder if is_alone else "", folder=folder if is_alone else None)


def _access(word: Word, kind: PathKind) -> PathAccess:
    return PathAccess(word.text or "", kind, is_pattern=word.is_glob)


_UNARY_FILE = frozenset(f"-{letter}" for letter in "bcdefghkLNOGprsSuwx")
_UNARY = _UNARY_FILE | {"-n", "-z", "-t"}
_BINARY_FILE = frozenset(("-nt", "-ot", "-ef"))
_BINARY = _BINARY_FILE | {"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
_EVALUATES = ("-v", "-R")


def judge_test(words: Sequence[Word]) -> Judgement:
    """Judge `test …` or `[ … ]`. `-v` is refused: it evaluates a subscript, which may run a command."""
    expression = list(words[1:])
    if words[0].text == "[" and (not expression or expression.pop().text != "]"):
        return Judgement("other", "[ without ]")
    why = _unreadable(expression)
    reader = _Test(expression)
    if not why and not reader.read():
        why = "the expression of test is not known to be harmless"
    accesses = reader.accesses
    return Judgement("other" if why else "read", why, tuple(accesses))


def _unreadable(words: Sequence[Word]) -> str:
    """Return the reason why the structure of an expression is not known before it runs, or an empty string."""
    if not all(word.is_single for word in words):
        return f"the expression of test {_LATER}"
    if any(word.is_glob and _matches(word, _EVALUATES) for word in words):
        return f"the expression of test {_LATER}"
    # With more than four words bash looks for operators in every position, so that a value may act as one.
    if len(words) > 4 and not all(word.is_literal for word in words):
        return f"the expression of test {_LATER}"
    return ""


def _matches(glob: Word, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob.text or "") for name in names)


class _Test:
    def __init__(self, words: Sequence[Word]) -> None:
        self.accesses: list[PathAccess] = []
        self._words = list(words)

    def read(self) -> bool:
        """Return True if the words are an expression of known operators."""
        if not self._words:
            return True
        while self._primary():
            if not self._words:
                return True
            if self._words.pop(0).text not in ("-a", "-o"):
                return False
        return False

    def _primary(self) -> bool:
        while len(self._words) > 1 and self._words[0].text == "!":
            self._words.pop(0)
        match [word.text for word in self._words[:3]]:
            case [_, str(operator), _] if operator in _BINARY:
                self._take(3, (0, 2) if operator in _BINARY_FILE else ())
            case [str(operator), _, *_] if operator in _UNARY:
                self._take(2, (1,) if operator in _UNARY_FILE else ())
            case [str(text)] if text not in _EVALUATES:
                self._take(1, ())
            case [str(text), "-a" | "-o", _] if not text.startswith("-"):
                self._take(1, ())
            case _:
                return len(self._words) == 1 and self._take(1, ())
        return True

    def _take(self, count: int, paths: Sequence[int]) -> bool:
        self.accesses += [_access(self._words[at], "list") for at in paths if self._words[at].text is not None]
        del self._words[:count]
        return True
