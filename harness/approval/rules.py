"""Grammar of permission rules: from text to rule and back, and the check of examples.

`tool`, `tool(pattern)`, or `bash(=command)` for exactly one command line. `bash:make test`, an earlier form, is read as
`bash(make test:*)`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from harness.approval.matching import Coverage, Target, affects
from harness.approval.patterns import DOMAIN, PREFIX, check_pattern
from harness.approval.places import Places
from harness.errors import ConfigError
from harness.function_tools.names import REMOTE_PREFIXES
from harness.permissions import SESSION, SHELL, WRITE, Effect, Rule, RuleSource
from harness.risk import Risk, SimpleCommand

LONGEST_RULE = 2_000

_RULE = re.compile(r"(?P<tool>[A-Za-z0-9_*-]+)(?:\((?P<pattern>.*)\))?", re.DOTALL)
_EARLIER = re.compile(r"(?P<tool>[A-Za-z0-9_-]+):(?P<words>[^(]+)", re.DOTALL)
_ALIASES = {"write": WRITE}
_SPACES = re.compile(r"\s+")


def parse_rule(text: str, effect: Effect = "allow", source: RuleSource = SESSION) -> Rule:
    """Return the rule that a text describes.

    Args:
        text: The rule, such as `bash(git commit:*)`.
        effect: Effect of the rule.
        source: Origin of the rule; errors name its place.

    Raises:
        ConfigError: The text is not a rule.
    """
    place = f"{source.place}: " if source.place else ""
    text = text.strip()
    if len(text) > LONGEST_RULE:
        raise ConfigError(f"{place}a rule is longer than {LONGEST_RULE:,} characters")
    if earlier := _EARLIER.fullmatch(text):
        words = _SPACES.sub(" ", earlier["words"].strip()).removesuffix(PREFIX)
        text = f"{earlier['tool']}({words}{PREFIX})"
    found = _RULE.fullmatch(text)
    if found is None:
        raise ConfigError(f"{place}{text!r} is not a permission rule; write tool or tool(pattern)")
    tool = _ALIASES.get(found["tool"], found["tool"])
    try:
        return _rule(tool, found["pattern"], Rule(tool, effect=effect, source=source))
    except ConfigError as error:
        raise ConfigError(f"{place}{text!r}: {error}") from error


def _rule(tool: str, pattern: str | None, rule: Rule) -> Rule:
    if pattern is None:
        return rule
    if not pattern.strip():
        raise ConfigError(f"the pattern is empty; write {tool} for all calls")
    if tool != SHELL:
        check_pattern(pattern.strip(), is_command=False)
        return replace(rule, pattern=pattern.strip())
    if pattern.startswith("="):
        return replace(rule, pattern=pattern[1:], is_exact=True)
    if pattern.startswith(DOMAIN):
        raise ConfigError("a command has no domain; use web_fetch(domain:…)")
    pattern = _command_pattern(pattern)
    check_pattern(pattern, is_command=True)
    return replace(rule, pattern=pattern)


def _command_pattern(pattern: str) -> str:
    """Return the canonical form of a command pattern: `git commit *` becomes `git commit:*`, `*` all commands."""
    pattern = pattern.strip()
    if pattern in ("*", PREFIX):
        return ""
    if pattern.endswith(" *") and "*" not in pattern[:-1]:
        pattern = f"{pattern[:-2].rstrip()}{PREFIX}"
    return pattern


def check_examples(rule: Rule, examples: Iterable[str], risk_of: Callable[[str], Risk] | None = None) -> Iterator[str]:
    """Yield the problems with the examples of a rule.

    Args:
        rule: The rule.
        examples: Commands, paths, URLs or names; one after `!` must not match.
        risk_of: Assesses a command line; None splits it into words, as one command.
    """
    for example in examples:
        text = example.removeprefix("!").strip()
        is_match = _is_match(rule, Target(rule.tool, _example_risk(rule, text, risk_of), Places(".")))
        if is_match and example.startswith("!"):
            yield f"{rule} matches {text!r}"
        elif not is_match and not example.startswith("!"):
            yield f"{rule} does not match {text!r}"


def _is_match(rule: Rule, target: Target) -> bool:
    return bool(Coverage(target, (rule,)).find()) if rule.effect == "allow" else affects(rule, target)


def _example_risk(rule: Rule, example: str, risk_of: Callable[[str], Risk] | None) -> Risk:
    if rule.tool == SHELL and risk_of is not None:
        risk = risk_of(example)
        # What only reads needs no rule, and would match none.
        commands = tuple(replace(each, verdict="other") for each in risk.commands)
        return replace(risk, subject=example, commands=commands)
    if rule.tool == SHELL:
        return Risk("execute", subject=example, commands=(SimpleCommand(tuple(shlex.split(example))),))
    if rule.pattern.startswith(DOMAIN) or rule.tool.startswith(("web", *REMOTE_PREFIXES, "skill", "delegate")):
        return Risk("read", subject=example)
    return Risk("edit" if rule.tool == WRITE else "read", paths=(example,))
