"""job_kill: stops a command in the background, with all that it started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.views import TerminalView
from tools.job_tool import JobArguments, JobTool, no_such_job, state_of
from tools.output import for_model


class JobKillTool(JobTool[JobArguments]):
    name = "job_kill"
    label = "Stop job"
    mutates = True
    Arguments = JobArguments

    async def execute(self, arguments: JobArguments, context: ToolContext) -> ToolOutput:
        job = context.jobs.find(arguments.job_id) if context.jobs else None
        if context.jobs is None or job is None:
            return ToolOutput.failure(no_such_job(arguments.job_id, context.jobs))
        if job.state != "running":
            return ToolOutput.text(f"{job.id} was over already: {job.fate}.")
        await context.jobs.stop(job, "model")
        printed = job.errand.printed.news()
        text = (
            f"{job.id} ({job.errand.title}): {job.fate}.\nWhat it printed last:\n{for_model(printed, '(nothing new)')}"
        )
        view = TerminalView(job.errand.title, printed)
        return ToolOutput.text(text, view=view, details={"job_id": job.id, **state_of(job)})


if TYPE_CHECKING:
    _: type[Tool] = JobKillTool
