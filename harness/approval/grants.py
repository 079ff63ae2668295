"""Granted permissions: tools and command prefixes allowed for a session or, in a rules file, for a project.

The rules file is stored outside the project, so that a repository cannot bring its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from harness.errors import NotAFile
from harness.messages import JsonValue
from harness.risk import Risk, Rule
from harness.workspace.disk import read_small_text, write_atomically

MAX_EXACT_CHARS = 200
ALL_EDITS = "all edits"
"""Short form of the session grant for all calls that change files in the workspace."""
_LOCK_SECONDS = 5.0
_MAX_BYTES = 10 * 1024 * 1024


class StoredRules(Struct, frozen=True):
    """Content of a rules file."""

    rules: tuple[Rule, ...] = ()
    """The rules."""
    problem: str = ""
    """Reason the file cannot be used; nothing is granted then."""


def rule_for(tool: str, risk: Risk) -> Rule | None:
    """Return the rule that "always allow" stores for such a call; None if it needs approval each time.

    A program without a scope could not be analyzed, so a rule for it would cover anything.
    """
    match risk.level:
        case "read" | "edit":
            return Rule(tool, risk.scope)
        case "execute" if risk.scope:
            return Rule(tool, risk.scope)
        case _:
            return None


def exact_rule_for(tool: str, risk: Risk) -> Rule | None:
    """Return the rule that covers only this call; None if no such rule exists or it is too long to display."""
    exact = _exact(risk)
    is_readable = len(exact) <= MAX_EXACT_CHARS and exact.isprintable()
    return Rule(tool, exact=exact) if exact and is_readable else None


def session_rules_for(tool: str, risk: Risk) -> tuple[Rule, ...]:
    """Return the rules that an approval for the session adds; empty if such a call needs approval each time.

    A call that runs programs is covered by its command prefixes, else by its exact text, and as a whole tool only if it
    has neither.
    """
    match risk.level:
        case "dangerous" | "forbidden":
            return ()
        case "execute" if scopes := risk.scopes or ((risk.scope,) if risk.scope else ()):
            return tuple(Rule(tool, scope) for scope in dict.fromkeys(scopes))
        case "execute" if risk.exact_rule:
            exact = exact_rule_for(tool, risk)
            return (exact,) if exact else ()
        case _:
            return (Rule(tool, risk.scope),)


def covered(rules: Sequence[Rule], tool: str, risk: Risk) -> bool:
    """Return True if one rule covers the call, or if some rule covers each command of a compound one."""
    if any(matches(rule, tool, risk) for rule in rules):
        return True
    parts = [replace(risk, scope=scope, scopes=(), exact_rule="") for scope in risk.scopes]
    return bool(parts) and all(any(matches(rule, tool, part) for rule in rules) for part in parts)


def matches(rule: Rule, tool: str, risk: Risk) -> bool:
    """Return True if a rule covers a call. Prefixes match whole words: `git status` covers no `git statusx`."""
    if rule.exact:
        return rule == exact_rule_for(tool, risk)
    wanted = rule_for(tool, risk)
    if wanted is None or rule.tool != tool:
        return False
    if not rule.scope:
        return risk.level != "execute"
    words = rule.scope.split()
    return wanted.scope.split()[: len(words)] == words


def _exact(risk: Risk) -> str:
    match risk.level:
        case "execute":
            return risk.exact_rule
        case "read" | "edit" if not risk.scope and len(risk.paths) == 1:
            return risk.exact_rule or risk.paths[0]
        case _:
            return ""


def describe(rule: Rule) -> str:
    """Return the rule as text that completes "always allow …"."""
    if rule.exact:
        return f"exactly `{rule.exact}` with {rule.tool}"
    return f"`{rule.scope} …`" if rule.scope else f"all {rule.tool} calls"


def notation(rule: Rule) -> str:
    """Return the short form of a rule: `bash(git push …)`, `bash(make 2>&1)` for an exact one, or `edit_file`."""
    if rule.exact:
        return f"{rule.tool}({rule.exact})"
    return f"{rule.tool}({rule.scope} …)" if rule.scope else rule.tool


class Grants:
    """Permissions granted by the user.

    Args:
        rules_path: Rules file of the project; without one, rules last as long as this object.
        rules: Initial rules.
    """

    def __init__(self, rules_path: Path | None = None, rules: Iterable[Rule] = ()) -> None:
        self._rules_path = rules_path
        self._rules = tuple(rules)
        self._trusted: set[str] = set()
        self._session_rules: tuple[Rule, ...] = ()
        self._edits_allowed = False

    @property
    def session_grants(self) -> tuple[str, ...]:
        """Short forms of everything allowed until the session ends: tools, edits and rules."""
        edits = (ALL_EDITS,) if self._edits_allowed else ()
        return (*sorted(self._trusted), *edits, *(notation(rule) for rule in self._session_rules))

    @property
    def trusted(self) -> frozenset[str]:
        return frozenset(self._trusted)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._rules

    def load(self) -> str:
        """Read the rules file. Return what is wrong with it, or an empty string."""
        if self._rules_path is None:
            return ""
        stored = load_rules(self._rules_path)
        self._rules = _merged(self._rules, stored.rules)
        return stored.problem

    def covers(self, tool: str, risk: Risk) -> bool:
        """Return True if the call needs no approval. Always False for dangerous and forbidden calls."""
        if risk.level in ("dangerous", "forbidden"):
            return False
        if tool in self._trusted or (self._edits_allowed and risk.level == "edit"):
            return True
        return covered((*self._rules, *self._session_rules), tool, risk)

    def trust(self, tool: str) -> None:
        """Allow all calls of a tool until the session ends, except dangerous ones."""
        self._trusted.add(tool)

    def allow_for_session(self, rule: Rule) -> None:
        """Allow what a rule covers until the session ends: the whole tool if it has neither scope nor exact text."""
        if rule.scope or rule.exact:
            self._session_rules = _merged(self._session_rules, (rule,))
        else:
            self.trust(rule.tool)

    def allow_edits(self) -> None:
        """Allow calls of any tool that change files in the workspace, until the session ends."""
        self._edits_allowed = True

    def untrust(self, tool: str | None = None) -> None:
        """Revoke the session grants of one tool, or all. Rules of the project remain."""
        self.revoke(tool)

    def revoke(self, grant: str | None = None) -> tuple[str, ...]:
        """Revoke session grants: one by its short form or prefix, those of a tool by its name, or all.

        Returns:
            The short forms of the revoked grants.
        """
        before = self.session_grants

        def remains(rule: Rule) -> bool:
            return grant is not None and grant not in (rule.tool, notation(rule), rule.scope, rule.exact)

        self._trusted = {tool for tool in self._trusted if grant not in (None, tool)}
        self._edits_allowed = self._edits_allowed and grant not in (None, ALL_EDITS)
        self._session_rules = tuple(rule for rule in self._session_rules if remains(rule))
        return tuple(each for each in before if each not in self.session_grants)

    def remember(self, rule: Rule) -> str:
        """Add a rule and store it. Return the reason if it could not be stored, else an empty string."""
        self._rules = _merged(self._rules, (rule,))
        return self._store(lambda rules: _merged(rules, (rule,)))

    def forget(self, tool: str | None = None) -> str:
        """Remove the rules of one tool, or all, here and on disk. Return what went wrong, or an empty string."""

        def kept(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
            return tuple(rule for rule in rules if tool is not None and rule.tool != tool)

        self._rules = kept(self._rules)
        return self._store(kept)

    def _store(self, change: Callable[[tuple[Rule, ...]], tuple[Rule, ...]]) -> str:
        return change_rules(self._rules_path, change).problem if self._rules_path else ""


def load_rules(path: Path) -> StoredRules:
    """Return the rules of a file; none if it does not exist. An invalid file grants nothing."""
    try:
        data: JsonValue = json.loads(read_small_text(path, _MAX_BYTES))
    except FileNotFoundError:
        return StoredRules()
    except (OSError, NotAFile, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        return StoredRules(problem=f"{path}: cannot be read, so nothing in it is allowed: {why}")
    rules = _decode(data)
    if rules is None:
        return StoredRules(problem=f"{path}: not a list of rules, so nothing in it is allowed; repair or delete it")
    return StoredRules(rules)


def change_rules(path: Path, change: Callable[[tuple[Rule, ...]], tuple[Rule, ...]]) -> StoredRules:
    """Change a rules file atomically, also against other processes. An invalid file is left unchanged."""
    # Imported late: only storing a rule needs it.
    import filelock

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with filelock.FileLock(path.with_name(path.name + ".lock"), timeout=_LOCK_SECONDS):
            stored = load_rules(path)
            if not stored.problem:
                stored = StoredRules(change(stored.rules))
                _write(path, stored.rules)
            return stored
    except (OSError, filelock.Timeout) as error:
        return StoredRules(problem=f"{path}: the rule could not be stored: {getattr(error, 'strerror', None) or error}")


def _write(path: Path, rules: tuple[Rule, ...]) -> None:
    # Older programs would read an exact rule as one for the whole tool; the higher version makes them ignore the file.
    version = 2 if any(rule.exact for rule in rules) else 1
    exact = [{"exact": rule.exact} if rule.exact else {} for rule in rules]
    encoded = [{"tool": rule.tool, "scope": rule.scope, **each} for rule, each in zip(rules, exact, strict=True)]
    data = {"version": version, "rules": encoded}
    write_atomically(path, f"{json.dumps(data, indent=2)}\n".encode())


def _decode(data: JsonValue) -> tuple[Rule, ...] | None:
    """Return the rules in JSON data; None if any part is invalid."""
    match data:
        case {"version": 1 | 2, "rules": list() as entries}:
            rules = tuple(_decode_rule(entry) for entry in entries)
            known = tuple(rule for rule in rules if rule is not None)
            return known if len(known) == len(rules) else None
        case _:
            return None


def _decode_rule(entry: JsonValue) -> Rule | None:
    match entry:
        case {"tool": str() as tool, "scope": "", "exact": str() as exact} if tool and exact:
            return Rule(tool, exact=exact)
        case {"tool": str() as tool, "scope": str() as scope} if tool and "exact" not in entry:
            return Rule(tool, scope)
        case _:
            return None


def _merged(rules: tuple[Rule, ...], added: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return (*rules, *(rule for rule in added if rule not in rules))
