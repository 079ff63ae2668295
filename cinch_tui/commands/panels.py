"""Commands that show what stands around the conversation."""

from __future__ import annotations

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup

PANELS = CommandGroup("Panels")


def _panel_choices(front: CommandHost) -> tuple[Choice, ...]:
    return tuple(Choice(name, summary) for name, summary, _ in front.panels())


@PANELS.command("/panel [name]", "show or hide a panel; without a name, choose one", arguments=_panel_choices)
async def panel(front: CommandHost, argument: str) -> None:
    name = argument or await front.pick(
        "Show or hide", [(name, f"{summary}{' · shown' if shown else ''}") for name, summary, shown in front.panels()]
    )
    if name:
        front.toggle_panel(name)


def _jobs_to_kill(front: CommandHost) -> tuple[Choice, ...]:
    return tuple(Choice(f"kill {job_id}", title) for job_id, title in front.running_jobs())


@PANELS.command("/jobs [kill id]", "commands in the background: look at one, stop one", arguments=_jobs_to_kill)
async def jobs(front: CommandHost, argument: str) -> None:
    match argument.split():
        case []:
            front.open_panel("jobs")
        case ["kill", job_id]:
            front.kill_job(job_id)
        case _:
            front.notice(f"/jobs takes kill and the id of a job, or nothing, not {argument!r}", "warning")


@PANELS.command("/agents", "sub-agents: what they did, stop one")
async def agents(front: CommandHost, argument: str) -> None:
    del argument
    front.open_panel("agents")


@PANELS.command("/changes", "the files this session changed, beside the conversation")
async def changes(front: CommandHost, argument: str) -> None:
    del argument
    front.open_panel("changes")


@PANELS.command("/logs", "what this program notes of itself")
async def logs(front: CommandHost, argument: str) -> None:
    del argument
    front.open_panel("logs")
