"""Commands that act on the screen."""

from __future__ import annotations

from cinch_tui.commands.host import CommandHost, TranscriptPart
from cinch_tui.commands.registry import Choice, CommandGroup
from harness.lazy_dataclass import dataclass

VIEW = CommandGroup("Screen")


@dataclass(frozen=True, slots=True)
class _Copy:
    part: TranscriptPart
    description: str
    missing: str


_COPIES = {
    "": _Copy("reply", "the last reply", "there is no reply to copy yet"),
    "all": _Copy("all", "the whole conversation", "there is nothing to copy yet"),
    "code": _Copy("code", "the code of the last reply", "the last reply has no code"),
}


@VIEW.command("#help", "show keys and commands beside the conversation, or no more")
async def show_help(front: CommandHost, argument: str) -> None:
    del argument
    front.toggle_help()


@VIEW.command("/settings", "look at all settings, and change them", aliases=("/config",))
async def settings(front: CommandHost, argument: str) -> None:
    del argument
    await front.show_settings()


@VIEW.command("#clear", "empty the screen; the conversation goes on", while_running=False)
async def clear(front: CommandHost, argument: str) -> None:
    del argument
    front.clear_view()


@VIEW.command("/timestamps", "show when things were said, or hide it", aliases=("#timestamps",))
async def timestamps(front: CommandHost, argument: str) -> None:
    del argument
    front.toggle_times()


def _copy_choices(front: CommandHost) -> tuple[Choice, ...]:
    del front
    return tuple(Choice(value, each.description) for value, each in _COPIES.items() if value)


@VIEW.command(
    "#copy [all|code|n]",
    "copy the last reply, the n-th last, all, or its code",
    arguments=_copy_choices,
)
async def copy(front: CommandHost, argument: str) -> None:
    number = int(argument) if argument.isdecimal() else 1
    if (argument not in _COPIES and not argument.isdecimal()) or number < 1:
        front.notice(f"#copy takes all, code or a number from 1, not {argument!r}", "warning")
        return
    part: TranscriptPart = _COPIES[argument].part if argument in _COPIES else "reply"
    source = front.transcript_source(part, number)
    if not source:
        front.notice(_COPIES[argument].missing if argument in _COPIES else f"there is no reply {number}", "warning")
        return
    front.copy(source)


def _theme_choices(front: CommandHost) -> tuple[Choice, ...]:
    return tuple(Choice(name) for name in front.theme_names())


@VIEW.command("/theme [name]", "change the colours", aliases=("#theme",), arguments=_theme_choices)
async def theme(front: CommandHost, argument: str) -> None:
    await front.choose_theme(argument)


@VIEW.command("/editor", "write the prompt in $EDITOR")
async def editor(front: CommandHost, argument: str) -> None:
    del argument
    await front.open_editor()


@VIEW.command("/paste", "paste from the system's clipboard, pictures too")
async def paste(front: CommandHost, argument: str) -> None:
    del argument
    await front.paste()


@VIEW.command("/vim", "edit the prompt with the keys of vi, or with those of a shell again")
async def vim(front: CommandHost, argument: str) -> None:
    del argument
    await front.toggle_vim()


@VIEW.command("/quit", "leave; the session is kept", aliases=("/q", "/exit"))
async def leave(front: CommandHost, argument: str) -> None:
    del argument
    front.quit()
