"""Matching of permission rules with tool calls.

Allow rules are strict: they must cover everything a call does. Ask and deny rules are lenient: one part is enough, and
what cannot be analyzed is searched as text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.approval.patterns import command_matches, text_matches, text_mentions, tokens_of
from harness.approval.places import Place, Places, Unresolvable
from harness.function_tools.names import REMOTE_PREFIXES, legal_group
from harness.permissions import READ, SHELL, WRITE, Rule
from harness.risk import PathAccess, Risk, SimpleCommand

RiskCheck: TypeAlias = Callable[[Risk], Risk]
"""Function that adds to a risk what its paths imply."""

_UNKNOWN = frozenset("$`")
_RUNNERS = re.compile(
    r"command|builtin|exec|env|xargs|find|timeout|nice|ionice|nohup|stdbuf|time|setsid|sudo|doas|su|pkexec|run0|flock"
    r"|setarch|taskset|unshare|chroot|nsenter|chrt|numactl|setpriv|runuser|parallel|watch|script|screen|tmux|ssh|strace"
    r"|gdb|ltrace|systemd-run|busybox|docker|podman|kubectl"
)
"""Programs that run their arguments as a command, or may do so."""


def unchanged(risk: Risk) -> Risk:
    """Return a risk whose paths imply nothing."""
    return risk


class Target:
    """A call as rules see it.

    Args:
        name: Name of the tool.
        risk: Risk assessment.
        places: Places that its paths lead to.
    """

    def __init__(self, name: str, risk: Risk, places: Places) -> None:
        self.name = risk.rule_name or name
        """Name for new rules."""
        self.names = tuple(dict.fromkeys((self.name, name)))
        """Names that rules match."""
        self.risk = risk
        self.places = places

    @property
    def is_command(self) -> bool:
        """True for a call that runs a shell command line."""
        return bool(self.risk.commands) or SHELL in (self.name, self.risk.restricted_as)

    @cached_property
    def accesses(self) -> tuple[PathAccess, ...]:
        """All paths of the call that are known."""
        return accesses_of(self.risk)

    @cached_property
    def operands(self) -> tuple[PathAccess, ...]:
        """Words that may be paths, of commands whose accesses are not known."""
        return tuple(PathAccess(each, cwd=self.risk.cwd) for each in dict.fromkeys(_operands(self)))


class Coverage(Struct, frozen=True):
    """Search for the allow rules that cover a call."""

    call: Target
    """The call."""
    rules: Sequence[Rule]
    """Allow rules, in order of precedence."""
    check: RiskCheck = unchanged
    """Finds out what the remaining paths imply once rules cover the others."""
    allows_edits: bool = False
    """True if files in the workspace may be changed without a rule."""

    def find(self) -> tuple[Rule, ...]:
        """Return the rules that together cover the call; empty if they do not."""
        call, risk = self.call, self.call.risk
        exact = next((rule for rule in self._named if rule.is_exact and rule.pattern == risk.subject), None)
        if exact is not None:
            return (exact,)
        if for_job := next((rule for rule in self._named if _names_job(rule, risk)), None):
            return (for_job,)
        # Rules for reading and editing are about files.
        rules = self._named if risk.is_remote else self.rules
        general = next((rule for rule in rules if _covers_all(rule, call)), None)
        if general is not None and not risk.concern:
            return (general,)
        if call.is_command:
            return self._for_commands(general)
        if accesses := accesses_of(risk):
            return self._for_paths(accesses, general)
        named = (rule for rule in self._named if rule.pattern and not rule.is_exact and risk.subject)
        return next(((rule,) for rule in named if text_matches(rule.pattern, risk.subject)), ())

    @property
    def _named(self) -> Iterator[Rule]:
        return (rule for rule in self.rules if _names(rule, self.call))

    def _for_commands(self, general: Rule | None) -> tuple[Rule, ...]:
        risk = self.call.risk
        if not risk.commands:
            return ()
        found: list[Rule] = []
        for command in risk.commands:
            rules = (general,) if general else self._for_command(command)
            if rules is None:
                return ()
            found += rules
        if risk.concern:
            cleared = self._for_concern(accesses_of(risk))
            if not cleared:
                return ()
            found += cleared
        return tuple(dict.fromkeys(found))

    def _for_command(self, command: SimpleCommand) -> tuple[Rule, ...] | None:
        """Return the rules that cover one command, none for a command that only reads; None if they do not."""
        found: tuple[Rule, ...] = ()
        needs_rule = command.verdict != "read" and bool(command.words)
        if needs_rule or command.redirects:
            rule = next((rule for rule in self._named if _covers_command(rule, command, self.call.risk)), None)
            if rule is None and needs_rule:
                return None
            found = (rule,) if rule else ()
        for access in self._written(command):
            rule = self._for_access(access)
            if rule is None and not self.allows_edits:
                return None
            found += (rule,) if rule else ()
        return found

    def _written(self, command: SimpleCommand) -> Iterator[PathAccess]:
        """Yield the files that the redirections of a command write, in every folder it may run in."""
        for path in command.redirects:
            placed = [each for each in self.call.risk.accesses if each.kind == "write" and each.path == path]
            yield from placed or [PathAccess(path, "write", self.call.risk.cwd)]

    def _for_paths(self, accesses: Sequence[PathAccess], general: Rule | None) -> tuple[Rule, ...]:
        if general is not None:
            return self._for_concern(accesses)
        found = [self._for_access(access) for access in accesses]
        covering = tuple(dict.fromkeys(rule for rule in found if rule is not None))
        return covering if None not in found else ()

    def _for_concern(self, accesses: Sequence[PathAccess]) -> tuple[Rule, ...]:
        """Return the rules that name the paths of concern; empty if some such path has no rule."""
        found = {access: self._for_access(access) for access in accesses}
        open_accesses = tuple(access for access, rule in found.items() if rule is None)
        rest = replace(self.call.risk, paths=(), accesses=open_accesses, concern="")
        if self.check(rest).concern:
            return ()
        return tuple(dict.fromkeys(rule for rule in found.values() if rule is not None))

    def _for_access(self, access: PathAccess) -> Rule | None:
        return next((rule for rule in self.rules if self._covers_access(rule, access)), None)

    def _covers_access(self, rule: Rule, access: PathAccess) -> bool:
        if not rule.pattern or rule.is_exact or not _concerns(rule, self.call, access):
            return False
        places = _certain(access, self.call, with_hidden=True)
        return bool(places) and all(place.matches(rule.pattern) for place in places)


def affects(rule: Rule, call: Target) -> bool:
    """Return True if an ask or deny rule matches any part of a call."""
    risk = call.risk
    if _names(rule, call) or rule.tool == risk.restricted_as:
        if not rule.pattern or _names_job(rule, risk):
            return True
        if rule.is_exact:
            return rule.pattern == risk.subject
        if call.is_command:
            return _affects_commands(rule, risk)
        if risk.subject and text_matches(rule.pattern, risk.subject):
            return True
    elif rule.tool not in (READ, WRITE):
        return False
    elif not rule.pattern:
        return _covers_all(rule, call) or any(_concerns(rule, call, access) for access in call.accesses)
    return _affects_paths(rule, call)


def accesses_of(risk: Risk) -> tuple[PathAccess, ...]:
    """Return all paths of a call."""
    kind = "write" if risk.changes else "read"
    return (*(PathAccess(path, kind) for path in risk.paths), *risk.accesses)


def _names(rule: Rule, call: Target) -> bool:
    return any(
        name == rule.tool or _names_server(rule.tool, name) or ("*" in rule.tool and fnmatchcase(name, rule.tool))
        for name in call.names
    )


def _names_job(rule: Rule, risk: Risk) -> bool:
    return bool(risk.job) and rule.pattern == risk.job and not rule.is_exact


def _names_server(rule: str, tool: str) -> bool:
    """Return True if a rule such as `mcp__github` or `openapi__shop` names the server or the API of a tool."""
    if not rule.startswith(REMOTE_PREFIXES):
        return False
    prefix, _, group = rule.partition("__")
    return tool.startswith(f"{prefix}__{legal_group(group)}__")


def _covers_all(rule: Rule, call: Target) -> bool:
    """Return True if a rule without pattern covers the call."""
    if rule.pattern:
        return False
    level = call.risk.level
    return _names(rule, call) or (rule.tool, level) in ((READ, "read"), (WRITE, "edit"))


def _concerns(rule: Rule, call: Target, access: PathAccess) -> bool:
    if _names(rule, call):
        return not call.is_command
    return rule.tool == (WRITE if access.kind == "write" else READ)


def _covers_command(rule: Rule, command: SimpleCommand, risk: Risk) -> bool:
    if not rule.pattern or rule.is_exact or not _matches(rule, command.words, risk):
        return False
    if _excludes(rule, command):
        return False
    # Words known only at run time may follow those of the pattern.
    return command.is_literal or (rule.pattern.endswith(":*") and not _UNKNOWN & set("".join(command.words[:1])))


def _excludes(rule: Rule, command: SimpleCommand) -> bool:
    """Return True if a rule for the first words of a command does not cover it, because it does more than they say."""
    allowed = ("any",) if rule.is_offered else ("any", "written")
    return "*" in rule.pattern and command.coverage not in allowed


def excluding_rule(rules: Sequence[Rule], call: Target) -> Rule | None:
    """Return the first rule that describes a command by its words and still does not cover it, or None."""
    named = (rule for rule in rules if rule.pattern and not rule.is_exact and _names(rule, call))
    return next(
        (
            rule
            for rule in named
            for command in call.risk.commands
            if _excludes(rule, command) and _matches(rule, command.words, call.risk)
        ),
        None,
    )


def _affects_commands(rule: Rule, risk: Risk) -> bool:
    if not risk.commands:
        return text_mentions(rule.pattern, risk.subject)
    commands = (*risk.commands, *risk.indirect)
    return any(_matches(rule, words, risk) for each in commands for words in _readings(each))


def _matches(rule: Rule, words: Sequence[str], risk: Risk) -> bool:
    """Return True if the pattern of a rule describes a command of a call, or the operand of the call.

    Only a rule with the tool's own name, such as `git_checkout(main)`, may describe the operand.
    """
    if rule.tool != SHELL and risk.operand and fnmatchcase(risk.operand, rule.pattern):
        return True
    return command_matches(rule.pattern, words)


def _readings(command: SimpleCommand) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command, with wrappers, and what a program may run that is unknown or runs others."""
    words = command.words
    if not words:
        return
    named = (os.path.basename(words[0]), *words[1:])  # noqa: PTH119  a program name, which may contain anything
    yield words
    yield named
    for start in range(len(command.wrappers)):
        yield (*command.wrappers[start:], *named)
    if not command.is_known or _RUNNERS.fullmatch(named[0]):
        for start in range(1, len(words)):
            yield words[start:]
    yield from _without_options(named)


