"""job_output: what a command in the background has printed since it was asked last, and how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.views import TerminalView
from tools.job_tool import JobArguments, JobTool, no_such_job, state_of
from tools.output import for_model

LONGEST_WAIT = 600


class JobOutputArguments(JobArguments):
    wait_s: float = Field(default=0, ge=0, le=LONGEST_WAIT, description="Wait for its end, so many seconds at most.")


class JobOutputTool(JobTool[JobOutputArguments]):
    name = "job_output"
    label = "Job output"
    Arguments = JobOutputArguments

    async def execute(self, arguments: JobOutputArguments, context: ToolContext) -> ToolOutput:
        job = context.jobs.find(arguments.job_id) if context.jobs else None
        if context.jobs is None or job is None:
            return ToolOutput.failure(no_such_job(arguments.job_id, context.jobs))
        if arguments.wait_s and job.state == "running":
            await context.jobs.wait_in_background(job, arguments.wait_s)
        printed = job.errand.printed.news()
        text = f"{job.id} ({job.errand.title}): {job.fate}.\n{for_model(printed, '(nothing new)')}"
        view = TerminalView(job.errand.title, printed, job.exit_code)
        return ToolOutput.text(text, view=view, details={"job_id": job.id, **state_of(job)})


if TYPE_CHECKING:
    _: type[Tool] = JobOutputTool
