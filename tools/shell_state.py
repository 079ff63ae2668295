"""State of a persistent shell: what a command leaves for later ones.

Functions are restored through the environment, where bash accepts nothing but the definition of a function. Aliases are
kept as functions. A command gets the functions that it mentions, and is analyzed together with them. Options are
arguments of the shell; those that change which files a pattern means are analyzed with a command that may have one.

Each command runs in a shell of its own, which reports its state when it exits. A command that hangs, is killed or
continues in the background therefore changes nothing, and no later command depends on it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from harness.workspace.path_policy import is_within
from tools.shell.variables import is_harmless_assignment

_REPORT = (
    "{{ command pwd -P && command printf '\\0' && {{ command alias -p || :; }} && "
    'command printf \'\\0%s:%s\\0\' "$BASHOPTS" "$SHELLOPTS" && '
    "IFS=$'\\n' && set -- $(compgen -A function) && {{ [ $# -eq 0 ] || command export -f -- \"$@\" || :; }} && "
    "/usr/bin/env -0; }} 2>/dev/null >{}"
)
_LARGEST_REPORT = 1_000_000
# Variables that change how a shell reads a command line, which is analyzed without them; HOME is what `~` stands for.
# The others are set for each command.
_NOT_KEPT = re.compile(
    r"HOME|PWD|OLDPWD|UID|EUID|PPID|SHLVL|_|CDPATH|IFS|ENV|BASHOPTS|SHELLOPTS|GLOBIGNORE|EXECIGNORE|PS4|POSIXLY_CORRECT"
    r"|BASH_.*|TERM|PAGER|GIT_PAGER|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|GIT_CONFIG_(COUNT|KEY_\d+|VALUE_\d+)"
)
_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_FUNCTION = re.compile(rf"BASH_FUNC_({_NAME.pattern})%%", re.ASCII)
_FUNCTION_START = "() {"
# Builtins of the shell, which the analysis of later commands relies on.
_NOT_REDEFINED = re.compile(
    r"cd|pushd|popd|echo|printf|test|command|builtin|exec|eval|export|unset|trap|set|source|alias|unalias|read|local"
    r"|declare|typeset|readonly|shopt|exit|return|true|false|kill|wait|type|hash|env|shift|let|getopts|mapfile|readarray"
)
_VARIABLE = r"\$[A-Za-z_]\w*+|\$\{[A-Za-z_]\w*+\}"
_WORD = rf"""(?:[\w./:=@%+,^~*?-]|\\[^\n]|'[^']*'|"(?:[^"`\\$]|\\.|{_VARIABLE})*"|{_VARIABLE})+"""
_ALIAS = re.compile(rf"{_WORD}(?:(?: +| *(?:\|\|?|&&|;) *){_WORD})* *", re.ASCII)
"""Simple commands without substitutions, redirections and compound commands."""
_RESERVED = re.compile(
    r"(?:^|[|&;]) *(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|coproc)\b"
)
_PATTERN_OPTIONS = ("dotglob", "extglob", "failglob", "globstar", "nocaseglob", "nullglob")
_OTHER_OPTIONS = ("noclobber", "pipefail")
"""Options that are kept; others stop later commands, print them, or change how a command line is read."""
_MAY_BE_PATTERN = re.compile(r"[*?\[$`]")
_MOST_FUNCTION_CHARS = 60_000
"""Most characters of all functions; the longest ones beyond it are not kept."""


