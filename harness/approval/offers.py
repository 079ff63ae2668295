"""Permission rules that an approval may add: offered to the user with the request."""

from __future__ import annotations

import shlex

from harness.approval.matching import Target, accesses_of
from harness.approval.patterns import PREFIX
from harness.approval.rules import exact_path_rule
from harness.permissions import READ, WRITE, Rule
from harness.risk import SimpleCommand

MAX_EXACT_CHARS = 200
_MOST_PATHS = 4
_GROUPS = frozenset({READ, WRITE, "write"})


def offers_for(call: Target) -> tuple[Rule, ...]:
    """Return the rules that an approval for the session or the project adds; empty if none may be added.

    A command line is covered by the prefixes of its commands, else only as a whole. Where paths are a concern, the
    rules name exactly these paths.
    """
    # A rule with the name of a group would cover other tools.
    if call.name in _GROUPS:
        return ()
    paths = _paths(call) if call.risk.concern else ()
    if paths is None:
        return ()
    if not call.is_command:
        return paths or (Rule(call.name),)
    open_commands = [command for command in call.risk.commands if command.verdict != "read" or command.redirects]
    if not call.risk.commands or not all(map(_has_prefix, open_commands)):
        exact = exact_offer_for(call)
        return (exact,) if exact else ()
    return tuple(dict.fromkeys((*(_prefix_rule(call.name, command) for command in open_commands), *paths)))


def exact_offer_for(call: Target) -> Rule | None:
    """Return the rule that covers only this call; None if there is no such rule or it is too long to display."""
    risk = call.risk
    if call.is_command:
        text = risk.subject.strip()
        is_readable = 0 < len(text) <= MAX_EXACT_CHARS and text.isprintable() and text == risk.subject
        return Rule(call.name, text, is_exact=True) if is_readable else None
    if risk.level not in ("read", "edit") or len(risk.paths) != 1 or risk.accesses:
        return None
    path = risk.paths[0]
    is_readable = len(path) <= MAX_EXACT_CHARS and path.isprintable()
    return exact_path_rule(call.name, path) if is_readable and call.name not in _GROUPS else None


def _has_prefix(command: SimpleCommand) -> bool:
    return bool(command.prefix) and not command.redirects


def _prefix_rule(tool: str, command: SimpleCommand) -> Rule:
    return Rule(tool, f"{shlex.join(command.prefix)}{PREFIX}")


def _paths(call: Target) -> tuple[Rule, ...] | None:
    """Return rules for the paths of a call; None if they cannot be named."""
    accesses = accesses_of(call.risk)
    if not 0 < len(accesses) <= _MOST_PATHS or any(each.is_pattern or each.cwd for each in accesses):
        return None
    return tuple(exact_path_rule(WRITE if each.kind == "write" else READ, each.path) for each in accesses)
