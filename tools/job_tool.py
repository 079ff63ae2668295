"""What the tools have in common that look after commands in the background."""

from __future__ import annotations

from typing import TypeVar

from pydantic import AliasChoices, Field

from harness.jobs import Job, Jobs
from harness.messages import JsonObject
from harness.ports.tool import Risk
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

    def judge(self, arguments: ArgumentsT) -> Risk:
        del arguments
        return Risk("none")


def no_such_job(job_id: str, jobs: Jobs | None) -> str:
    """Why there is nothing to look at, and what there is."""
    known = ", ".join(f"{job.id} ({job.errand.title})" for job in jobs.all) if jobs else ""
    return f"There is no job {job_id!r}. " + (f"There are: {known}." if known else "Nothing runs in the background.")


def state_of(job: Job) -> JsonObject:
    """How it stands, for programs."""
    return {"state": job.state, "exit_code": job.exit_code}
