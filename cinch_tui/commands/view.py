"""Commands that act on the screen."""

from __future__ import annotations

from cinch_tui.commands.front import Front, TranscriptPart
from cinch_tui.commands.registry import Choice, Family

VIEW = Family("Screen")

_COPIES: dict[str, tuple[TranscriptPart, str]] = {
    "": ("reply", "the last reply"),
    "all": ("all", "the whole conversation"),
    "code": ("code", "the code of the last reply"),
}


@VIEW.command("#help", "show keys and commands", aliases=("/help",))
async def show_help(front: Front, argument: str) -> None:
    del argument
    front.show_help()


@VIEW.command("#clear", "empty the screen; the conversation goes on")
async def clear(front: Front, argument: str) -> None:
    del argument
    front.clear_view()


def _copy_choices(front: Front) -> tuple[Choice, ...]:
    del front
    return tuple(Choice(value, what) for value, (_, what) in _COPIES.items() if value)


@VIEW.command("#copy [all|code]", "copy the last reply, all, or its code", arguments=_copy_choices)
async def copy(front: Front, argument: str) -> None:
    if argument not in _COPIES:
        front.notice(f"#copy takes all or code, not {argument!r}", "warning")
        return
    part, what = _COPIES[argument]
    source = front.transcript_source(part)
    if not source:
        front.notice(f"there is nothing to copy: {what} is empty", "warning")
        return
    front.copy(source)


@VIEW.command("/editor", "write the prompt in $EDITOR")
async def editor(front: Front, argument: str) -> None:
    del argument
    await front.open_editor()


@VIEW.command("/quit", "leave; the session is kept", aliases=("/q", "/exit"))
async def leave(front: Front, argument: str) -> None:
    del argument
    front.quit()
