"""Commands that destroy what cannot be restored; `hazards.toml` lists them.

The search is lenient: it looks through every program that runs its arguments, known or not, and into texts that a shell
runs. Only words are compared, so `echo rm` is harmless.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct, field

from harness.approval.path_lists import is_system_folder
from harness.risk import PathAccess
from tools.shell.printed_text import here_texts, is_fed, printed_text, printed_words, removed_folders, run_lines
from tools.shell.syntax import Command, Script, read_script
from tools.shell.tables import Expression, Names, decoded, load_table
from tools.shell.words import Word

Level: TypeAlias = Literal["forbidden", "dangerous"]

_DATA = Path(__file__).parent / "hazards.toml"
_DEEPEST = 4
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_OUTPUT = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
_DOWNLOADED = "it runs downloaded code"
_MAY_BE_EMPTY = ", since a variable in the path may be empty: write the path itself"
_WILD = frozenset("*?")
_WILD_NAME = frozenset("*?[].!")


class Hazard(NamedTuple):
    """Reason why a command needs approval each time, or never runs."""

    level: Level
    why: str


class _Rule(Struct, forbid_unknown_fields=True):
    """Hazard as `hazards.toml` describes it."""

    commands: list[str]
    why: str
    level: Level = "dangerous"
    any: Names = Names()
    also: Names = Names()
    unless: Names = Names()
    values: Names = Names()
    operand: Expression | None = None
    word: Expression | None = None
    line: Expression | None = None
    targets: Literal["", "vital", "system", "permanent"] = ""
    which: Literal["all", "first", "rest", "sources", "last"] = "all"
    contents: bool = False
    default: str = ""
    least: int = 0
    single: bool = False


class _Path(Struct, forbid_unknown_fields=True):
    path: Expression
    why: str


class _Paths(Struct, forbid_unknown_fields=True):
    here: Expression
    temporary: Expression
    forbidden: list[_Path] = field(default_factory=list[_Path])
    dangerous: list[_Path] = field(default_factory=list[_Path])


class _Data(Struct, forbid_unknown_fields=True):
    interpreters: Expression
    programs: dict[str, Names]
    global_options: dict[str, Names]
    paths: _Paths
    hazard: list[_Rule]


class _Tables:
    """Content of `hazards.toml`, prepared for comparisons."""

    def __init__(self, data: _Data) -> None:
        self.paths = data.paths
        self.global_options, self.interpreters = data.global_options, data.interpreters
        self.shells, self.evaluators = data.programs["shells"], data.programs["evaluators"]
        self.fetchers, self.privileged = data.programs["fetchers"], data.programs["privileged"]
        self.runners, self.takes_script = data.programs["runners"], data.programs["takes_script"]
        self.rules: dict[str, list[tuple[list[str], _Rule]]] = {}
        for rule in data.hazard:
            for command in rule.commands:
                words = command.split()
                self.rules.setdefault(words[0], []).append((words[1:], rule))

    def is_program(self, name: str) -> bool:
        """Return True for a program that is known here or has a table."""
        is_known = name in self.rules or name in self.shells or name in self.fetchers
        return is_known or self.interpreters.fullmatch(name) is not None or load_table(name) is not None


@cache
def _tables() -> _Tables:
    return _Tables(msgspec.convert(tomllib.loads(_DATA.read_text(encoding="utf-8")), _Data, dec_hook=decoded))


class Hazards(NamedTuple):
    """Hazards of a script."""

    worst: Hazard | None
    """The first forbidden hazard, else the first dangerous one."""
    removals: tuple[PathAccess, ...]
    """Paths that it deletes or moves with everything in them."""
    texts: tuple[str, ...]
    """Command lines in it that a shell may run."""


def hazards_of(script: Script) -> Hazards:
    """Return the hazards of a script."""
    search = _Search()
    found = list(search.of_script(script, 0))
    worst = next((each for each in found if each.level == "forbidden"), found[0] if found else None)
    return Hazards(worst, tuple(dict.fromkeys(search.removals)), tuple(dict.fromkeys(search.texts)))


def hazard_of_write(path: str) -> Hazard | None:
    """Return the hazard of writing to a path, by the path alone."""
    path = _normal("", path)
    paths = _tables().paths
    forbidden = (Hazard("forbidden", rule.why) for rule in paths.forbidden if rule.path.fullmatch(path))
    dangerous = (Hazard("dangerous", rule.why) for rule in paths.dangerous if rule.path.fullmatch(path))
    return next(forbidden, None) or next(dangerous, None)


class _Search:
    def __init__(self) -> None:
        self.removals: list[PathAccess] = []
        self.texts: list[str] = []
        self._tables = _tables()

    def of_script(self, script: Script, depth: int) -> Iterator[Hazard]:
        if script.is_bomb:
            yield Hazard("forbidden", "it starts copies of itself endlessly (fork bomb)")
        if depth <= _DEEPEST:
            for command in script.commands:
                yield from self._of_command(command, script, depth)

    def _of_command(self, command: Command, script: Script, depth: int) -> Iterator[Hazard]:
        for redirect in command.redirects:
            if redirect.operator in _OUTPUT and redirect.target.text is not None:
                hazard = hazard_of_write(posixpath.join(*command.folders[:1], redirect.target.text))
                yield from (hazard,) if hazard else ()
        if any(index == 0 and self._fetches(script.commands[inner]) for index, inner in command.substitutions):
            yield Hazard("forbidden", _DOWNLOADED)
        for start in self._starts(command.words):
            yield from self._of_words(command, start, script, depth)

    def _starts(self, words: Sequence[Word], start: int = 0) -> Iterator[int]:
        """Yield the places where a program may stand: `start`, and where a runner there may find its command."""
        if not words:
            return
        yield start
        name = _name(words[start])
        if name == "find":
            for index in range(start + 1, len(words)):
                if words[index - 1].text in _FIND_RUNS:
                    yield from self._starts(words, index)
        elif name in self._tables.runners:
            yield from self._after_runner(words, start)

    def _after_runner(self, words: Sequence[Word], runner: int) -> Iterator[int]:
        """Yield the places after a runner up to the first program; which words its own options take is not known."""
        for index in range(runner + 1, len(words)):
            name = _name(words[index])
            if name in self._tables.runners:
                yield from self._starts(words, index)
                return
            if name and not name.startswith("-"):
                yield index
                if self._tables.is_program(name) and not (words[index - 1].text or "").startswith("-"):
                    return

    def _of_words(self, command: Command, start: int, script: Script, depth: int) -> Iterator[Hazard]:
        name, arguments = _name(command.words[start]), command.words[start + 1 :]
        if name in self._tables.privileged:
            yield Hazard("dangerous", "it runs with the privileges of another user")
        sources = [script.commands[index] for index in command.sources]
        fed = list(printed_words(sources)) if is_fed(command, start) else []
        for rule, rest in self._rules_for(name, [*arguments, *fed]):
            if self._applies(rule, rest, command.folders):
                is_unknown = rule.targets in ("vital", "system") and any(word.text is None for word in rest)
                yield Hazard(rule.level, rule.why + (_MAY_BE_EMPTY if is_unknown else ""))
        is_shell = name in self._tables.shells or name in self._tables.evaluators
        if is_shell or self._tables.interpreters.fullmatch(name):
            yield from self._of_shell(command, start, script, depth)
        elif name in self._tables.takes_script:
            for word in arguments:
                if word.text and " " in word.text:
                    yield from self._of_text(word.text, depth)

    def _rules_for(self, name: str, arguments: Sequence[Word]) -> Iterator[tuple[_Rule, Sequence[Word]]]:
        """Yield the rules for a command, each with the arguments after the subcommands that it names."""
        position, takes_value = 0, self._tables.global_options.get(name, ())
        while position < len(arguments) and (arguments[position].text or "").startswith("-"):
            position += 2 if arguments[position].text in takes_value else 1
        following = [word.text for word in arguments[position:]]
        for words, rule in self._tables.rules.get(name, ()):
            if not words or following[: len(words)] == words:
                yield rule, arguments[position + len(words) :] if words else arguments

    def _applies(self, rule: _Rule, arguments: Sequence[Word], folders: Sequence[str]) -> bool:
        given = _Given(rule, arguments)
        if not self._matches(rule, given, arguments):
            return False
        if rule.targets == "vital":
            self._note_removals(_chosen(rule, given.operands), folders or ("",))
        return not rule.targets or self._hits(rule, given.operands, folders or ("",))

    def _matches(self, rule: _Rule, given: _Given, arguments: Sequence[Word]) -> bool:
        texts = [word.text or "" for word in arguments]
        operands = [word.text or "" for word in given.operands]
        return (
            (not rule.any or given.has(rule.any))
            and (not rule.also or given.has(rule.also))
            and not (rule.unless and given.has(rule.unless))
            and (not rule.operand or any(map(rule.operand.fullmatch, operands)))
            and (not rule.word or any(map(rule.word.fullmatch, texts)))
            and (not rule.line or rule.line.fullmatch(" ".join(texts)) is not None)
            and len(given.operands) >= rule.least
        )

    def _note_removals(self, words: Sequence[Word], folders: Sequence[str]) -> None:
        named = [(word.text, word.is_glob) for word in words if word.text]
        self.removals += (
            PathAccess(path, "write", folder, is_pattern=is_glob) for path, is_glob in named for folder in folders
        )

    def _hits(self, rule: _Rule, operands: Sequence[Word], folders: Sequence[str]) -> bool:
        targets = _chosen(rule, operands)
        if rule.targets == "permanent":
            temporary = self._tables.paths.temporary
            return not targets or not all(word.text and temporary.fullmatch(_normal("", word.text)) for word in targets)
        return any(self._is_vital(rule, folder, path) for path in map(_least, targets) for folder in folders)

    def _is_vital(self, rule: _Rule, folder: str, path: str) -> bool:
        paths, normal = self._tables.paths, _normal(folder, path)
        # The files of a folder may be moved, but not deleted.
        is_folder = rule.contents or not path.endswith("*")
        is_here = rule.targets == "vital" and is_folder and paths.here.fullmatch(normal)
        return bool(is_here) or is_system_folder(normal)

    def _of_shell(self, command: Command, start: int, script: Script, depth: int) -> Iterator[Hazard]:
        shell = _Shell(_name(command.words[start]), [word.text or "" for word in command.words[start + 1 :]])
        is_evaluator = shell.name in self._tables.evaluators
        reads_input = not is_evaluator and shell.reads_input
        last = len(command.words) if is_evaluator else start + 1 + shell.first
        for index, inner in command.substitutions:
            is_run = start < index <= last or (index < 0 and reads_input)
            if is_run and self._fetches(script.commands[inner]):
                yield Hazard("forbidden", _DOWNLOADED)
        takes_input = reads_input or is_fed(command, start)
        sources = [script.commands[index] for index in command.sources] if takes_input else []
        if any(map(self._fetches, sources)):
            yield Hazard("forbidden", _DOWNLOADED)
        elif sources:
            yield Hazard("dangerous", "it runs the output of another command")
        for text in filter(None, map(printed_text, sources)):
            yield from self._of_text(text, depth)
        read = self._of_text if is_evaluator or shell.is_posix else self._of_program
        for text in (*shell.texts(), *here_texts(command)):
            yield from read(text, depth)

    def _of_program(self, text: str, depth: int) -> Iterator[Hazard]:
        """Yield the forbidden hazards of a program text, as far as its strings show them."""
        if any(is_system_folder(_normal("", path)) for path in removed_folders(text)):
            yield Hazard("forbidden", "it would delete a system or home folder")
        for line in run_lines(text):
            yield from (hazard for hazard in self._of_text(line, depth) if hazard.level == "forbidden")

    def _of_text(self, text: str, depth: int) -> Iterator[Hazard]:
        """Yield the hazards of a text that a shell runs."""
        self.texts.append(text)
        yield from self.of_script(read_script(text), depth + 1)

    def _fetches(self, command: Command) -> bool:
        return any(_name(command.words[start]) in self._tables.fetchers for start in self._starts(command.words))


class _Given:
    """Options and operands of a command, resolved leniently: an abbreviation stands for every option it may mean."""

    def __init__(self, rule: _Rule, arguments: Sequence[Word]) -> None:
        self.operands: list[Word] = []
        self._options: list[str] = []
        pending = list(arguments)
        while pending:
            word = pending.pop(0)
            text = word.text or word.prefix
            if text == "--":
                self.operands += pending
                break
            if not text.startswith("-") or text == "-":
                self.operands.append(word)
            elif text.startswith("--") or rule.single:
                self._options.append(text.partition("=")[0])
                if text in rule.values:
                    del pending[:1]
            elif self._takes_next(text[1:], rule.values):
                del pending[:1]

    def _takes_next(self, letters: str, takes_value: Names) -> bool:
        """Note the letters of a group; return True if the value of the last one is the next word."""
        for index, letter in enumerate(letters):
            self._options.append(f"-{letter}")
            if f"-{letter}" in takes_value:
                return index == len(letters) - 1
        return False

    def has(self, names: Names) -> bool:
        return any(
            name == given or (given.startswith("--") and name.startswith(given))
            for given in self._options
            for name in names
        )


def _name(word: Word) -> str:
    return (word.text or "").rpartition("/")[2]


def _chosen(rule: _Rule, operands: Sequence[Word]) -> Sequence[Word]:
    """Return the operands that a rule looks at."""
    if rule.default and not operands:
        return [Word(rule.default)]
    chosen = {"first": operands[:1], "rest": operands[1:], "sources": operands[:-1], "last": operands[-1:]}
    return chosen.get(rule.which, operands)


def _least(word: Word) -> str:
    """Return the path that a word names if its unknown parts are empty."""
    return word.rest if word.text is None else word.text


def _normal(folder: str, path: str) -> str:
    """Return a path without detours and without globs that stand for all files of a folder; empty if it is empty."""
    if not path:
        return ""
    path = path.replace("[.]", ".")
    parts = (path if path.startswith(("/", "~")) else posixpath.join(folder, path)).split("/")
    while parts and (not parts[-1] or (_WILD_NAME.issuperset(parts[-1]) and not _WILD.isdisjoint(parts[-1]))):
        parts.pop()
    normal = posixpath.normpath("/".join(parts) or ("/" if path.startswith("/") else "."))
    return f"/{normal.lstrip('/')}" if normal.startswith("/") else normal


class _Shell:
    """Program that runs other programs' text: a shell, `eval`, or an interpreter."""

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        self.name = name
        self.is_posix = not _tables().interpreters.fullmatch(name)
        letters = "c" if self.is_posix else "cemr"
        options = (index for index, each in enumerate(arguments) if re.fullmatch(rf"-\w*[{letters}]\w*", each))
        self._option = next(options, None)
        after = 0 if self._option is None else self._option + 1
        words = (index for index in range(after, len(arguments)) if not arguments[index].startswith(("-", "+")))
        self.first = next(words, len(arguments))
        """Index of the program text or file; the number of arguments if there is neither."""
        self._arguments = arguments

    @property
    def reads_input(self) -> bool:
        """True if it runs its standard input."""
        is_file = self.first < len(self._arguments) and self._arguments[self.first] != "/dev/stdin"
        takes_input = "-" in self._arguments[: self.first] or (self.is_posix and "-s" in self._arguments)
        return self._option is None and (takes_input or not is_file)

    def texts(self) -> Iterator[str]:
        """Yield the command lines among the arguments, as far as they are literal."""
        if self.name == "eval":
            yield " ".join(self._arguments)
        elif self._option is not None:
            yield from self._arguments[self.first : self.first + 1]
