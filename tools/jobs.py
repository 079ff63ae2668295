"""What the tools have in common that look after commands in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import AliasChoices, Field

from harness.jobs import Job, Jobs
from harness.messages import JsonObject
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import TerminalView
from tools.output import for_model
from tools.typed import Parameters, TypedTool


class JobArguments(Parameters):
    job_id: str = Field(
        description="As bash gave it, for example job-1.",
        min_length=1,
        # What models call it that were trained with other tools.
        validation_alias=AliasChoices("job_id", "id", "bash_id", "shell_id"),
    )


ArgumentsT = TypeVar("ArgumentsT", bound=JobArguments)


class JobTool(TypedTool[ArgumentsT]):
    """Needs no leave: that was given when the command began."""

    def risk_of(self, arguments: ArgumentsT) -> Risk:
        del arguments
        return Risk("none")


def no_such_job(job_id: str, jobs: Jobs | None) -> str:
    """Why there is nothing to look at, and what there is."""
    known = ", ".join(f"{job.id} ({job.spec.title})" for job in jobs.all) if jobs else ""
    return f"There is no job {job_id!r}. " + (f"There are: {known}." if known else "Nothing runs in the background.")


def state_of(job: Job) -> JsonObject:
    """How it stands, for programs."""
    return {"state": job.state, "exit_code": job.exit_code}


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
        printed = job.spec.output.new_text()
        text = f"{job.id} ({job.spec.title}): {job.status_text}.\n{for_model(printed, '(nothing new)')}"
        view = TerminalView(job.spec.title, printed, job.exit_code)
        return ToolOutput.text(text, view=view, details={"job_id": job.id, **state_of(job)})


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
            return ToolOutput.text(f"{job.id} was over already: {job.status_text}.")
        await context.jobs.stop(job, "model")
        printed = job.spec.output.new_text()
        latest = for_model(printed, "(nothing new)")
        text = f"{job.id} ({job.spec.title}): {job.status_text}.\nWhat it printed last:\n{latest}"
        view = TerminalView(job.spec.title, printed)
        return ToolOutput.text(text, view=view, details={"job_id": job.id, **state_of(job)})


if TYPE_CHECKING:
    _: type[Tool] = JobOutputTool
    _: type[Tool] = JobKillTool
