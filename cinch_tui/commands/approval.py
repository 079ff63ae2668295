"""Commands that show and change what runs without asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from cinch_tui.commands.session import is_planning, toggle_plan
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.reports.formatting import APPROVAL_MEANINGS
from harness.approval.modes import ApprovalMode
from harness.errors import ConfigError
from harness.permissions import Rule

if TYPE_CHECKING:
    from cinch_tui.assembly.folder import Folder

APPROVAL = CommandGroup("Approval")

_MODES = tuple(Choice(mode, meaning) for mode, meaning in APPROVAL_MEANINGS.items())
_FOLLOWING: dict[ApprovalMode, ApprovalMode] = {"smart": "edits", "edits": "on", "on": "off", "off": "smart"}
_PLANNING = (Choice("plan", "read-only until you accept a plan"), Choice("execute", "no plan mode"))


def session_rules(host: CommandHost) -> tuple[str, ...]:
    """Return the texts of the session's permission rules."""
    return tuple(map(str, host.session.agent.state.permissions.store.session_rules))


def _approve_choices(host: CommandHost) -> tuple[Choice, ...]:
    granted = tuple(Choice(f"untrust {grant}", "ask again") for grant in session_rules(host))
    return (*_MODES, Choice("untrust", "revoke all session grants"), *granted)


@APPROVAL.command(
    "#approve [on|smart|edits|off|untrust [tool]]", "show or set the approval mode", arguments=_approve_choices
)
async def approve(host: CommandHost, argument: str) -> None:
    verb, _, grant = argument.partition(" ")
    if not verb:
        show_permissions(host, "Approval")
    elif verb == "untrust":
        revoke(host, grant.strip())
    elif not _set_approval(host, argument.lower()):
        host.notice(f"#approve takes on, smart, edits, off or untrust, not {argument!r}", "warning")


@APPROVAL.command(
    "/mode [on|smart|edits|off|plan|execute]",
    "set the approval mode; plan mode on or off",
    arguments=lambda _: (*_MODES, *_PLANNING),
)
async def mode(host: CommandHost, argument: str) -> None:
    choices = (*_MODES, *_PLANNING)
    current = (host.session.agent.state.approval, "plan" if is_planning(host) else "execute")
    if not argument:
        shown = [(each.value, f"{each.description}{', now' * (each.value in current)}") for each in choices]
        argument = await host.pick("Mode", shown, current[0]) or ""
    if argument in ("plan", "execute"):
        if (argument == "plan") is not is_planning(host):
            toggle_plan(host)
    elif argument and not _set_approval(host, argument.lower()):
        names = ", ".join(each.value for each in choices)
        host.notice(f"/mode takes {names}, not {argument!r}", "warning")


@APPROVAL.command(
    "/trust [revoke]",
    "show whether this folder is trusted; trust it, or revoke trust",
    arguments=lambda _: (Choice("revoke", "ignore the files of this folder from now on"),),
)
async def trust(host: CommandHost, argument: str) -> None:
    import asyncio

    from cinch_tui.trust.prompt import folder_state, state_question

    session = host.session
    if argument not in ("", "revoke"):
        host.notice(f"/trust takes revoke or no argument, not {argument!r}", "warning")
        return
    options = session.options
    files, state = await asyncio.to_thread(folder_state, options, session.assembly.workspace.root)
    if argument and not state.is_trusted:
        host.notice("This folder is not trusted.")
        return
    asked = await asyncio.to_thread(state_question, options, files, state)
    answer = "revoke" if argument else await host.ask_for_trust(asked)
    if answer == "later":
        return
    before = session.agent.state.approval
    await session.change_trust(asked, answer)
    host.show_permissions()
    host.notice(_trust_notice(session.assembly.folder))
    now = session.agent.state.approval
    if now != before:
        host.notice(f"Approval {now}: {APPROVAL_MEANINGS[now]}", "warning" if now == "off" else "info")


def _trust_notice(folder: Folder) -> str:
    if not folder.trust.is_trusted:
        return "This folder is not trusted. Its files are ignored from the next request on."
    if folder.ignored:
        return f"This folder is trusted, except {', '.join(map(one_line, folder.ignored))}."
    return "This folder is trusted. Its files apply from the next request on."


def next_approval(host: CommandHost) -> None:
    """Step from the default mode to edits, then to the strictest mode, and only from there to none.

    Modes that an administrator excludes are skipped.
    """
    permissions = host.session.agent.state.permissions
    mode = permissions.approval
    for _ in _FOLLOWING:
        mode = _FOLLOWING[mode]
        if permissions.allows_mode(mode):
            break
    _set_approval(host, mode)


def _set_approval(host: CommandHost, name: str) -> bool:
    """Return False if there is no mode of this name."""
    for mode, meaning in APPROVAL_MEANINGS.items():
        if mode == name:
            try:
                host.session.agent.state.approval = mode
            except ConfigError as error:
                host.notice(str(error), "warning")
                return True
            host.show_permissions()
            host.notice(f"Approval {mode}: {meaning}", "warning" if mode == "off" else "info")
            return True
    return False


def show_permissions(host: CommandHost, title: str) -> None:
    """Show the approval mode and all permission rules."""
    from cinch_tui.reports.permissions import permissions_text

    host.show(title, permissions_text(host.session.agent))


def is_session_rule(host: CommandHost, name: str) -> bool:
    """Return True if a text names a rule of the session."""
    return any(name in _names_of(rule) for rule in host.session.agent.state.permissions.store.session_rules)


def revoke(host: CommandHost, grant: str) -> None:
    """Remove the session's rules of this name; all without a name."""
    store = host.session.agent.state.permissions.store
    revoked = [rule for rule in store.session_rules if not grant or grant in _names_of(rule)]
    for rule in revoked:
        store.remove(rule)
    host.show_permissions()
    if revoked:
        host.notice(f"No longer allowed: {', '.join(map(str, revoked))}")
    else:
        host.notice(f"{grant} was not allowed" if grant else "Nothing was allowed for this session", "warning")


def _names_of(rule: Rule) -> tuple[str, ...]:
    """Return the texts that name a rule: itself, its tool, and its pattern with or without the end of a prefix."""
    return str(rule), rule.tool, rule.pattern, rule.pattern.removesuffix(":*")
