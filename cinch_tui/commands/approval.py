"""Commands that show and change what may run without asking."""

from __future__ import annotations

from cinch_tui.commands.host import ApprovalMode, CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup

APPROVAL = CommandGroup("Approval")

_MODES: dict[str, tuple[ApprovalMode, str]] = {
    "on": ("on", "every call is asked"),
    "smart": ("smart", "calls that change files or run programs are asked"),
    "off": ("off", "nothing is asked"),
}


def _approve_choices(front: CommandHost) -> tuple[Choice, ...]:
    modes = tuple(Choice(mode, meaning) for mode, meaning in _MODES.values())
    granted = tuple(Choice(f"untrust {grant}", "ask again") for grant in front.session_grants())
    return (*modes, Choice("untrust", "revoke all session grants"), *granted)


@APPROVAL.command("#approve [on|smart|off|untrust [tool]]", "what runs without asking", arguments=_approve_choices)
async def approve(front: CommandHost, argument: str) -> None:
    verb, _, grant = argument.partition(" ")
    if not verb:
        front.show("Approval", front.approval_summary())
    elif verb == "untrust":
        _revoke(front, grant.strip())
    elif argument.lower() in _MODES:
        _set_approval(front, argument.lower())
    else:
        front.notice(f"#approve takes on, smart, off or untrust, not {argument!r}", "warning")


def _permission_choices(front: CommandHost) -> tuple[Choice, ...]:
    granted = tuple(Choice(f"revoke {grant}", "ask again") for grant in front.session_grants())
    allow = Choice("allow bash", "allow all commands this session, except dangerous ones")
    return (Choice("revoke", "revoke all session grants"), *granted, allow)


@APPROVAL.command(
    "/permissions [allow TOOL|revoke [GRANT]]", "show and change what is allowed", arguments=_permission_choices
)
async def permissions(front: CommandHost, argument: str) -> None:
    verb, _, name = argument.partition(" ")
    name = name.strip()
    if not verb:
        front.show("Permissions", front.approval_summary())
    elif verb == "revoke":
        _revoke(front, name)
    elif verb == "allow" and name:
        _allow(front, name)
    else:
        front.notice(f"/permissions takes allow TOOL or revoke [GRANT], not {argument!r}", "warning")


_PLANNING = {
    "plan": "only read until you accept a plan",
    "execute": "work as approval allows",
}


def _mode_choices(front: CommandHost) -> tuple[Choice, ...]:
    del front
    modes = (Choice(mode, meaning) for mode, meaning in _MODES.values())
    return (*modes, *(Choice(name, meaning) for name, meaning in _PLANNING.items()))


@APPROVAL.command("/mode [on|smart|off|plan|execute]", "how freely the agent works", arguments=_mode_choices)
async def mode(front: CommandHost, argument: str) -> None:
    now = (front.approval, "plan" if front.is_planning else "execute")
    if not argument:
        choices = [(each.value, f"{each.description}{', now' * (each.value in now)}") for each in _mode_choices(front)]
        argument = await front.pick("How freely does the agent work?", choices, now[0]) or ""
    if argument in _PLANNING:
        if (argument == "plan") is not front.is_planning:
            front.toggle_plan()
    elif argument.lower() in _MODES:
        _set_approval(front, argument.lower())
    elif argument:
        front.notice(f"/mode takes {', '.join((*_MODES, *_PLANNING))}, not {argument!r}", "warning")


def next_approval(front: CommandHost) -> None:
    """From the usual one to the strictest, and only from there to none."""
    following: dict[ApprovalMode, ApprovalMode] = {"smart": "on", "on": "off", "off": "smart"}
    _set_approval(front, following[front.approval])


def _set_approval(front: CommandHost, name: str) -> None:
    mode, meaning = _MODES[name]
    front.set_approval(mode)
    front.notice(f"Approval {mode}: {meaning}", "warning" if mode == "off" else "info")


def _allow(front: CommandHost, tool: str) -> None:
    if front.grant(tool):
        every = "all commands except dangerous ones" if tool == "bash" else f"all {tool} calls"
        front.notice(f"Allowed this session: {every}", "warning")
    else:
        front.notice(f"There is no tool named {tool}", "warning")


def _revoke(front: CommandHost, grant: str) -> None:
    revoked = front.revoke(grant or None)
    if revoked:
        front.notice(f"No longer allowed: {', '.join(revoked)}")
    else:
        front.notice(f"{grant} was not allowed" if grant else "Nothing was allowed for this session", "warning")
