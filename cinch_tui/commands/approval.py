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
        mode, meaning = _MODES[argument.lower()]
        front.set_approval(mode)
        front.notice(f"approval is {mode}: {meaning}", "warning" if mode == "off" else "info")
    else:
        front.notice(f"#approve takes on, smart, off or untrust, not {argument!r}", "warning")


def _untrust(front: Front, tool: str) -> None:
    dropped = front.untrust(tool or None)
    if dropped:
        front.notice(f"asked again from now on: {', '.join(dropped)}")
    else:
        front.notice(f"{tool} was not trusted" if tool else "no tool was trusted", "warning")
