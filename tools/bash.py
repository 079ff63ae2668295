"""bash: runs a shell command in the workspace and streams its output."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from harness.execution.spill import spill_name
from harness.jobs import MAX_RUNNING, Job, Jobs, JobSpec
from harness.messages import JsonObject, new_id
from harness.ports.tool import Revisable, ToolContext, ToolOutput
from harness.risk import Risk
from harness.truncation import truncate
from harness.views import TerminalView, View
from tools.compression import Compression, compress
from tools.environment import command_environment, git_environment, read_only_environment
from tools.output import LARGEST_FILE, CapturedOutput, for_model
from tools.shell.analysis import analyze
from tools.shell_command import CommandResult, ShellCommand, run_command
from tools.typed import Parameters, TypedTool

LIMIT = 30_000
LONGEST_SECONDS = 600.0
_MOST_COMPRESSED = 10_000_000
"""Longest output that is compressed, in characters."""
_LEAST_SAVED = 200
"""Compression that saves fewer characters is not worth the note on it."""
_SHOWN_LIVE = 8_000
_UPDATE_SECONDS = 0.1
_TITLE_CHARS = 80
_QUICK_END_SECONDS = 0.2
"""A background command that ends this soon reports its result instead of a job id: mostly it failed to start."""
_ENDING = (signal.SIGINT, signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGTERM)
_KILLED = {128 + number: number.name for number in _ENDING}

NO_BACKGROUND = "Background commands are not available here. Run it without background."
TOO_MANY_JOBS = f"{MAX_RUNNING} background jobs are running already: stop one with job_kill."
EXCESSIVE_OUTPUT = (
    f"has printed more than {LARGEST_FILE // 1_000_000} MB and keeps printing: "
    "from now on it is slowed down, and only the beginning and end of its output are kept."
)
MOVED_TO_BACKGROUND = "The user moved the command to the background, where it keeps running"


def _seconds(value: float) -> float:
    """Convert milliseconds, which some models send: no timeout is longer than ten minutes."""
    return min(value / 1000, LONGEST_SECONDS) if value > LONGEST_SECONDS else value


class BashArguments(Parameters):
    command: Annotated[str, Meta(min_length=1, description="The command, in bash syntax.")]
    timeout_s: Annotated[
        float,
        Meta(gt=0, description="Seconds until the command and everything it started are stopped; at most 600."),
    ] = 120
    background: Annotated[
        bool, Meta(description="Return a job id at once; the command keeps running, without a timeout.")
    ] = False
    description: Annotated[str | None, Meta(description="Purpose of the command, in five to ten words.")] = None

    def __post_init__(self) -> None:
        self.timeout_s = _seconds(self.timeout_s)


class BashTool(TypedTool[BashArguments], Revisable):
    """bash.

    Args:
        secrets: Names of environment variables that are hidden from commands, in addition to the keys of known model
            services.
        compression: How much of the output of commands the model gets; the user sees all of it.
    """

    name = "bash"
    label = "Run command"
    mutates = "by_call"
    Arguments = BashArguments

    def __init__(self, secrets: Iterable[str] = (), compression: Compression = "aggressive") -> None:
        self._secrets = frozenset(secrets)
        self._compression: Compression = compression

    def summary(self, arguments: JsonObject) -> str:
        command = arguments.get("command") or arguments.get("cmd")
        title = _title(command) if isinstance(command, str) else ""
        apart = arguments.get("background") is True or arguments.get("run_in_background") is True
        return f"{title}  (in the background)" if apart and title else title

    def risk_of(self, arguments: BashArguments) -> Risk:
        risk = analyze(arguments.command).risk
        if not arguments.background:
            return risk
        # What only reads may read forever.
        level = "execute" if risk.level == "read" else risk.level
        reason = ", ".join(filter(None, (risk.reason, "runs in the background")))
        return replace(risk, level=level, reason=reason, access="by_level")

    async def preview_of(self, arguments: BashArguments, context: ToolContext) -> View | ToolOutput | None:
        return TerminalView(arguments.command, "")

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        return {**arguments, "command": text} if isinstance(view, TerminalView) else None

    async def execute(self, arguments: BashArguments, context: ToolContext) -> ToolOutput:
        if arguments.background and (context.jobs is None or len(context.jobs.running) >= MAX_RUNNING):
            return ToolOutput.failure(TOO_MANY_JOBS if context.jobs else NO_BACKGROUND)
        command = await self._command(arguments, context)
        # The output of a command that only reads is content, such as a file.
        is_content = analyze(arguments.command).risk.level == "read"
        execution = _Execution(command, context, "off" if is_content else self._compression)
        context.on_interrupt(execution.output_so_far)
        try:
            return await (execution.in_background() if arguments.background else execution.run(arguments.timeout_s))
        except (OSError, ValueError) as error:
            folder = context.workspace.root
            is_gone = isinstance(error, FileNotFoundError) and not folder.is_dir()
            reason = f"the folder {folder} does not exist any more." if is_gone else str(error)
            return ToolOutput.failure(f"The command could not be started: {reason}")
        finally:
            execution.live.stop()

    async def _command(self, arguments: BashArguments, context: ToolContext) -> ShellCommand:
        analysis, root = analyze(arguments.command), context.workspace.root
        environment = command_environment(os.environ, self._secrets)
        if analysis.risk.level == "read":
            environment = read_only_environment(environment, root)
        folders = [root / _without_tilde(each) for each in analysis.git_folders if "\0" not in each]
        # Looking for drivers may run git itself.
        environment = await asyncio.to_thread(git_environment, environment, folders, analysis.git_use)
        return ShellCommand(arguments.command, root, environment, is_users=context.by_user)


def _without_tilde(folder: str) -> Path:
    with suppress(RuntimeError):
        return Path(folder).expanduser()
    # There is no such user.
    return Path(folder)


class _Execution:
    """A running command: its output, its job and its result."""

    def __init__(self, command: ShellCommand, context: ToolContext, compression: Compression) -> None:
        self._command = command
        self._compression: Compression = compression
        self._limit = context.output_limit(LIMIT)
        self._jobs = context.jobs or Jobs()
        self._call_id = context.call_id
        # Some models reuse call ids: a later command must not overwrite the output file of a job.
        spill = spill_name("bash", f"{context.call_id[:60]}-{new_id()[:8]}")
        self._captured = CapturedOutput(self._limit, context.spill_dir / spill)
        self._result: CommandResult | None = None
        self._job: Job | None = None
        self._is_warned = False
        self.live = _Throttle(lambda: context.update(self._view(self._captured.latest(_SHOWN_LIVE))))

    def output_so_far(self) -> ToolOutput:
        """Return the output so far, for a call that is interrupted."""
        output = self._captured.full_text()
        return ToolOutput.text(for_model(output, ""), view=self._view(output))

    async def run(self, seconds: float) -> ToolOutput:
        job = self._start()
        match await self._jobs.wait(job, seconds):
            case "over":
                return await self._final_result(job)
            case "moved":
                return self._in_background_result(job, MOVED_TO_BACKGROUND)
            case "late":
                await self._jobs.stop(job)
                return await self._timeout_result(seconds)

    async def in_background(self) -> ToolOutput:
        job = self._start()
        if await self._jobs.wait(job, _QUICK_END_SECONDS) == "over":
            return await self._final_result(job)
        self._jobs.to_background(job)
        return self._in_background_result(job, "Running in the background")

    def _start(self) -> Job:
        title = _title(self._command.text)
        short = title if len(title) <= _TITLE_CHARS else f"{title[:_TITLE_CHARS]}…"
        self._job = self._jobs.start(JobSpec(self._call_id, short, self._captured, self._work))
        return self._job

    async def _work(self) -> int:
        try:
            self._result = await run_command(self._command, self._on_output)
        finally:
            self._captured.close()
        return self._result.exit_code

    def _on_output(self, data: bytes) -> None:
        self._captured.feed(data)
        self.live.changed()
        if self._captured.is_flood and not self._is_warned and self._job is not None and self._job.id:
            self._is_warned = True
            self._jobs.warn(self._job, EXCESSIVE_OUTPUT)

    async def _final_result(self, job: Job) -> ToolOutput:
        job.task.result()
        assert self._result is not None
        code, output = self._result.exit_code, self._captured.text()
        text = f"Exit code: {code}{_signal_name(code)}\n{await self._for_model(output)}"
        details: JsonObject = {"exit_code": code, "duration": round(self._result.duration, 3)}
        view = replace(self._view(output), exit_code=code)
        return ToolOutput.text(text + _left_running_note(self._result.left_running), view=view, details=details)

    async def _timeout_result(self, seconds: float) -> ToolOutput:
        output = self._captured.text()
        text = (
            f"Timed out after {seconds:g} s: the command and every process it started were killed. "
            f"Output until then:\n{await self._for_model(output)}"
        )
        details: JsonObject = {"exit_code": None, "duration": round(seconds, 3)}
        view = replace(self._view(output), note=f"timed out after {seconds:g} s")
        return ToolOutput.failure(text, view=view, details=details)

    async def _for_model(self, output: str) -> str:
        """Return the output as the model gets it: compressed if that saves something, then truncated."""
        is_long = self._captured.is_cut
        complete, compressed = await asyncio.to_thread(self._compressed) if is_long else self._compressed()
        if len(compressed) > len(complete) - _LEAST_SAVED:
            return for_model(output, "(no output)")
        total = complete.count("\n")
        folded = total - compressed.count("\n")
        where = self._captured.save()
        shorter = truncate(compressed, self._limit, lambda gone: f"[… {gone:,} characters left out …]")
        return f"{for_model(shorter, '')}\n[{folded:,} of {total:,} lines folded. {where}]"

    def _compressed(self) -> tuple[str, str]:
        """Return the complete output and its compressed form; both empty if it is not compressed."""
        complete = None if self._compression == "off" else self._captured.complete_text(_MOST_COMPRESSED)
        return (complete, compress(complete, self._compression)) if complete else ("", "")

    def _in_background_result(self, job: Job, how: str) -> ToolOutput:
        printed = self._captured.new_text()
        text = f"{how} as {job.id}. {self._jobs.hint}\nOutput so far:\n{for_model(printed, '(nothing)')}"
        return ToolOutput.text(text, view=self._view(printed), details={"job_id": job.id})

    def _view(self, output: str) -> TerminalView:
        """Return a view of `output` with the number of characters that were left out of it."""
        left_out = max(0, self._captured.length - len(output)) or None
        return TerminalView(self._command.text, output, left_out=left_out)


class _Throttle:
    """Calls `show` at most ten times a second, and always after the last change."""

    def __init__(self, show: Callable[[], None]) -> None:
        self._show = show
        self._shown_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._is_active = True

    def changed(self) -> None:
        if self._timer is not None or not self._is_active:
            return
        wait = self._shown_at + _UPDATE_SECONDS - time.monotonic()
        if wait <= 0:
            self._now()
        else:
            self._timer = asyncio.get_running_loop().call_later(wait, self._now)

    def stop(self) -> None:
        self._is_active = False
        if self._timer is not None:
            self._timer.cancel()

    def _now(self) -> None:
        self._timer = None
        self._shown_at = time.monotonic()
        self._show()


def _title(command: str) -> str:
    lines = command.strip().splitlines()
    return f"{lines[0]} …" if len(lines) > 1 else "".join(lines)


def _signal_name(exit_code: int) -> str:
    """Return the name of the signal that probably ended a command, which shells report as 128 plus its number.

    Programs choose such codes as well (git exits with 129 on a usage error), so rare signals are left out.
    """
    name = _KILLED.get(exit_code)
    return f" ({name})" if name else ""


def _left_running_note(group: int | None) -> str:
    if group is None:
        return ""
    return (
        f"\n[It left processes running in the background; stop them with: kill -- -{group}. "
        "Their output is lost from now on unless it goes to a file.]"
    )
