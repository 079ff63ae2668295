"""Commands that act on the screen and its panels, and stop background jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost, FullScreenCommands, full_screen
from cinch_tui.commands.registry import Choice, CommandGroup
from harness.errors import CinchError
from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cinch_tui.reports.summaries import TranscriptPart

PANELS = CommandGroup("Panels")
VIEW = CommandGroup("Screen")


def _panels(host: CommandHost) -> FullScreenCommands:
    return full_screen(host, "panels need the screen; here there are /jobs and /diff")


def _panel_choices(host: CommandHost) -> tuple[Choice, ...]:
    return tuple(Choice(name, summary) for name, summary, _ in _panels(host).panels())


@PANELS.command("/panel [name]", "show or hide a panel; without a name, choose one", arguments=_panel_choices)
async def panel(host: CommandHost, argument: str) -> None:
    panels = _panels(host)
    name = argument or await host.pick(
        "Show or hide", [(name, f"{summary}{' · shown' if shown else ''}") for name, summary, shown in panels.panels()]
    )
    if name:
        panels.toggle_panel(name)


def _running_jobs(host: CommandHost) -> tuple[Choice, ...]:
    return tuple(Choice(f"kill {job.id}", job.spec.title) for job in host.session.agent.jobs.running)


@PANELS.command("/jobs [kill id]", "commands in the background: look at one, stop one", arguments=_running_jobs)
async def jobs(host: CommandHost, argument: str) -> None:
    match argument.split():
        case []:
            host.open_panel("jobs")
        case ["kill", job_id]:
            _kill(host, job_id)
        case _:
            host.notice(f"/jobs takes kill and the id of a job, or nothing, not {argument!r}", "warning")


def _kill(host: CommandHost, job_id: str) -> None:
    jobs = host.session.agent.jobs
    if not jobs.kill(job_id):
        running = ", ".join(job.id for job in jobs.running)
        raise CinchError(f"no job {job_id!r} is running; {f'these are: {running}' if running else 'none is'}")


@PANELS.command("/agents", "sub-agents: what they did, stop one")
async def agents(host: CommandHost, argument: str) -> None:
    del argument
    host.open_panel("agents")


@PANELS.command("/changes", "the files this session changed, beside the conversation")
async def changes(host: CommandHost, argument: str) -> None:
    del argument
    host.open_panel("changes")


@PANELS.command("/logs", "what this program notes of itself")
async def logs(host: CommandHost, argument: str) -> None:
    del argument
    host.open_panel("logs")


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
async def show_help(host: CommandHost, argument: str) -> None:
    del argument
    host.show_help()


@VIEW.command("/settings", "look at all settings, and change them", aliases=("/config",))
async def settings(host: CommandHost, argument: str) -> None:
    del argument
    await host.show_settings()


@VIEW.command("#clear", "clear the screen; the conversation continues", while_running=False)
async def clear(host: CommandHost, argument: str) -> None:
    del argument
    full_screen(host, "there is no screen to empty: these lines are the terminal's").clear_view()


@VIEW.command("/timestamps", "show when things were said, or hide it", aliases=("#timestamps",))
async def timestamps(host: CommandHost, argument: str) -> None:
    del argument
    reason = "what stands on these lines already cannot get a time; the times are in the session's file"
    full_screen(host, reason).toggle_timestamps()


def _copy_choices(host: CommandHost) -> tuple[Choice, ...]:
    del host
    return tuple(Choice(value, each.description) for value, each in _COPIES.items() if value)


@VIEW.command(
    "#copy [all|code|n]",
    "copy the last reply, the n-th last, all, or its code",
    arguments=_copy_choices,
)
async def copy(host: CommandHost, argument: str) -> None:
    from cinch_tui.reports import summaries

    number = int(argument) if argument.isdecimal() else 1
    if (argument not in _COPIES and not argument.isdecimal()) or number < 1:
        host.notice(f"#copy takes all, code or a number from 1, not {argument!r}", "warning")
        return
    part: TranscriptPart = _COPIES[argument].part if argument in _COPIES else "reply"
    source = summaries.source(host.session.agent.history.messages, part, number)
    if not source:
        host.notice(_COPIES[argument].missing if argument in _COPIES else f"there is no reply {number}", "warning")
        return
    host.copy(source)


def _theme_choices(host: CommandHost) -> tuple[Choice, ...]:
    return tuple(Choice(name) for name in (host.full_screen.theme_names() if host.full_screen else ()))


@VIEW.command("/theme [name]", "change the colours", aliases=("#theme",), arguments=_theme_choices)
async def theme(host: CommandHost, argument: str) -> None:
    reason = "there are no colours here: these lines are the terminal's"
    await full_screen(host, reason).choose_theme(argument)


@VIEW.command("/editor", "write the prompt in $EDITOR")
async def editor(host: CommandHost, argument: str) -> None:
    del argument
    reason = "/editor needs the screen; here a line of ``` begins and ends a text of several lines"
    await full_screen(host, reason).open_editor()


@VIEW.command("/paste", "paste from the system's clipboard, pictures too")
async def paste(host: CommandHost, argument: str) -> None:
    del argument
    await host.paste()


@VIEW.command("/vim", "edit the prompt with the keys of vi, or with those of a shell again")
async def vim(host: CommandHost, argument: str) -> None:
    del argument
    reason = "/vim needs the screen; here the line is edited as ~/.inputrc says (set editing-mode vi)"
    await full_screen(host, reason).toggle_vim()


@VIEW.command("/quit", "leave; the session is kept", aliases=("/q", "/exit"))
async def leave(host: CommandHost, argument: str) -> None:
    del argument
    host.session.leave("/quit")
