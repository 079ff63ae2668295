"""The command that says what may run without a question."""

from __future__ import annotations

from cinch_tui.commands.front import ApprovalMode, Front
from cinch_tui.commands.registry import Choice, Family

APPROVAL = Family("Approval")

_MODES: dict[str, tuple[ApprovalMode, str]] = {
    "on": ("on", "ask before every call"),
    "smart": ("smart", "ask before calls that change something"),
    "off": ("off", "ask before nothing"),
}


def _approve_choices(front: Front) -> tuple[Choice, ...]:
    modes = tuple(Choice(mode, meaning) for mode, meaning in _MODES.values())
    trusted = tuple(Choice(f"untrust {tool}", "ask again") for tool in front.trusted_tools())
    return (*modes, Choice("untrust", "ask again for every tool"), *trusted)


@APPROVAL.command("#approve [on|smart|off|untrust [tool]]", "what runs without a question", arguments=_approve_choices)
async def approve(front: Front, argument: str) -> None:
    verb, _, tool = argument.partition(" ")
    if not verb:
        front.show("Approval", front.approval_summary())
    elif verb == "untrust":
        _untrust(front, tool.strip())
    elif argument.lower() in _MODES:
        _set_approval(front, argument.lower())
    else:
        front.notice(f"#approve takes on, smart, off or untrust, not {argument!r}", "warning")


_PLANNING = {
    "plan": "only read until you accept a plan",
    "execute": "work as approval allows",
}


def _mode_choices(front: Front) -> tuple[Choice, ...]:
    del front
    modes = (Choice(mode, meaning) for mode, meaning in _MODES.values())
    return (*modes, *(Choice(name, meaning) for name, meaning in _PLANNING.items()))


@APPROVAL.command("/mode [on|smart|off|plan|execute]", "how freely the agent works", arguments=_mode_choices)
async def mode(front: Front, argument: str) -> None:
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


def next_approval(front: Front) -> None:
    """From the usual one to the strictest, and only from there to none."""
    following: dict[ApprovalMode, ApprovalMode] = {"smart": "on", "on": "off", "off": "smart"}
    _set_approval(front, following[front.approval])


def _set_approval(front: Front, name: str) -> None:
    mode, meaning = _MODES[name]
    front.set_approval(mode)
    front.notice(f"approval is {mode}: {meaning}", "warning" if mode == "off" else "info")


def _untrust(front: Front, tool: str) -> None:
    dropped = front.untrust(tool or None)
    if dropped:
        front.notice(f"asked again from now on: {', '.join(dropped)}")
    else:
        front.notice(f"{tool} was not trusted" if tool else "no tool was trusted", "warning")
