"""Commands that act on the screen and its panels, and stop background jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost, FullScreenCommands, full_screen
from cinch_tui.commands.registry import Choice, CommandGroup
from harness.errors import CinchError

if TYPE_CHECKING:
    from cinch_tui.reports.summaries import TranscriptPart

PANELS = CommandGroup("Panels")
VIEW = CommandGroup("Screen")


def _panels(host: CommandHost) -> FullScreenCommands:
    return full_screen(host, "panels need the full-screen app; use /jobs or /diff")


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
    running = host.session.agent.jobs.running
    readers = [job for job in running if job.spec.input is not None]
    return (
        *(Choice(f"input {job.id}", job.spec.title) for job in readers),
        *(Choice(f"kill {job.id}", job.spec.title) for job in running),
    )


@PANELS.command("/jobs [input|kill id]", "list background jobs; type into one, or stop one", arguments=_running_jobs)
async def jobs(host: CommandHost, argument: str) -> None:
    match argument.split():
        case []:
            host.open_panel("jobs")
        case ["kill", job_id]:
            _kill(host, job_id)
        case ["input", *job_ids] if len(job_ids) < 2:
            await _type_into(host, *job_ids)
        case _:
            host.notice(f"/jobs takes input or kill with a job id, or no argument, not {argument!r}", "warning")


async def _type_into(host: CommandHost, job_id: str = "") -> None:
    """Let the user type into a program in a terminal; without an id, the one that waits for the user, or the latest."""
    readers = [job for job in host.session.agent.jobs.running if job.spec.input is not None]
    readers.sort(key=lambda job: job.spec.input is not None and job.spec.input.hides_input)
    job = next((job for job in reversed(readers) if job_id in ("", job.id)), None)
    if job is None or job.spec.input is None:
        named = ", ".join(each.id for each in readers)
        what = f"no job {job_id!r} runs in a terminal" if job_id else "no job runs in a terminal"
        raise CinchError(f"{what}; {f'these do: {named}' if named else 'the model starts one with pty'}")
    await host.type_into(job, job.spec.input)


def _kill(host: CommandHost, job_id: str) -> None:
    jobs = host.session.agent.jobs
    if not jobs.kill(job_id):
        running = ", ".join(job.id for job in jobs.running)
        raise CinchError(f"no job {job_id!r} is running; {f'these are: {running}' if running else 'none is'}")


@PANELS.command(
    "/shell [reset]",
    "show folder, variables and functions of a persistent shell; reset: start again without them",
    arguments=lambda _: (Choice("reset", "start again in the project folder, without variables and functions"),),
)
async def shell(host: CommandHost, argument: str) -> None:
    from tools.bash import shell_state_of  # rarely needed

    agent = host.session.agent
    state = shell_state_of(agent.state.tools)
    if state is None:
        raise CinchError("each command runs in a shell of its own; tools.bash.persistent keeps its state")
    if argument == "reset":
        agent.reset_tools()
        host.notice("The next command starts in the project folder, without variables and functions of earlier ones.")
    elif argument:
        raise CinchError(f"/shell takes reset, or no argument, not {argument!r}")
    else:
        host.notice(f"Commands start with: {state.description or 'the project folder, nothing of earlier ones'}.")
        if state.functions:
            host.show("Functions", "\n".join(f"{name} {text}" for name, text in sorted(state.functions.items())))


@PANELS.command(
    "/agents [list]",
    "show or stop subagents; list: the subagents defined in files",
    arguments=lambda _: (Choice("list", "subagents defined in files"),),
)
async def agents(host: CommandHost, argument: str) -> None:
    if argument not in ("", "list"):
        raise CinchError(f"/agents takes list, or no argument, not {argument!r}")
    if host.full_screen is not None and not argument:
        host.open_panel("agents")
        return
    from cinch_tui.reports.subagents import subagents_report  # rarely shown

    session = host.session
    folder = session.options.paths.config / "agents"
    host.show("Subagents in files", subagents_report(session.assembly.folder.subagents, folder))


PANELS.action("/changes", "show or hide the panel of changed files", lambda host: host.open_panel("changes"))
PANELS.action("/logs", "what this program notes of itself", lambda host: host.open_panel("logs"))


_COPIES: dict[str, tuple[TranscriptPart, str, str]] = {
    "": ("reply", "the last reply", "there is no reply to copy yet"),
    "all": ("all", "the whole conversation", "there is nothing to copy yet"),
    "code": ("code", "the code of the last reply", "the last reply has no code"),
}
"""Arguments of #copy: the part, its description, and the error if it is empty."""

VIEW.action("#help", "show or hide keys and commands next to the conversation", lambda host: host.show_help())
VIEW.action("/settings", "show and change settings", lambda host: host.show_settings(), aliases=("/config",))
VIEW.action(
    "#clear",
    "clear the screen; the conversation continues",
    lambda host: full_screen(host, "plain mode cannot clear the screen; use the terminal").clear_view(),
    while_running=False,
)
NO_TIMES = "plain mode cannot add times to printed lines; the session file contains them"
VIEW.action(
    "/timestamps",
    "show or hide the time of each message",
    lambda host: full_screen(host, NO_TIMES).toggle_timestamps(),
    aliases=("#timestamps",),
)


@VIEW.command(
    "#copy [all|code|n]",
    "copy the last reply, the n-th last, all, or its code",
    arguments=lambda _: tuple(Choice(value, description) for value, (_, description, _) in _COPIES.items() if value),
)
async def copy(host: CommandHost, argument: str) -> None:
    from cinch_tui.reports import summaries

    number = int(argument) if argument.isdecimal() else 1
    if (argument not in _COPIES and not argument.isdecimal()) or number < 1:
        host.notice(f"#copy takes all, code or a number from 1, not {argument!r}", "warning")
        return
    part, _, missing = _COPIES.get(argument, ("reply", "", f"there is no reply {number}"))
    await host.session.agent.history.load()
    source = summaries.source(host.session.agent.history.messages, part, number)
    if not source:
        host.notice(missing, "warning")
        return
    host.copy(source)


def _theme_choices(host: CommandHost) -> tuple[Choice, ...]:
    return tuple(Choice(name) for name in (host.full_screen.theme_names() if host.full_screen else ()))


@VIEW.command("/theme [name]", "change the color theme", aliases=("#theme",), arguments=_theme_choices)
async def theme(host: CommandHost, argument: str) -> None:
    reason = "plain mode uses the colors of the terminal"
    await full_screen(host, reason).choose_theme(argument)


NO_EDITOR = "/editor needs the full-screen app; in plain mode a line of ``` begins and ends a text of several lines"
NO_VIM = "/vim needs the full-screen app; in plain mode put `set editing-mode vi` into ~/.inputrc"
VIEW.action("/editor", "write the prompt in $EDITOR", lambda host: full_screen(host, NO_EDITOR).open_editor())
VIEW.action("/paste", "paste from the system clipboard, including images", lambda host: host.paste())
VIEW.action("/vim", "vi keys in the prompt on or off", lambda host: full_screen(host, NO_VIM).toggle_vim())
VIEW.action("/quit", "quit; the session is kept", lambda host: host.session.leave("/quit"), aliases=("/q", "/exit"))
