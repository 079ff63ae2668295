"""Permission rules in effect: from configuration, from the rules file of the project, and of the session.

The rules file is stored outside the project, so that a repository cannot bring its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from harness.errors import ConfigError
from harness.permissions import LEVELS, SESSION, Effect, Rule, RuleKey, RuleSource, RuleUsage
from harness.risk import Risk

_EFFECTS: tuple[Effect, ...] = ("deny", "ask", "allow")


class WrittenRule(Struct, frozen=True):
    """A rule of the configuration or the command line, as text."""

    text: str
    """Text of the rule."""
    effect: Effect
    """Effect of the rule."""
    source: RuleSource
    """Level, and the file and line or the option."""
    examples: tuple[str, ...] = ()
    """Examples; one after `!` must not match."""


class RuleStore:
    """Permission rules, changeable at any time; an agent shares them with its subagents.

    Args:
        rules_path: Rules file of the project; without one, added rules last as long as this object.
        rules: Initial rules.
        risk_of: Assesses the command lines in examples; None splits them into words.
    """

    def __init__(
        self,
        rules_path: Path | None = None,
        rules: Iterable[Rule] = (),
        *,
        risk_of: Callable[[str], Risk] | None = None,
    ) -> None:
        self.managed_only = False
        """True if only managed rules may allow calls."""
        self._path = rules_path
        self._risk_of = risk_of
        self._given = tuple(rules)
        self._configured: tuple[Rule, ...] = ()
        self._stored: tuple[Rule, ...] = ()
        self._session: tuple[Rule, ...] = ()
        self._run: tuple[Rule, ...] = ()
        self._usage: dict[RuleKey, RuleUsage] = {}
        self._unsaved: dict[RuleKey, int] = {}
        self._ordered: dict[Effect, tuple[Rule, ...]] = {}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules but those of the session, in order of precedence."""
        rules = (*self._given, *self._configured, *self._stored)
        return tuple(sorted(rules, key=lambda rule: LEVELS.index(rule.source.level)))

    @property
    def session_rules(self) -> tuple[Rule, ...]:
        """Rules that last until the session ends."""
        return self._session

    def of(self, effect: Effect) -> tuple[Rule, ...]:
        """Return the rules with an effect, in order of precedence, as far as they apply."""
        if not self._ordered:
            rules = (*self.rules, *self._session, *self._run)
            self._ordered = {each: tuple(rule for rule in rules if rule.effect == each) for each in _EFFECTS}
        rules = self._ordered[effect]
        if effect == "allow" and self.managed_only:
            return tuple(rule for rule in rules if rule.source.level == "managed")
        return rules

    def load(self, written: Iterable[WrittenRule] = (), imported: Iterable[Rule] | None = None) -> list[str]:
        """Read the rules file, and replace the rules from configuration.

        Args:
            written: Rules of the configuration and the command line.
            imported: Rules that replace the initial ones; None to keep those.

        Returns:
            Problems: rules that have no effect, with their place.

        Raises:
            ConfigError: A rule that asks or denies is not valid, or an example contradicts it.
        """
        problems: list[str] = []
        configured: list[Rule] = []
        for each in written:
            try:
                configured.append(self._parsed(each))
            except ConfigError as error:
                if each.effect != "allow":
                    raise
                problems.append(f"{error}; the rule has no effect")
        self._configured = tuple(configured)
        self._given = self._given if imported is None else tuple(imported)
        self._ordered.clear()
        if problem := self._load_file():
            problems.append(problem)
        return problems

    def add(self, rule: Rule, *, persist: bool = False) -> str:
        """Add a rule: for the session, or with `persist` for the project.

        Returns:
            The reason if the rule could not be stored, else an empty string.
        """
        self._ordered.clear()
        if not persist:
            rule = rule if rule.source.level != "local" else replace(rule, source=SESSION)
            if rule.source.level == "session":
                self._session = _added(self._session, rule)
            else:
                self._given = _added(self._given, rule)
            return ""
        today = date.today().isoformat()
        rule = replace(rule, source=RuleSource("local", f"{self._path or 'approval'}, added {today}"))
        self._stored = _added(self._stored, rule)
        self._usage.setdefault(rule.key, RuleUsage(added=today))
        return self._change(lambda rules: _added(rules, rule))

    def remove(self, rule: Rule) -> str:
        """Remove a rule of the session, of the project or of the program.

        Returns:
            The reason if the rule remains, else an empty string.
        """
        self._ordered.clear()
        configured = next((each for each in self._configured if each.key == rule.key), None)
        was_stored = any(each.key == rule.key for each in self._stored)
        self._session = _without(self._session, rule)
        self._given = _without(self._given, rule)
        self._stored = _without(self._stored, rule)
        if was_stored and (problem := self._change(lambda rules: _without(rules, rule))):
            return problem
        return f"{rule} is defined in {configured.source.place}; remove it there" if configured else ""

    def end_session(self) -> tuple[Rule, ...]:
        """Remove the rules of the session, and return them."""
        removed, self._session = self._session, ()
        self._ordered.clear()
        return removed

    def end_job(self, job_id: str) -> None:
        """Remove the session rules that allow input to a job."""
        self._session = tuple(rule for rule in self._session if not (rule.job and rule.pattern == job_id))
        self._ordered.clear()

    def add_for_run(self, rules: Iterable[Rule]) -> None:
        """Add rules until the run ends, such as those of a skill that is used in it."""
        self._run = tuple(dict.fromkeys((*self._run, *rules)))
        self._ordered.clear()

    def end_run(self) -> None:
        """Remove the rules of the run."""
        self._run = ()
        self._ordered.clear()

    def record_use(self, rule: Rule) -> None:
        """Count a call that a rule allowed. `flush` stores the counts of the project's rules."""
        before = self._usage.get(rule.key, RuleUsage())
        today = date.today().isoformat()
        self._usage[rule.key] = replace(before, uses=before.uses + 1, last_used=today)
        self._unsaved[rule.key] = self._unsaved.get(rule.key, 0) + 1

    def uses(self, rule: Rule) -> int:
        """Return the number of calls that a rule has allowed."""
        return self.usage(rule).uses

    def usage(self, rule: Rule) -> RuleUsage:
        """Return how often, and when last, a rule has allowed a call."""
        return self._usage.get(rule.key, RuleUsage())

    def flush(self) -> str:
        """Store the use counts of the project's rules. Return what went wrong, or an empty string."""
        stored = {rule.key for rule in self._stored}
        return self._change(lambda rules: rules) if stored & self._unsaved.keys() else ""

    def _load_file(self) -> str:
        """Read the rules file. Return what is wrong with it, or an empty string."""
        if self._path is None or _is_missing(self._path):
            self._stored = ()
            return ""
        from harness.approval.rules_file import read_rules

        stored = read_rules(self._path)
        self._stored, self._usage = stored.rules, dict(stored.usage)
        return stored.problem

    def _parsed(self, written: WrittenRule) -> Rule:
        # Imported late: most sessions have no rules.
        from harness.approval.rules import check_examples, parse_rule

        rule = parse_rule(written.text, written.effect, written.source)
        if wrong := "; ".join(check_examples(rule, written.examples, self._risk_of)):
            raise ConfigError(f"{written.source.place}: {wrong}")
        return rule

    def _change(self, change: Callable[[tuple[Rule, ...]], tuple[Rule, ...]]) -> str:
        if self._path is None:
            return ""
        from harness.approval.rules_file import change_rules

        unsaved, self._unsaved = self._unsaved, {}
        return change_rules(self._path, change, {key: (count, self._usage[key]) for key, count in unsaved.items()})


Grants = RuleStore
"""Former name of `RuleStore`."""


def _is_missing(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _added(rules: tuple[Rule, ...], rule: Rule) -> tuple[Rule, ...]:
    """Return the rules with another one. A rule that the user writes replaces the same one that was offered."""
    same = next((each for each in rules if each.key == rule.key), None)
    if same is None or rule.is_offered >= same.is_offered:
        return rules if same else (*rules, rule)
    return tuple(rule if each is same else each for each in rules)


def _without(rules: tuple[Rule, ...], rule: Rule) -> tuple[Rule, ...]:
    return tuple(each for each in rules if each.key != rule.key)