def _without_options(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield a command without its first options, each of which may take the next word: `git -C x push`."""
    start = 1
    while start < len(words) and (words[start].startswith("-") or (start > 1 and words[start - 1].startswith("-"))):
        start += 1
        yield (words[0], *words[start:])


def _affects_paths(rule: Rule, call: Target) -> bool:
    for access in (*(each for each in call.accesses if _concerns(rule, call, each)), *call.operands):
        if any(place.touches(rule.pattern) for place in _certain(access, call, with_hidden=True)):
            return True
        reaches_below = access.kind == "search" or access in call.risk.removals
        if reaches_below and _is_found_below(rule.pattern, access, call):
            return True
    return False


def _operands(call: Target) -> Iterator[str]:
    if not call.is_command:
        return
    if not call.risk.commands:
        yield from tokens_of(call.risk.subject)
    changing = (command for command in call.risk.commands if command.verdict != "read")
    for command in (*changing, *call.risk.indirect):
        for word in command.words[1:]:
            # `--form=f=@notes.txt` uploads a file.
            yield from (word, word.rpartition("=")[2].removeprefix("@"))


def _certain(access: PathAccess, call: Target, *, with_hidden: bool = False) -> list[Place]:
    """Return the places of an access; none if they cannot be determined."""
    try:
        return call.places.of(access, with_hidden=with_hidden)
    except Unresolvable:
        return []


def _is_found_below(pattern: str, access: PathAccess, call: Target) -> bool:
    """Return True if a literal pattern names a file that a recursive search of a folder would read."""
    name = pattern.strip("/").removesuffix("/**")
    if not name or set("*?[") & set(name):
        return False
    for place in _certain(access, call):
        start = place.root if "/" in name or pattern.startswith("/") else place.written
        target = os.path.join(start, name)  # noqa: PTH118
        if target.startswith(place.written.rstrip("/") + "/") and os.path.lexists(target):
            return True
    return False
