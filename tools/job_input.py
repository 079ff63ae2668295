"""job_input: types into an interactive program, which runs in a terminal as a background job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from harness.jobs import Job, Jobs
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import TextView, View
from tools.command_execution import USER_INPUT, title_of
from tools.jobs import JobArguments, JobTool, new_output
from tools.shell.analysis import analyze
from tools.terminal_keys import NAMED, characters_of

LONGEST_TEXT = 4_000
"""Longest text in characters: a terminal accepts lines of 4,096 bytes."""


class JobInputArguments(JobArguments):
    text: Annotated[str, Meta(max_length=LONGEST_TEXT, description="Text to type.")] = ""
    keys: Annotated[
        tuple[str, ...],
        Meta(
            max_length=50,
            description="Keys to press after the text: enter, tab, escape, backspace, delete, up, down, left, right, "
            "home, end, pageup, pagedown, f1, shift-tab, ctrl-c, alt-x and the like.",
        ),
    ] = ("enter",)
    wait_s: Annotated[
        float, Meta(ge=0, le=120, description="Longest wait for output in seconds; it ends once the program is quiet.")
    ] = 5


class JobInputTool(JobTool[JobInputArguments]):
    """A program may do anything with its input, so each call needs the approval of a command."""

    name = "job_input"
    label = "Type into job"
    deferred = True
    mutates = True
    risk_level = None
    Arguments = JobInputArguments

    def summary(self, arguments: JsonObject) -> str:
        text, keys = arguments.get("text"), arguments.get("keys")
        typed = title_of(text) if isinstance(text, str) else ""
        pressed = " ".join(f"<{key}>" for key in keys) if isinstance(keys, list) and keys != ["enter"] else ""
        return " ".join(filter(None, (f"{arguments.get('job_id', '')}:", typed, pressed)))

    def risk_of(self, arguments: JobInputArguments) -> Risk:
        # The program may be a shell.
        risk = analyze(arguments.text).risk
        is_worse = risk.level in ("dangerous", "forbidden")
        reason = "the program in the terminal may do anything with its input"
        return Risk(
            risk.level if is_worse else "execute",
            risk.reason if is_worse else reason,
            commands=risk.commands,
            indirect=risk.indirect,
            subject=arguments.text.strip(),
            job=arguments.job_id,
            restricted_as="bash",
        )

    async def preview_of(self, arguments: JobInputArguments, context: ToolContext) -> View | ToolOutput | None:
        job = context.jobs.find(arguments.job_id) if context.jobs else None
        title = f"{arguments.job_id} ({job.spec.title})" if job else arguments.job_id
        pressed = " ".join(f"<{key}>" for key in arguments.keys)
        # Not a terminal view, which users may rewrite: the text does not say which keys are pressed.
        return TextView(f"# typed into {title}\n{arguments.text}{pressed}", language="bash")

    async def use(self, job: Job, jobs: Jobs, arguments: JobInputArguments, context: ToolContext) -> ToolOutput:
        terminal = job.spec.input
        if problem := _unknown_keys(arguments.keys):
            return ToolOutput.failure(problem)
        if job.state != "running":
            return ToolOutput.failure(f"{job.id} has ended, so nothing was typed: {job.status_text}.")
        if terminal is None:
            return ToolOutput.failure(f"{job.id} has no terminal: only a command started with pty reads input.")
        if terminal.hides_input:
            return ToolOutput.failure(f"Nothing was typed into {job.id}.\n{context.mention(USER_INPUT)}")
        application = terminal.uses_application_keys
        pressed = (characters_of(key, application=application) or "" for key in arguments.keys)
        typed = "".join((arguments.text.replace("\n", "\r"), *pressed)).encode()
        accepted = terminal.type(typed)
        await jobs.wait_until_settled(job, arguments.wait_s)
        if accepted < len(typed):
            note = f"The program does not read its input: only {accepted} of {len(typed)} bytes were typed.\n"
            return new_output(job, context, note)
        return new_output(job, context)


def _unknown_keys(keys: Sequence[str]) -> str:
    unknown = [key for key in keys if characters_of(key) is None]
    if not unknown:
        return ""
    return (
        f"There are no keys {', '.join(unknown)}, so nothing was typed. Keys: {', '.join(NAMED)}, ctrl-LETTER, alt-KEY."
    )
