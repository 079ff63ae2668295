"""Commands that show and change what runs without asking."""

from __future__ import annotations

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from cinch_tui.commands.session import is_planning, toggle_plan
from cinch_tui.reports.formatting import APPROVAL_MEANINGS
from harness.errors import ConfigError
from harness.permissions import Rule

APPROVAL = CommandGroup("Approval")

_MODES = tuple(Choice(mode, meaning) for mode, meaning in APPROVAL_MEANINGS.items())
_PLANNING = (Choice("plan", "read-only until you accept a plan"), Choice("execute", "no plan mode"))


def _grants(host: CommandHost) -> tuple[str, ...]:
    return tuple(map(str, host.session.agent.state.permissions.store.session_rules))


def _approve_choices(host: CommandHost) -> tuple[Choice, ...]:
    granted = tuple(Choice(f"untrust {grant}", "ask again") for grant in _grants(host))
    return (*_MODES, Choice("untrust", "revoke all session grants"), *granted)


@APPROVAL.command("#approve [on|smart|off|untrust [tool]]", "show or set the approval mode", arguments=_approve_choices)
async def approve(host: CommandHost, argument: str) -> None:
    verb, _, grant = argument.partition(" ")
    if not verb:
        _show_permissions(host, "Approval")
    elif verb == "untrust":
        _revoke(host, grant.strip())
    elif not _set_approval(host, argument.lower()):
        host.notice(f"#approve takes on, smart, off or untrust, not {argument!r}", "warning")


def _permission_choices(host: CommandHost) -> tuple[Choice, ...]:
    granted = tuple(Choice(f"revoke {grant}", "ask again") for grant in _grants(host))
    allow = Choice("allow bash", "allow all commands this session, except dangerous ones")
    return (Choice("revoke", "revoke all session grants"), *granted, allow)


@APPROVAL.command(
    "/permissions [allow TOOL|revoke [GRANT]]", "show and change permissions", arguments=_permission_choices
)
async def permissions(host: CommandHost, argument: str) -> None:
    verb, _, name = argument.partition(" ")
    name = name.strip()
    if not verb:
        _show_permissions(host, "Permissions")
    elif verb == "revoke":
        _revoke(host, name)
    elif verb == "allow" and name:
        _allow(host, name)
    else:
        host.notice(f"/permissions takes allow TOOL or revoke [GRANT], not {argument!r}", "warning")


@APPROVAL.command(
    "/mode [on|smart|off|plan|execute]",
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


def next_approval(host: CommandHost) -> None:
    """Step from the default mode to the strictest, and only from there to none."""
    following = {"smart": "on", "edits": "on", "on": "off", "off": "smart"}
    _set_approval(host, following[host.session.agent.state.approval])


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


def _show_permissions(host: CommandHost, title: str) -> None:
    from cinch_tui.reports.summaries import approval_summary

    host.show(title, approval_summary(host.session.agent))


def _allow(host: CommandHost, tool: str) -> None:
    state = host.session.agent.state
    if tool not in (each.name for each in state.tools):
        host.notice(f"There is no tool named {tool}", "warning")
        return
    state.permissions.store.add(Rule(tool))
    host.show_permissions()
    every = "all commands except dangerous ones" if tool == "bash" else f"all {tool} calls"
    host.notice(f"Allowed this session: {every}", "warning")


def _revoke(host: CommandHost, grant: str) -> None:
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
