"""Commands that show panels, and stop background jobs."""

from __future__ import annotations

from cinch_tui.commands.host import CommandHost, FullScreenCommands, full_screen
from cinch_tui.commands.registry import Choice, CommandGroup
from harness.errors import CinchError

PANELS = CommandGroup("Panels")


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
