"""job_output and job_kill: output of background commands, and stopping them."""

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
        description="Job id from bash, for example job-1.",
        min_length=1,
        # Names used by models that were trained with other tools.
        validation_alias=AliasChoices("job_id", "id", "bash_id", "shell_id"),
    )


ArgumentsT = TypeVar("ArgumentsT", bound=JobArguments)


class JobTool(TypedTool[ArgumentsT]):
    """Needs no approval: the command was approved when it started."""

    def risk_of(self, arguments: ArgumentsT) -> Risk:
        del arguments
        return Risk("none")


def no_such_job(job_id: str, jobs: Jobs | None) -> str:
    """Return the error for an unknown job id, with the known ones."""
    known = ", ".join(f"{job.id} ({job.spec.title})" for job in jobs.all) if jobs else ""
    return f"There is no job {job_id!r}. " + (f"Known jobs: {known}." if known else "Nothing runs in the background.")


def state_of(job: Job) -> JsonObject:
    """Return the state and exit code, for programs."""
    return {"state": job.state, "exit_code": job.exit_code}


LONGEST_WAIT = 600


class JobOutputArguments(JobArguments):
    wait_s: float = Field(default=0, ge=0, le=LONGEST_WAIT, description="Seconds to wait for its end.")


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
            return ToolOutput.text(f"{job.id} had already ended: {job.status_text}.")
        await context.jobs.stop(job, "model")
        printed = job.spec.output.new_text()
        text = f"{job.id} ({job.spec.title}): {job.status_text}.\nLast output:\n{for_model(printed, '(nothing new)')}"
        view = TerminalView(job.spec.title, printed)
        return ToolOutput.text(text, view=view, details={"job_id": job.id, **state_of(job)})


if TYPE_CHECKING:
    _: type[Tool] = JobOutputTool
    _: type[Tool] = JobKillTool
