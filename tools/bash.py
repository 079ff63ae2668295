"""bash: runs a shell command in the workspace and streams what it prints."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, AliasChoices, Field

from harness.execution.spill import spill_name
from harness.jobs import BACKGROUND_HINT, MAX_RUNNING, Job, Jobs, JobSpec
from harness.messages import JsonObject, new_id
from harness.ports.tool import Revisable, Tool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import TerminalView, View
from tools.git_environment import git_environment
from tools.model_keys import without_model_keys
from tools.output import LARGEST_FILE, CapturedOutput, for_model
from tools.process import Command, Ended, quiet_environment, run_command
from tools.shell_git import folders_of_git, use_of_git
from tools.shell_risk import assess, only_reads
from tools.typed import Parameters, TypedTool

LIMIT = 30_000
LONGEST_SECONDS = 600.0
_SHOWN_LIVE = 8_000
_UPDATE_SECONDS = 0.1
_TITLE_CHARS = 80
_AT_ONCE_SECONDS = 0.2
_ENDING = (signal.SIGINT, signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGTERM)
_KILLED = {128 + number: number.name for number in _ENDING}
"""What fails to start does so within a moment: then its end is worth more than its job id."""

NOT_HERE = "Nothing can go on after its call here. Run it without background."
NO_MORE = f"{MAX_RUNNING} jobs run in the background already: stop one with job_kill."
FLOOD = (
    f"has printed more than {LARGEST_FILE // 1_000_000} MB and goes on: "
    "from here on it is slowed down, and only its beginning and its end are kept."
)
MOVED = "The user moved it to the background, where it goes on"


def _seconds(value: float) -> float:
    """Some models count in milliseconds; nobody means to wait longer than ten minutes."""
    return min(value / 1000, LONGEST_SECONDS) if value > LONGEST_SECONDS else value


class BashArguments(Parameters):
    command: str = Field(
        description="The command, as bash reads it.",
        min_length=1,
        validation_alias=AliasChoices("command", "cmd"),
    )
    timeout_s: Annotated[float, AfterValidator(_seconds)] = Field(
        default=120,
        gt=0,
        description="Seconds until it is stopped with all it started; at most 600.",
        validation_alias=AliasChoices("timeout_s", "timeout"),
    )
    background: bool = Field(
        default=False,
        description="Come back at once with a job id while it goes on, with no limit of time.",
        validation_alias=AliasChoices("background", "run_in_background"),
    )
    description: str | None = Field(default=None, description="What it is for, in five to ten words.")


class BashTool(TypedTool[BashArguments]):
    """`secrets` names environment variables that a command must not see, beside the keys of known model services."""

    name = "bash"
    label = "Run command"
    mutates = True
    Arguments = BashArguments

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(secrets)

    def summary(self, arguments: JsonObject) -> str:
        command = arguments.get("command") or arguments.get("cmd")
        title = _title(command) if isinstance(command, str) else ""
        apart = arguments.get("background") is True or arguments.get("run_in_background") is True
        return f"{title}  (in the background)" if apart and title else title

    def risk_of(self, arguments: BashArguments) -> Risk:
        risk = assess(arguments.command)
        if risk.level == "execute" and only_reads(arguments.command):
            risk = replace(risk, access="read")
        if not arguments.background:
            return risk
        return replace(risk, reason=", ".join(filter(None, (risk.reason, "goes on in the background"))))

    async def preview_of(self, arguments: BashArguments, context: ToolContext) -> View | ToolOutput | None:
        del context
        return TerminalView(arguments.command, "")

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        return {**arguments, "command": text} if isinstance(view, TerminalView) else None

    async def execute(self, arguments: BashArguments, context: ToolContext) -> ToolOutput:
        if arguments.background and (context.jobs is None or len(context.jobs.running) >= MAX_RUNNING):
            return ToolOutput.failure(NO_MORE if context.jobs else NOT_HERE)
        execution = _Execution(await self._command(arguments, context), context)
        context.on_interrupt(execution.so_far)
        try:
            return await (execution.in_background() if arguments.background else execution.within(arguments.timeout_s))
        except (OSError, ValueError) as error:
            return ToolOutput.failure(f"The command could not be started: {_reason(error, context.workspace.root)}")
        finally:
            execution.live.stop()

    async def _command(self, arguments: BashArguments, context: ToolContext) -> Command:
        environment = quiet_environment(without_model_keys(os.environ, self._secrets))
        folder, use = context.workspace.root, use_of_git(arguments.command)
        folders = folders_of_git(arguments.command, folder)
        # To look for drivers may start git itself.
        environment = await asyncio.to_thread(git_environment, environment, folders, use)
        return Command(arguments.command, folder, environment, is_users=context.by_user)


class _Execution:
    """A command that its call waits for, as long as it is not in the background."""

    def __init__(self, command: Command, context: ToolContext) -> None:
        self._command = command
        self._jobs = context.jobs or Jobs()
        self._call_id = context.call_id
        # Some models call every first call of a reply the same: a job must not have its file taken by a later one.
        spill = spill_name("bash", f"{context.call_id[:60]}-{new_id()[:8]}")
        self._captured = CapturedOutput(context.output_limit(LIMIT), context.spill_dir / spill)
        self._ended: Ended | None = None
        self._job: Job | None = None
        self._is_warned = False
        self.live = _Live(lambda: context.update(_view(command, self._captured, self._captured.latest(_SHOWN_LIVE))))

    def so_far(self) -> ToolOutput:
        """The output until now, for a call that is interrupted."""
        output = self._captured.full_text()
        return ToolOutput.text(for_model(output, ""), view=_view(self._command, self._captured, output))

    async def within(self, seconds: float) -> ToolOutput:
        job = self._begin()
        match await self._jobs.wait(job, seconds):
            case "over":
                return self._report(job)
            case "moved":
                return self._moved(job, MOVED)
            case "late":
                await self._jobs.stop(job)
                return _too_late(self._command, self._captured, seconds)

    async def in_background(self) -> ToolOutput:
        job = self._begin()
        if await self._jobs.wait(job, _AT_ONCE_SECONDS) == "over":
            return self._report(job)
        self._jobs.to_background(job)
        return self._moved(job, "It runs in the background")

    def _begin(self) -> Job:
        title = _title(self._command.text)
        short = title if len(title) <= _TITLE_CHARS else f"{title[:_TITLE_CHARS]}…"
        self._job = self._jobs.start(JobSpec(self._call_id, short, self._captured, self._work))
        return self._job

    async def _work(self) -> int:
        try:
            self._ended = await run_command(self._command, self._take)
        finally:
            self._captured.close()
        return self._ended.exit_code

    def _take(self, data: bytes) -> None:
        self._captured.feed(data)
        self.live.changed()
        if self._captured.is_flood and not self._is_warned and self._job is not None and self._job.id:
            self._is_warned = True
            self._jobs.warn(self._job, FLOOD)

    def _report(self, job: Job) -> ToolOutput:
        job.task.result()
        assert self._ended is not None
        return _report(self._command, self._captured, self._ended)

    def _moved(self, job: Job, how: str) -> ToolOutput:
        printed = self._captured.new_text()
        text = f"{how} as {job.id}. {BACKGROUND_HINT}\nWhat it has printed so far:\n{for_model(printed, '(nothing)')}"
        view = _view(self._command, self._captured, printed)
        return ToolOutput.text(text, view=view, details={"job_id": job.id})


class _Live:
    """Calls `show` after a change, at most ten times a second, and after the last one too."""

    def __init__(self, show: Callable[[], None]) -> None:
        self._show = show
        self._shown_at = 0.0
        self._planned: asyncio.TimerHandle | None = None
        self._is_watched = True

    def changed(self) -> None:
        if self._planned is not None or not self._is_watched:
            return
        wait = self._shown_at + _UPDATE_SECONDS - time.monotonic()
        if wait <= 0:
            self._now()
        else:
            self._planned = asyncio.get_running_loop().call_later(wait, self._now)

    def stop(self) -> None:
        self._is_watched = False
        if self._planned is not None:
            self._planned.cancel()

    def _now(self) -> None:
        self._planned = None
        self._shown_at = time.monotonic()
        self._show()


def _title(command: str) -> str:
    lines = command.strip().splitlines()
    return f"{lines[0]} …" if len(lines) > 1 else "".join(lines)


def _reason(error: OSError | ValueError, folder: Path) -> str:
    if isinstance(error, FileNotFoundError) and not folder.is_dir():
        return f"the folder {folder} does not exist any more."
    return str(error)


def _report(command: Command, captured: CapturedOutput, ended: Ended) -> ToolOutput:
    output = captured.text()
    headline = f"Exit code: {ended.exit_code}{_signal_name(ended.exit_code)}"
    text = f"{headline}\n{for_model(output, '(no output)')}{_aftermath(ended)}"
    details: JsonObject = {"exit_code": ended.exit_code, "duration": round(ended.duration, 3)}
    view = replace(_view(command, captured, output), exit_code=ended.exit_code)
    return ToolOutput.text(text, view=view, details=details)


def _view(command: Command, captured: CapturedOutput, output: str) -> TerminalView:
    """A view of `output`, which may be cut, with the number of characters it lacks."""
    return TerminalView(command.text, output, left_out=max(0, captured.length - len(output)) or None)


def _too_late(command: Command, captured: CapturedOutput, seconds: float) -> ToolOutput:
    output = captured.text()
    text = (
        f"Timed out after {seconds:g} s: the command and every process it started were killed. "
        f"What it printed until then:\n{for_model(output, '(no output)')}"
    )
    details: JsonObject = {"exit_code": None, "duration": round(seconds, 3)}
    view = replace(_view(command, captured, output), note=f"timed out after {seconds:g} s")
    return ToolOutput.failure(text, view=view, details=details)


def _signal_name(exit_code: int) -> str:
    """The signal that most likely ended a command: shells report it as 128 and its number.

    Programs also choose such codes, for example 129 for a usage error of git, so rare signals are left out.
    """
    name = _KILLED.get(exit_code)
    return f" ({name})" if name else ""


def _aftermath(ended: Ended) -> str:
    if ended.left_running is None:
        return ""
    return (
        f"\n[It left processes running in the background; stop them with: kill -- -{ended.left_running}. "
        "What they print from now on is lost unless it goes to a file.]"
    )


if TYPE_CHECKING:
    _: type[Tool] = BashTool
    _revisable: type[Revisable] = BashTool
