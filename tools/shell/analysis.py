"""Effect of a command line: the risk of running it, from every command in it.

A command line only reads if every command in it is known to; `hazards` finds what is worse than running a program.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from harness.risk import Coverage, PathAccess, Risk, SimpleCommand
from tools.environment import GitUse
from tools.shell.builtins import judge_builtin, judge_redirect
from tools.shell.git_spellings import other_spellings
from tools.shell.hazards import Hazard, hazard_of_write, hazards_of
from tools.shell.listings import is_filter, listed_files
from tools.shell.prefixes import is_escape, prefix_of
from tools.shell.syntax import Command, Script, read_script
from tools.shell.tables import load_table
from tools.shell.variables import is_harmless_assignment, is_shell_variable
from tools.shell.words import Word
from tools.shell.wrappers import Judged, judge_through

_SHELLS = frozenset({"sh", "bash", "dash"})
# What a POSIX shell reads in another way than bash.
_BASH_ONLY = re.compile(
    r"\[\[|\$['\"]|[<>]\(|&>|\|&|;;?&|<<<|\{[^}\s]*(,|\.\.)|\b(function|time|select|coproc)\b|~[+-]|[A-Za-z0-9_]\+=|=\("
)
_INLINE = re.compile(r"-[eux]*c[eux]*")
_DEEPEST = 4
_MOST_TEXTS = 20
_GIT_READERS = re.compile(
    r"status|diff|log|show|blame|annotate|grep|ls-files|ls-tree|cat-file|rev-parse|rev-list|describe|shortlog|name-rev"
    r"|for-each-ref|show-ref|merge-base|count-objects|whatchanged|cherry|range-diff|diff-tree|diff-index|diff-files"
)
_GIT_SWITCHES = frozenset({"--no-pager", "-P", "--no-optional-locks"})
_NAMES_GIT = re.compile(r"\bgit\b")
# Quotes do not matter: a name in single quotes asks without need, which is rare.
_SECRET_VARIABLE = re.compile(
    r"\$\{?#?(\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL)\w*)", re.IGNORECASE
)


class Analysis(Struct, frozen=True):
    """Effect of a command line."""

    risk: Risk
    """Risk of running it."""
    git_use: GitUse
    """Use of git, which decides about the settings of git while it runs."""
    git_folders: tuple[str, ...]
    """Folders in which it may use git, relative to where it starts."""


@lru_cache(maxsize=256)
def analyze(text: str, folder: str = "") -> Analysis:
    """Return the effect of a command line; never raises.

    Args:
        text: The command line.
        folder: Folder that it starts in, normalized: absolute, or relative to the workspace root; empty: the root.
    """
    script = read_script(text, folder)
    effect = _Analyzer(script).effect
    entered = [PathAccess(folder, "list")] if folder else []
    accesses = tuple(dict.fromkeys([*entered, *effect.accesses]))
    hazards = hazards_of(script)
    hazard = _worst([hazards.worst, *map(_hazard_of, accesses)])
    secret = _SECRET_VARIABLE.search(text)
    is_read = not effect.why and hazard is None and secret is None and bool(effect.commands)
    is_known = not effect.is_opaque
    reason = f"it uses {secret[1]}, which may be a secret" if secret else effect.why
    risk = Risk(
        hazard.level if hazard else "read" if is_read else "execute",
        hazard.why if hazard else reason if is_known else f"it cannot be analyzed: {effect.why}",
        access="read" if is_read else "by_level",
        accesses=accesses if is_known else tuple(each for each in accesses if each.kind == "write"),
        indirect=(*_indirect(hazards.texts), *_other_spellings(effect.commands)) if is_known else (),
        removals=hazards.removals,
        commands=tuple(effect.commands) if is_known else (),
        # Without bash, another shell would run the text and read it in another way.
        programs=tuple(dict.fromkeys(("bash", *effect.programs))) if is_read else (),
        # A rule for exactly this text is for the folder in which it was allowed.
        subject=f"cd {shlex.quote(folder)} && {text.strip()}" if folder else text.strip(),
        cwd=folder,
    )
    reads_with_git = not effect.is_opaque and all(map(_reads_with_git, effect.commands))
    use: GitUse = "none" if not _NAMES_GIT.search(text) else "read" if reads_with_git else "any"
    return Analysis(risk, use, tuple(dict.fromkeys((folder, *effect.git_folders))))


def _indirect(texts: Sequence[str]) -> Iterator[SimpleCommand]:
    for text in texts[:_MOST_TEXTS]:
        yield from _Analyzer(read_script(text), _DEEPEST).effect.commands


def _other_spellings(commands: Sequence[SimpleCommand]) -> Iterator[SimpleCommand]:
    return (other for each in commands if each.verdict != "read" for other in other_spellings(each))


def _reads_with_git(command: SimpleCommand) -> bool:
    """Return True for a command that reads, and for one of git that reads unless an option makes it do more."""
    names = [word for word in command.words[:3] if word not in _GIT_SWITCHES]
    is_reader = names[:1] == ["git"] and len(names) > 1 and _GIT_READERS.fullmatch(names[1])
    return not command.redirects and (command.verdict == "read" or bool(is_reader))


def _hazard_of(access: PathAccess) -> Hazard | None:
    return hazard_of_write(posixpath.join(access.cwd, access.path)) if access.kind == "write" else None


def _worst(hazards: Sequence[Hazard | None]) -> Hazard | None:
    found = [each for each in hazards if each is not None]
    return next((each for each in found if each.level == "forbidden"), found[0] if found else None)


class _Effect(Struct):
    """Effect of the commands of a script."""

    why: str = ""
    """First reason why it does more than read; empty if it only reads."""
    is_opaque: bool = False
    """True if `commands` may not be all that it runs."""
    commands: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    accesses: list[PathAccess] = field(default_factory=list[PathAccess])
    programs: list[str] = field(default_factory=list[str])
    git_folders: list[str] = field(default_factory=list[str])


class _Analyzer:
    """Collector of the effects of a script's commands.

    Args:
        script: The script.
        depth: Number of shells around it.
    """

    def __init__(self, script: Script, depth: int = 0) -> None:
        self.effect = _Effect(script.why, script.is_opaque)
        self._script = script
        self._depth = depth
        self._judged: list[Judged] = []
        for command in script.commands:
            self._add(command)

    def _add(self, command: Command) -> None:
        judged = self._judge(command)
        self._judged.append(judged)
        redirects = [judge_redirect(each) for each in command.redirects]
        variables = list(_assigned(command))
        accesses = [*judged.accesses, *(access for each in redirects for access in each.accesses)]
        refused = [each.why for each in redirects if each.why and not each.accesses]
        problems = [*variables, *refused, *_circumstances(command, accesses)]
        self.effect.accesses += _placed(accesses, command.folders)
        self.effect.programs += judged.programs
        is_inline = self._add_inline(command, judged)
        why = next(iter(problems), "") or ("" if is_inline else judged.why)
        writes = [(each.why, access.path) for each in redirects if each.why for access in each.accesses]
        self.effect.why = self.effect.why or why or next((each for each, _ in writes), "")
        self._note_git(command, judged)
        if command.words or command.redirects or variables:
            simple = _simple_command(judged, why, is_inline=is_inline)
            if writes or refused:
                coverage = "exact" if refused else simple.coverage
                simple = replace(simple, redirects=tuple(path for _, path in writes), coverage=coverage)
            self.effect.commands.append(_with_variables(simple, command) if variables else simple)

    def _judge(self, command: Command) -> Judged:
        words = tuple(self._with_listings(command))
        if not words:
            return Judged((), verdict="read")
        if command.is_call:
            return Judged(words, verdict="read")
        if found := judge_builtin(words):
            return Judged(words, (), found.verdict, found.why, found.accesses)
        return judge_through(words, self._input_listing(command))

    def _with_listings(self, command: Command) -> Iterator[Word]:
        """Yield the words, those that are lists of files (`$(git ls-files)`) with the folder of these."""
        for index, word in enumerate(command.words):
            is_alone = word.text is None and not word.rest and word.folder is None
            inner = [number for place, number in command.substitutions if place == index] if is_alone else []
            listed = self._listing_of(inner)
            yield replace(word, folder=listed.folder, names=listed.names) if listed is not None else word

    def _input_listing(self, command: Command) -> Word | None:
        has_input = any(redirect.operator.startswith("<") for redirect in command.redirects)
        takes_input = any(word.text == "xargs" for word in command.words) and not has_input
        return self._listing_of(command.sources) if takes_input else None

    def _listing_of(self, numbers: Sequence[int]) -> Word | None:
        """Return the files that a pipeline lists; None if it does anything else."""
        if not numbers:
            return None
        commands = [self._script.commands[number] for number in numbers]
        if any(each.folders != commands[0].folders for each in commands):
            return None
        first, *others = (self._judged[number] for number in numbers)
        files = listed_files(first) if first.words else None
        for judged in others:
            if not judged.words or not is_filter(judged):
                files = listed_files(judged) if judged.words else None
        return files

    def _add_inline(self, command: Command, judged: Judged) -> bool:
        """Add the commands of `bash -c 'text'`; return True if the command is one."""
        shell, option, text, *_ = (*(word.text if word.is_literal else None for word in judged.words), None, None, None)
        is_inline = shell in _SHELLS and _INLINE.fullmatch(option or "") and self._depth < _DEEPEST
        if not is_inline or shell is None or text is None or (shell != "bash" and _BASH_ONLY.search(text)):
            return False
        inner = _Analyzer(read_script(text), self._depth + 1).effect
        wrappers = (*judged.wrappers, shell)
        self.effect.is_opaque |= inner.is_opaque
        self.effect.why = self.effect.why or inner.why
        self.effect.commands += (replace(each, wrappers=(*wrappers, *each.wrappers)) for each in inner.commands)
        self.effect.accesses += _placed(inner.accesses, command.folders)
        self.effect.programs += (shell, *inner.programs)
        self.effect.git_folders += inner.git_folders
        return True

    def _note_git(self, command: Command, judged: Judged) -> None:
        if not judged.words or posixpath.basename(judged.words[0].text or "") != "git":
            return
        texts = [word.text or "" for word in judged.words]
        entered = [after for option, after in pairwise(texts) if option == "-C"]
        self.effect.git_folders += (posixpath.join(folder, *entered) for folder in command.folders)


def _assigned(command: Command) -> Iterator[str]:
    """Yield reasons why the assignments of a command may change what programs do."""
    for name, value in command.assignments:
        plain = name.removesuffix("+")
        is_for_read = command.words and plain == "IFS" and command.words[0].text == "read"
        is_harmless = (
            not plain
            or is_for_read
            or (is_harmless_assignment(plain, value.text) if command.words else is_shell_variable(plain))
        )
        if not is_harmless:
            yield f"it sets {plain}, which may change what programs do"


def _circumstances(command: Command, accesses: Sequence[PathAccess]) -> Iterator[str]:
    if command.is_background:
        yield "it runs in the background"
    if not command.folders and not all(each.path.startswith(("/", "~")) for each in accesses):
        yield "its folder is only known when it runs"


def _placed(accesses: Sequence[PathAccess], folders: Sequence[str]) -> Iterator[PathAccess]:
    for access in accesses:
        for folder in folders or ("",):
            yield replace(access, cwd=posixpath.normpath(posixpath.join(folder, access.cwd))) if folder else access


def _simple_command(judged: Judged, why: str, *, is_inline: bool) -> SimpleCommand:
    texts = tuple(word.text if word.text is not None else f"{word.prefix}$" for word in judged.words)
    is_known = is_inline or not texts or load_table(posixpath.basename(texts[0])) is not None
    coverage: Coverage = "written" if judged.coverage == "any" and is_escape(judged.words) else judged.coverage
    return SimpleCommand(
        texts,
        is_literal=all(word.is_literal for word in judged.words),
        verdict="other" if why else "read",
        why=why,
        wrappers=judged.wrappers,
        prefix=prefix_of(judged.words) if why and coverage == "any" else (),
        coverage=coverage,
        is_known=is_known or judge_builtin(judged.words) is not None,
    )


def _with_variables(simple: SimpleCommand, command: Command) -> SimpleCommand:
    """Return the command with its assignments as words, which no rule for the program alone covers."""
    values = (f"{name}={'$' if value.text is None else value.text}" for name, value in command.assignments)
    return replace(simple, words=(*values, *simple.words), prefix=(), is_known=False)