class ShellState(Struct):
    """State that later commands start with."""

    folder: str = ""
    """Absolute, or relative to the workspace root; empty: the root."""
    variables: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Exported variables that commands have set; None for one that they have removed."""
    functions: dict[str, str] = field(default_factory=dict[str, str])
    """Functions that commands have defined, in bash syntax without the name."""
    options: tuple[str, ...] = ()
    """Options of `set` and `shopt` that are on, sorted."""

    @property
    def names(self) -> str:
        """Names of the variables, for a user."""
        return ", ".join(sorted(self.variables))

    @property
    def description(self) -> str:
        """Description in a few words; empty if later commands start as the first one did."""
        folder = f"folder {self.folder}" if self.folder else ""
        variables = f"variables {self.names}" if self.variables else ""
        functions = f"functions {', '.join(sorted(self.functions))}" if self.functions else ""
        options = f"options {', '.join(self.options)}" if self.options else ""
        return "; ".join(filter(None, (folder, variables, functions, options)))

    @property
    def option_words(self) -> tuple[str, ...]:
        """Arguments of the shell that turn the options on."""
        return tuple(word for each in self.options for word in ("-O" if each in _PATTERN_OPTIONS else "-o", each))

    def functions_of(self, command: str) -> tuple[str, ...]:
        """Return the names of the functions that a command mentions, and of those that they mention."""
        found: dict[str, None] = {}
        texts = [command]
        for text in texts:
            for name in self.functions:
                if name not in found and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
                    found[name] = None
                    texts.append(self.functions[name])
        return tuple(found)

    def analyzed(self, command: str) -> str:
        """Return a command with the functions that it mentions and the options that concern it, as it is analyzed."""
        definitions = (f"{name} {self.functions[name]}\n" for name in self.functions_of(command))
        text = "".join(definitions) + command
        options = [each for each in self.options if each in _PATTERN_OPTIONS]
        return f"shopt -s {' '.join(options)}\n{text}" if options and _MAY_BE_PATTERN.search(text) else text

    def with_functions(self, command: str, environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """Return a command and its environment with the functions that it mentions; its programs do not get them."""
        names = self.functions_of(command)
        if not names:
            return command, dict(environment)
        passed = {f"BASH_FUNC_{name}%%": self.functions[name] for name in names}
        return f"export -nf -- {' '.join(names)}; {command}", {**environment, **passed}

    def applied_to(self, environment: Mapping[str, str], *, only_harmless: bool) -> dict[str, str]:
        """Return an environment with the variables.

        Args:
            environment: Environment of a command.
            only_harmless: True for a command that runs without approval: without those that may change what programs
                do.
        """
        names = [
            name for name, value in self.variables.items() if not only_harmless or is_harmless_assignment(name, value)
        ]
        kept = {name: value for name, value in environment.items() if name not in names}
        return kept | {name: value for name in names if (value := self.variables[name]) is not None}

    def assignments(self, environment: Mapping[str, str]) -> str:
        """Return assignments of the variables that `environment` lacks, as the start of a command line.

        Programs do not see them, but `$NAME` has its value.
        """
        missing = {name: value for name, value in self.variables.items() if name not in environment}
        texts = (f"{name}={shlex.quote(value)}; " for name, value in missing.items() if value and name.isidentifier())
        return "".join(texts)

    def update(self, report: ShellReport, start: str, environment: Mapping[str, str]) -> None:
        """Keep what a command has left.

        Args:
            report: State at the end of the command.
            start: Folder that it started in.
            environment: Environment of this program, which variables are compared with.
        """
        if report.folder != start:
            self.folder = report.folder
        found = self.variables | report.variables
        self.variables = {name: value for name, value in found.items() if environment.get(name) != value}
        defined = {name: value for name, value in (self.functions | report.functions).items() if value is not None}
        while sum(map(len, defined.values())) > _MOST_FUNCTION_CHARS:
            del defined[max(defined, key=lambda name: len(defined[name]))]
        self.functions = defined
        self.options = report.options_after(self.options)


class ShellReport(Struct, frozen=True):
    """State of a shell at its end."""

    folder: str
    """Folder, as in `ShellState`."""
    variables: dict[str, str | None]
    """Variables that differ from those it started with; None for removed ones."""
    functions: dict[str, str | None]
    """Functions that differ from those it started with, and aliases as functions; None for removed ones."""
    options: frozenset[str]
    """Options that are on, of `set` and of `shopt`."""

    def options_after(self, before: tuple[str, ...]) -> tuple[str, ...]:
        """Return the options to keep. Those of `set` stay the same with `set -e`, which begins a script."""
        others = before if "errexit" in self.options else self.options
        kept = self.options.intersection(_PATTERN_OPTIONS) | set(others).intersection(_OTHER_OPTIONS)
        return tuple(sorted(kept))


def reporting(command: str, file: Path) -> str:
    """Return a command that writes the state of its shell to a file when the shell exits.

    On the same line, so that the numbers of lines in error messages stay; if the folder of the file does not exist any
    more, nothing is written.
    """
    return f"trap {shlex.quote(_REPORT.format(shlex.quote(str(file))))} EXIT; {command}"


def read_report(file: Path, environment: Mapping[str, str], root: Path) -> ShellReport | None:
    """Return what `reporting` has written; None if there is no complete report.

    Args:
        file: The file.
        environment: Environment that the command started with.
        root: Workspace root.
    """
    # ValueError: not all of it was written.
    with suppress(OSError, ValueError):
        if file.stat().st_size <= _LARGEST_REPORT:
            folder, aliases, options, *variables, rest = file.read_bytes().split(b"\0")
            if variables and not rest:
                found = dict(_split(os.fsdecode(each)) for each in variables)
                functions = _functions(environment, found) | _as_functions(os.fsdecode(aliases))
                place = placed(os.fsdecode(folder).removesuffix("\n"), root)
                is_on = frozenset(os.fsdecode(options).split(":"))
                return ShellReport(place, _changes(environment, found), functions, is_on)
    return None


def placed(folder: str, root: Path) -> str:
    """Return a folder relative to the workspace root if it is inside, otherwise absolute; empty for the root."""
    path = os.path.normpath(root / folder) if not folder.startswith("~") else folder
    for each in (str(root), os.path.realpath(root)):
        if is_within(path, each):
            return path[len(each.rstrip("/")) :].lstrip("/")
    return path


def _split(assignment: str) -> tuple[str, str]:
    name, _, value = assignment.partition("=")
    return name, value


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    return {
        name: after.get(name)
        for name in (*before, *after)
        if before.get(name) != after.get(name) and not _NOT_KEPT.fullmatch(name)
    }


def _functions(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """Return the functions among variables that have changed; None for removed ones."""
    changed: dict[str, str | None] = {}
    for variable in (*before, *after):
        found, value = _FUNCTION.fullmatch(variable), after.get(variable)
        if found is None or value == before.get(variable) or _NOT_REDEFINED.fullmatch(found[1]):
            continue
        if value is None or value.startswith(_FUNCTION_START):
            changed[found[1]] = value
    return changed


def _as_functions(aliases: str) -> dict[str, str | None]:
    """Return aliases, as bash prints them, as functions; those that are more than simple commands are left out."""
    kept: dict[str, str | None] = {}
    try:
        words = shlex.split(aliases)
    except ValueError:
        return kept
    for word in words:
        name, is_definition, value = word.partition("=")
        is_name = _NAME.fullmatch(name) and not _NOT_REDEFINED.fullmatch(name)
        if is_definition and is_name and _ALIAS.fullmatch(value) and not _RESERVED.search(value):
            first, space, others = value.partition(" ")
            start = "command " if first == name else ""
            # An alias does not expand itself, but a function would.
            if not re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", f"{'' if start else first}{space}{others}"):
                kept[name] = f'{_FUNCTION_START}  {start}{value.rstrip()} "$@"\n}}'
    return kept
