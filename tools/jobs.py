"""job_output and job_kill: output of background commands, and stopping them."""

from __future__ import annotations

from typing import Annotated, TypeVar

from msgspec import Meta

from harness.jobs import Job, Jobs
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.views import TerminalView
from tools.command_execution import USER_INPUT, new_output_of
from tools.output import for_model
from tools.typed import Parameters, TypedTool

LONGEST_WAIT = 600


class JobArguments(Parameters):
    job_id: Annotated[str, Meta(min_length=1, description="Job id from bash, for example job-1.")]


class JobOutputArguments(JobArguments):
    wait_s: Annotated[float, Meta(ge=0, le=LONGEST_WAIT, description="Seconds to wait for its end.")] = 0


ArgumentsT = TypeVar("ArgumentsT", bound=JobArguments)


class JobTool(TypedTool[ArgumentsT]):
    """Needs no approval by default: the command was approved when it started."""

    risk_level = "none"

    async def execute(self, arguments: ArgumentsT, context: ToolContext) -> ToolOutput:
        jobs = context.jobs
        job = jobs.find(arguments.job_id) if jobs else None
        if jobs is None or job is None:
            known = ", ".join(f"{job.id} ({job.spec.title})" for job in jobs.all) if jobs else ""
            hint = f"Known jobs: {known}." if known else "Nothing runs in the background."
            return ToolOutput.failure(f"There is no job {arguments.job_id!r}. {hint}")
        return await self.use(job, jobs, arguments, context)

    async def use(self, job: Job, jobs: Jobs, arguments: ArgumentsT, context: ToolContext) -> ToolOutput:
        raise NotImplementedError


class JobOutputTool(JobTool[JobOutputArguments]):
    name = "job_output"
    label = "Job output"
    Arguments = JobOutputArguments

    async def use(self, job: Job, jobs: Jobs, arguments: JobOutputArguments, context: ToolContext) -> ToolOutput:
        if arguments.wait_s and job.state == "running":
            wait = jobs.wait_in_background if job.spec.input is None else jobs.wait_until_settled
            await wait(job, arguments.wait_s)
        return new_output(job, context)


class JobKillTool(JobTool[JobArguments]):
    name = "job_kill"
    label = "Stop job"
    deferred = True
    mutates = True
    Arguments = JobArguments

    async def use(self, job: Job, jobs: Jobs, arguments: JobArguments, context: ToolContext) -> ToolOutput:
        if job.state != "running":
            return ToolOutput.text(f"{job.id} had already ended: {job.status_text}.")
        await jobs.stop(job, "model")
        return new_output(job, context, "Last output:\n")


def new_output(job: Job, context: ToolContext, heading: str = "") -> ToolOutput:
    """Return the state of a job and its output since the last call; its end is then not reported again."""
    if job.state != "running" and context.jobs is not None:
        context.jobs.withdraw_notice(job)
    new = new_output_of(job)
    text = f"{job.id} ({job.spec.title}): {job.status_text}.\n{heading}{for_model(new.text, '(nothing new)')}"
    if job.spec.input is not None and job.spec.input.hides_input:
        text += f"\n{context.mention(USER_INPUT)}"
    details: JsonObject = {"job_id": job.id, "state": job.state, "exit_code": job.exit_code}
    return ToolOutput.text(text, view=TerminalView(job.spec.title, new.shown, job.exit_code), details=details)
