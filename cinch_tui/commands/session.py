"""Commands that act on the conversation and its file."""

from __future__ import annotations

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from harness.errors import CinchError

SESSION = CommandGroup("Session")


def _plan_choices(front: CommandHost) -> tuple[Choice, ...]:
    return (Choice("accept", "carry out the plan in the last reply"),) if front.is_planning else ()


@SESSION.command("/plan [accept]", "plan first: only read until a plan is accepted", arguments=_plan_choices)
async def plan(front: CommandHost, argument: str) -> None:
    if argument == "accept":
        front.accept_plan()
    elif argument:
        raise CinchError(f"/plan takes no argument but accept, not {argument}")
    else:
        front.toggle_plan()


@SESSION.command("/new", "start a new session; the old one is kept", aliases=("/clear",), while_running=False)
async def new(front: CommandHost, argument: str) -> None:
    del argument
    await front.new_session()


@SESSION.command("/resume", "go on with an earlier session", aliases=("#sessions",), while_running=False)
async def resume(front: CommandHost, argument: str) -> None:
    del argument
    await front.pick_session()


def _session_choices(front: CommandHost) -> tuple[Choice, ...]:
    return tuple(front.session_choices())


@SESSION.command("#load <id>", "open a session by its id", while_running=False, arguments=_session_choices)
async def load(front: CommandHost, argument: str) -> None:
    await front.load_session(argument)


@SESSION.command("#save", "make sure that all is on disk, and say where", while_running=False)
async def save(front: CommandHost, argument: str) -> None:
    del argument
    front.notice(await front.save_session())


@SESSION.command("#info", "what this session is")
async def info(front: CommandHost, argument: str) -> None:
    del argument
    front.show("Session", front.session_summary())


@SESSION.command("/usage", "tokens and cost, turn by turn")
async def usage(front: CommandHost, argument: str) -> None:
    del argument
    front.show("Usage", front.usage_report())


@SESSION.command("/context", "what fills the model's window, message by message")
async def context(front: CommandHost, argument: str) -> None:
    del argument
    await front.show_context()


@SESSION.command("/reset", "make the agent forget this conversation", while_running=False)
async def reset(front: CommandHost, argument: str) -> None:
    del argument
    front.reset()
    front.notice("the agent has forgotten this conversation; the session file still has it")


def _bases(front: CommandHost) -> tuple[Choice, ...]:
    del front
    return (Choice("git", "since the last commit"),)


@SESSION.command("/diff [git]", "what changed in the files, and putting it back", arguments=_bases)
async def changes(front: CommandHost, argument: str) -> None:
    if argument not in ("", "git"):
        front.notice(f"/diff takes git or nothing, not {argument!r}", "warning")
        return
    await front.show_changes("git" if argument == "git" else "session")
