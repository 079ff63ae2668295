"""Execution of one command for a tool call: its job, live output, time limit and result."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.execution.spill import spill_name
from harness.job_spec import JobInput, JobSpec
from harness.jobs import MAX_RUNNING, POLL_SECONDS, Job, Jobs
from harness.messages import JsonObject, new_id
from harness.ports.tool import ToolContext, ToolOutput
from harness.truncation import truncate
from harness.views import TerminalView
from tools.compression import Compression, compress
from tools.output import LARGEST_FILE, CapturedOutput, file_hint, for_model
from tools.shell_command import CommandResult, OutputSink
from tools.shell_options import OnTimeout

if TYPE_CHECKING:
    from tools.terminal_process import TerminalProcess

LIMIT = 30_000
_MOST_COMPRESSED = 10_000_000
"""Longest output that is compressed, in characters."""
_LEAST_SAVED = 200
"""Compression that saves fewer characters is not worth the note on it."""
_SHOWN_LIVE = 8_000
_UPDATE_SECONDS = 0.1
_TITLE_CHARS = 80
_QUICK_END_SECONDS = 0.2
"""A background command that ends this soon reports its result instead of a job id: mostly it failed to start."""
_FIRST_OUTPUT_SECONDS = 2.0
"""Longest wait for the first output of a program in a terminal."""
_LONGEST_PROMPT = 200
_ENDING = (signal.SIGINT, signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGTERM)
_KILLED = {128 + number: number.name for number in _ENDING}
EXCESSIVE_OUTPUT = (
    f"has printed more than {LARGEST_FILE // 1_000_000} MB and keeps printing: "
    "from now on it is slowed down, and only the beginning and end of its output are kept."
)
MOVED_TO_BACKGROUND = "The user moved the command to the background, where it keeps running"

USER_INPUT = (
    "[It waits for input that is not echoed, such as a password. Only the user may type it; they were asked to. "
    "Continue with other work, or wait with {job_output}.]"
)


CommandRun: TypeAlias = Callable[[OutputSink], Awaitable[CommandResult]]
"""Runs a command to its end, passing on its output; leaves no process behind when cancelled."""


class Command(Struct, frozen=True):
    """A command that a tool runs."""

    tool: str
    """Name of the tool."""
    text: str
    """The command as users see it."""
    run: CommandRun
    """Runs it."""
    compression: Compression = "off"
    """Compression of its output for the model."""
    states_success: bool = True
    """False to leave out the exit code 0."""
    on_timeout: OnTimeout = "kill"
    """Handling at its time limit; it is killed if no more background jobs can run."""
    terminal: TerminalProcess | None = None
    """Terminal that it runs in."""


class CommandExecution:
    """A running command: its output, its job and its result."""

    def __init__(self, command: Command, context: ToolContext) -> None:
        self._command = command
        self._context = context
        self._limit = context.output_limit(LIMIT)
        self._jobs = context.jobs or Jobs()
        self._call_id = context.call_id
        # Some models reuse call ids: a later command must not overwrite the output file of a job.
        spill = spill_name(command.tool, f"{context.call_id[:60]}-{new_id()[:8]}")
        self._captured = CapturedOutput(self._limit, context.spill_dir / spill, hint=file_hint(context))
        self._result: CommandResult | None = None
        self._job: Job | None = None
        self._is_warned = False
        self._live = _Throttle(lambda: context.update(self._view(self._captured.latest(_SHOWN_LIVE))))

    def output_so_far(self) -> ToolOutput:
        """Return the output so far, for a call that is interrupted."""
        output = self._captured.full_text()
        return ToolOutput.text(for_model(output, ""), view=self._view(output))

    async def execute(self, seconds: float | None) -> ToolOutput:
        """Run the command and return its result.

        Args:
            seconds: Time limit; None to run it in the background.
        """
        self._context.on_interrupt(self.output_so_far)
        try:
            return await (self._in_background() if seconds is None else self._run(seconds))
        except (OSError, ValueError) as error:
            folder = self._context.workspace.root
            is_gone = isinstance(error, FileNotFoundError) and not folder.is_dir()
            reason = f"the folder {folder} does not exist any more." if is_gone else str(error)
            return ToolOutput.failure(f"The command could not be started: {reason}")
        finally:
            self._live.stop()

    async def _run(self, seconds: float) -> ToolOutput:
        job = self._start()
        match await self._jobs.wait(job, seconds):
            case "over":
                return await self._final_result(job)
            case "moved":
                return self._in_background_result(job, MOVED_TO_BACKGROUND, f"continues as {job.id}")
            case "late" if self._continues_after_timeout:
                self._jobs.to_background(job)
                how = f"Still running after {seconds:g} s, so it now runs in the background"
                return self._in_background_result(job, how, f"continues as {job.id} after {seconds:g} s")
            case "late":
                await self._jobs.stop(job)
                return await self._timeout_result(seconds)

    async def _in_background(self) -> ToolOutput:
        job, terminal = self._start(), self._command.terminal
        interval, deadline = _QUICK_END_SECONDS, time.monotonic() + _FIRST_OUTPUT_SECONDS
        if terminal is not None:
            interval = POLL_SECONDS
            terminal.last_line = lambda: self._captured.latest(_LONGEST_PROMPT).rpartition("\n")[2]
            terminal.on_hidden_input = lambda: self._jobs.ask_for_input(job, terminal.last_line())
        while await self._jobs.wait(job, interval) != "over":
            if terminal is None or terminal.is_settled or time.monotonic() > deadline:
                self._jobs.to_background(job)
                if terminal and terminal.hides_input:
                    self._jobs.ask_for_input(job, terminal.last_line())
                how = "Running in a terminal in the background" if terminal else "Running in the background"
                return self._in_background_result(job, how, f"runs as {job.id}")
        return await self._final_result(job)

    @property
    def _continues_after_timeout(self) -> bool:
        has_room = self._context.jobs is not None and len(self._jobs.running) < MAX_RUNNING
        return self._command.on_timeout == "background" and has_room

    def _start(self) -> Job:
        title = title_of(self._command.text)
        short = title if len(title) <= _TITLE_CHARS else f"{title[:_TITLE_CHARS]}…"
        self._job = self._jobs.start(JobSpec(self._call_id, short, self._captured, self._work, self._command.terminal))
        return self._job

    async def _work(self) -> int:
        try:
            self._result = await self._command.run(self._on_output)
        finally:
            self._captured.close()
        return self._result.exit_code

    def _on_output(self, data: bytes) -> None:
        self._captured.feed(data)
        self._live.changed()
        if self._captured.is_flood and not self._is_warned and self._job is not None and self._job.id:
            self._is_warned = True
            self._jobs.warn(self._job, EXCESSIVE_OUTPUT)

    async def _final_result(self, job: Job) -> ToolOutput:
        job.task.result()
        assert self._result is not None
        code, output = self._result.exit_code, self._captured.text()
        text = await self._for_model(output)
        if code or self._command.states_success:
            text = f"Exit code: {code}{_signal_name(code)}\n{text}"
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
        complete = None if self._command.compression == "off" else self._captured.complete_text(_MOST_COMPRESSED)
        return (complete, compress(complete, self._command.compression)) if complete else ("", "")

    def _in_background_result(self, job: Job, how: str, note: str) -> ToolOutput:
        """Return the result of a call whose command continues; `how` tells the model so, `note` the user."""
        new = new_output_of(job)
        text = f"{how} as {job.id}. {self._jobs.hint}\nOutput so far:\n{for_model(new.text, '(nothing)')}"
        if job.spec.input is not None:
            text += f"\n{input_hint(job.spec.input, self._context)}"
        view = replace(self._view(new.shown), note=note, job_id=job.id)
        return ToolOutput.text(text, view=view, details={"job_id": job.id})

    def _view(self, output: str) -> TerminalView:
        """Return a view of `output` with the number of characters that were left out of it."""
        left_out = max(0, self._captured.length - len(output)) or None
        return TerminalView(self._command.text, output, left_out=left_out)


class NewOutput(NamedTuple):
    """Output of a job since the last call, with the screen that its program draws."""

    shown: str
    """Output for the user."""
    text: str
    """Output for the model, with the position of the cursor."""


def new_output_of(job: Job) -> NewOutput:
    printed, screen = job.spec.output.new_text(), job.spec.input.screen if job.spec.input else None
    if screen is None:
        return NewOutput(printed, printed)
    # The screen shows an unfinished line as well.
    lines = printed[: printed.rfind("\n") + 1]
    heading = f"[Screen; the cursor is at line {screen.line}, column {screen.column}]\n"
    return NewOutput(f"{lines}{screen.text}", f"{lines}{heading}{screen.text}")


def input_hint(terminal: JobInput, context: ToolContext) -> str:
    """Return instructions for the model about a program that runs in a terminal."""
    return context.mention(USER_INPUT if terminal.hides_input else "[{job_input} types into it.]")


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


def title_of(command: str) -> str:
    """Return a command on one line."""
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
