"""Permission rules that an approval may add: offered to the user with the request.

No rule is offered that covers much more than the call: the home folder, a folder with the workspace in it, or a folder
with secrets.
"""

from __future__ import annotations

import os
import shlex

from msgspec.structs import replace

from harness.approval.matching import RiskCheck, Target, accesses_of
from harness.approval.path_lists import is_secret
from harness.approval.patterns import DOMAIN, PREFIX, host_of, literal_path
from harness.approval.places import Place, Places, Unresolvable
from harness.function_tools.names import REMOTE_PREFIXES
from harness.permissions import READ, WRITE, Rule
from harness.risk import PathAccess, SimpleCommand
from harness.workspace.path_policy import is_within

MAX_EXACT_CHARS = 200
_MOST_PATHS = 4
_GROUPS = frozenset({READ, WRITE, "write"})
_HOMES = ("/home", "/Users")


def offers_for(call: Target, check: RiskCheck) -> tuple[Rule, ...]:
    """Return the rules that an approval for the session or the project adds; empty if none may be added.

    A command line is covered by the prefixes of its commands, else only as a whole, and a URL by its host. Where paths
    are a concern, the rules name exactly these paths.

    Args:
        call: The call.
        check: Finds out which of its paths are a concern.
    """
    # A rule with the name of a group would cover other tools.
    # A text does something else in another program.
    if call.name in _GROUPS or call.risk.restricted_as:
        return ()
    paths = _paths(call, check) if call.risk.concern else ()
    if call.risk.is_remote and (host := host_of(call.risk.subject)):
        return (Rule(call.name, f"{DOMAIN}{host}"),)
    if not call.is_command:
        return (paths or (Rule(call.name),)) if paths is not None else ()
    open_commands = [command for command in call.risk.commands if command.verdict != "read" or command.redirects]
    if paths is None or not call.risk.commands or not all(map(_has_prefix, open_commands)):
        exact = exact_offer_for(call)
        return (exact,) if exact else ()
    return tuple(dict.fromkeys((*(_prefix_rule(call.name, command) for command in open_commands), *paths)))


def server_offer_for(call: Target) -> Rule | None:
    """Return the rule that covers all tools of the MCP server or API of a call; None for other tools."""
    if not call.name.startswith(REMOTE_PREFIXES):
        return None
    kind, server, *tool = call.name.split("__")
    return Rule(f"{kind}__{server}") if server and tool else None


def job_offer_for(call: Target) -> Rule | None:
    """Return the rule that covers all input to the background job of a call; None for other tools."""
    return Rule(call.name, call.risk.job) if call.risk.job else None


def exact_offer_for(call: Target) -> Rule | None:
    """Return the rule that covers only this call; None if there is no such rule or it is too long to display."""
    risk = call.risk
    if risk.restricted_as:
        return None
    if call.is_command:
        text = risk.subject.strip()
        is_readable = 0 < len(text) <= MAX_EXACT_CHARS and text.isprintable() and text == risk.subject
        return Rule(call.name, text, is_exact=True) if is_readable else None
    if risk.level not in ("read", "edit") or len(risk.paths) != 1 or risk.accesses or call.name in _GROUPS:
        return None
    return _path_rule(call.name, PathAccess(risk.paths[0]), call.places)


def _has_prefix(command: SimpleCommand) -> bool:
    return bool(command.prefix) and not command.redirects


def _prefix_rule(tool: str, command: SimpleCommand) -> Rule:
    return Rule(tool, f"{shlex.join(command.prefix)}{PREFIX}", is_offered=True)


def _paths(call: Target, check: RiskCheck) -> tuple[Rule, ...] | None:
    """Return rules for the paths of concern; None if they cannot be named, or something else is a concern."""
    alone = replace(call.risk, paths=(), accesses=(), programs=(), concern="")
    accesses = [each for each in accesses_of(call.risk) if check(replace(alone, accesses=(each,))).concern]
    if not 0 < len(accesses) <= _MOST_PATHS:
        return None
    rules = [_path_rule(WRITE if each.kind == "write" else READ, each, call.places) for each in accesses]
    return tuple(rule for rule in rules if rule is not None) if None not in rules else None


def _path_rule(tool: str, access: PathAccess, places: Places) -> Rule | None:
    """Return the rule that covers one path only; None if it would cover too much, or cannot be read."""
    if access.is_pattern or len(access.path) > MAX_EXACT_CHARS or not access.path.isprintable():
        return None
    try:
        (place,) = places.of(access)
    except Unresolvable:
        return None
    rule = Rule(tool, literal_path(_shown(place)))
    return rule if _is_narrow(place) and place.matches(rule.pattern) else None


def _shown(place: Place) -> str:
    """Return the path of a place as a rule names it: relative to the workspace, to the home folder, or absolute."""
    home = os.path.expanduser("~")  # noqa: PTH111
    if is_within(place.written, place.root):
        return os.path.relpath(place.written, place.root)
    return f"~/{os.path.relpath(place.written, home)}" if is_within(place.written, home) else place.written


def _is_narrow(place: Place) -> bool:
    """Return False for a folder whose contents a rule should not cover: they are many, or secrets."""
    forms = ((place.written, place.root), (place.resolved, place.resolved_root))
    return not any(os.path.isdir(path) and _holds_more(path, root) for path, root in forms)  # noqa: PTH112


def _holds_more(folder: str, root: str) -> bool:
    home = os.path.expanduser("~")  # noqa: PTH111
    parent = os.path.dirname(folder)  # noqa: PTH120
    is_above = any(is_within(each, folder) for each in (root, home, os.path.realpath(home)))
    # A folder inside the workspace is a concern only if it holds secrets.
    return is_above or is_within(folder, root) or parent in ("/", *_HOMES) or is_secret(folder)
