"""Permission rules and the decisions that follow from them, as values."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from harness.risk import Risk

Effect: TypeAlias = Literal["allow", "ask", "deny"]
"""Effect of a rule or decision: the call runs, needs the user's approval, or does not run."""

Level: TypeAlias = Literal["managed", "flag", "local", "project", "user", "session"]
"""Origin of a rule, in order of precedence.

- `managed`: set by an administrator
- `flag`: from the command line, or passed by a program
- `local`: the user's rules for one project
- `project`: shipped with the project
- `user`: the user's configuration
- `session`: until the session ends
"""


LEVELS: tuple[Level, ...] = ("managed", "flag", "local", "project", "user", "session")
"""Levels in order of precedence."""

RuleKey: TypeAlias = tuple[str, str, Effect, bool]
"""Tool, pattern, effect, and whether the pattern is exact."""


class RuleSource(Struct, frozen=True):
    """Origin of a rule."""

    level: Level
    """Level of the rule."""
    place: str = ""
    """File and line, option, or approval that the rule comes from; empty if unknown."""

    def __str__(self) -> str:
        return f"{self.level}: {self.place}" if self.place else self.level


SESSION = RuleSource("session")

SHELL = "bash"
"""Tool whose rules have patterns of commands."""
READ = "read"
"""Name in rules for all tools and commands that read."""
WRITE = "edit"
"""Name in rules for all tools and commands that change files."""


class Rule(Struct, frozen=True):
    """A permission rule: calls of a tool that are allowed, asked about or denied."""

    tool: str
    """Name of the tool, with `*` as wildcard; `read` and `edit` stand for all tools that do so."""
    pattern: str = ""
    """Pattern of the covered commands, paths, URLs or names; empty for all calls."""
    effect: Effect = "allow"
    """Effect on covered calls."""
    source: RuleSource = SESSION
    """Origin of the rule."""
    is_exact: bool = False
    """True if `pattern` is the entire command line, compared verbatim."""
    is_offered: bool = False
    """True if cinch offered the rule: it covers no command with an option that does more than its first words say."""
    job: str = ""
    """Command of the background job that the pattern names, for users; empty for other rules."""

    @property
    def key(self) -> RuleKey:
        """Identity of the rule, regardless of its origin."""
        return self.tool, self.pattern, self.effect, self.is_exact

    def __str__(self) -> str:
        pattern = f"={self.pattern}" if self.is_exact else self.pattern
        return f"{self.tool}({pattern})" if pattern else self.tool


class RuleUsage(Struct, frozen=True):
    """Number of calls that a rule allowed."""

    uses: int = 0
    """Number of calls."""
    last_used: str = ""
    """Date of the last one, as YYYY-MM-DD; empty if there was none."""
    added: str = ""
    """Date the rule was added; empty if unknown."""


class Decision(Struct, frozen=True):
    """Decision on a tool call."""

    kind: Effect
    """Effect on the call."""
    why: str
    """Reason in one sentence, for users and models."""
    risk: Risk
    """Risk assessment that the decision is based on."""
    rules: tuple[Rule, ...] = ()
    """Rules that decided, together if there are several; empty if another reason did."""
    source: str = ""
    """Origin of the decision: a rule, a mode, a hook, or `built-in`."""
    offers: tuple[Rule, ...] = ()
    """Rules that an approval for the session or the project adds; empty if such a call needs approval each time."""
    exact_offer: Rule | None = None
    """Rule that covers only this call; None if no such rule may be stored."""
    server_offer: Rule | None = None
    """Rule that covers all tools of the MCP server or API; None for other tools."""
    job_offer: Rule | None = None
    """Rule that covers all input to the job until it ends, for the session only; None for other tools."""

    @property
    def session_offers(self) -> tuple[Rule, ...]:
        """Rules that an approval for the session adds."""
        return self.offers or ((self.job_offer,) if self.job_offer else ())

    @property
    def rule(self) -> Rule | None:
        """First of `rules`, or None."""
        return next(iter(self.rules), None)


def describe(rule: Rule) -> str:
    """Return the rule as text that completes "always allow …"."""
    if rule.job:
        return f"all input to {rule.pattern} ({rule.job})"
    if rule.is_exact:
        return f"exactly `{rule.pattern}` with {rule.tool}"
    if not rule.pattern:
        return "all edits" if rule.tool == WRITE else f"all {rule.tool} calls"
    return f"`{rule}`"
