"""Print mode: one prompt without a screen or a user to ask; the answer goes to stdout, messages to stderr."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct, field
from msgspec.structs import replace

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.assembly.building import assemble, wanted_session
from cinch_tui.cli.start import collect_garbage
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.mcp_session import McpSession
from cinch_tui.permissions import HeadlessApproval
from cinch_tui.print_mode.outcome import ExitStatus, Outcome, RunStats
from cinch_tui.print_mode.output import Output
from cinch_tui.print_mode.printers import PRINTERS, ProgressReporter
from cinch_tui.user_input import UserInput, append_marks
from harness.agent.agent import Agent
from harness.agent.limits import with_price
from harness.errors import ConfigError
from harness.jobs import RUN_WAIT_SECONDS
from harness.ports.interaction import NonInteractive

if TYPE_CHECKING:
    from cinch_tui.template_use import TemplateUse

MAX_STDIN_BYTES = 10_000_000
STDIN_NOTICE_S = 3.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _or_nowhere(stream: TextIO | None) -> TextIO:
    """Return a stream; Python sets a standard stream that was closed at the start to None."""
    return stream or Path(os.devnull).open("r+", encoding="utf-8")


class Streams(Struct, frozen=True):
    """Standard streams of print mode."""

    stdin: TextIO = field(default_factory=lambda: _or_nowhere(sys.stdin))
    stdout: TextIO = field(default_factory=lambda: _or_nowhere(sys.stdout))
    stderr: TextIO = field(default_factory=lambda: _or_nowhere(sys.stderr))


class PrintJob(Struct, frozen=True):
    """One run of print mode."""

    prompt: UserInput
    options: Options
    settings: Settings
    output: Output
    reporter: ProgressReporter


def run_print(options: Options, settings: Settings, streams: Streams | None = None) -> int:
    """Run one prompt to its end and return the exit status.

    Raises:
        ConfigError: there is no prompt, or the agent cannot be created.
    """
    streams = streams or Streams()
    reporter = ProgressReporter(streams.stderr, verbose=options.verbose)
    prompt = _prompt_with_stdin(options.prompt, streams.stdin, reporter)
    job = PrintJob(append_marks(prompt, options.images), options, settings, Output(streams.stdout), reporter)
    try:
        status = asyncio.run(_run(job))
    except (asyncio.CancelledError, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    if job.output.problem:
        reporter.write(job.output.problem)
        return ExitStatus.FAILED
    return status


async def _run(job: PrintJob) -> int:
    with _stopped_by_signals() as stopper:
        loaded = await asyncio.to_thread(wanted_session, job.options)
        user = HeadlessApproval() if job.settings.approval.headless == "allow" else NonInteractive()
        assembly = await assemble(job.options, job.settings, user, loaded)
        collect_garbage()
        for warning in (*assembly.warnings, *await assembly.mcp.start()):
            job.reporter.write(warning)
        agent = stopper.agent = assembly.agent
        agent.jobs.stop_with_run(RUN_WAIT_SECONDS if job.settings.tools.bash_wake_on_exit else 0)
        job.output.on_failure = agent.abort
        try:
            if not await _connect_servers(job, assembly.mcp):
                return ExitStatus.FAILED
            outcome = await _prompt(job, assembly)
        finally:
            stopper.agent = None
            await agent.close()
            await assembly.apis.close()
            assembly.close()
    is_saved = assembly.store is None or assembly.store.is_saved
    _report_problem(job, outcome, is_kept=job.options.keep_session and is_saved)
    if assembly.store and not is_saved:
        job.reporter.write(f"the session could not be saved in {assembly.store.path}")
    return outcome.status


async def _connect_servers(job: PrintJob, mcp: McpSession) -> bool:
    """Wait for the MCP servers and report those that are down. Return False if the run needs them all."""
    await mcp.wait_ready()
    for problem in mcp.unavailable:
        job.reporter.write(problem)
    return mcp.are_available or not job.options.require_mcp


async def _prompt(job: PrintJob, assembly: Assembly) -> Outcome:
    agent = assembly.agent
    stats, printer = RunStats(), PRINTERS[job.options.output_format](job.output)
    for subscriber in (stats, job.reporter, printer.write_event):
        agent.subscribe(subscriber)
    printer.begin(agent, assembly.mcp.status_records(), assembly.folder)
    use = template_use(job.prompt, assembly)
    if use is not None:
        result = await use.run(job.reporter.write)
    else:
        result = await agent.prompt(await job.prompt.with_files(agent, job.reporter.write, assembly.mcp.servers))
    if job.options.output_format in ("json", "stream-json"):
        # Only these formats need the prices, which are slow to load.
        info = await agent.state.model.info.load()
        result = replace(result, usage=with_price(result.usage, info.price))
    outcome = Outcome(result, stats, agent.session_id, agent.state.model.spec.name)
    printer.end(outcome)
    return outcome


def template_use(prompt: UserInput, assembly: Assembly) -> TemplateUse | None:
    """Return the skill or command that a prompt starts; None for another prompt."""
    text = prompt.text.strip()
    if not text.startswith("/"):
        return None
    from cinch_tui.template_use import TemplateUse  # few prompts start one

    word, *rest = text.split(maxsplit=1)
    source = assembly.folder.template(word[1:])
    return TemplateUse(assembly, source, text, "".join(rest)) if source else None


def _report_problem(job: PrintJob, outcome: Outcome, *, is_kept: bool) -> None:
    if not outcome.problem:
        return
    job.reporter.write(outcome.problem)
    if outcome.status in (ExitStatus.INTERRUPTED, ExitStatus.LIMIT) and is_kept:
        job.reporter.write(f"continue with: cinch --resume {outcome.session_id}")


class Stopper(Struct):
    """Aborts the run; without a run, or the second time, cancels the program."""

    main: asyncio.Task[object] | None
    agent: Agent | None = None
    asked: bool = False

    def stop(self) -> None:
        if self.agent is not None and not self.asked:
            self.agent.abort()
        elif self.main is not None:
            self.main.cancel()
        self.asked = True


@contextmanager
def _stopped_by_signals() -> Generator[Stopper]:
    stopper = Stopper(asyncio.current_task())
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopper.stop)
    try:
        yield stopper
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


def _prompt_with_stdin(text: str, stdin: TextIO, reporter: ProgressReporter) -> str:
    # Arguments that are not in the encoding of the locale contain lone surrogates, which requests cannot.
    asked = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    piped = "" if stdin.isatty() else _read_all(stdin, reporter)
    prompt = "\n\n".join(part for part in (asked, piped) if part.strip())
    if not prompt:
        raise ConfigError('print mode needs a prompt: cinch -p "your prompt", or text on stdin')
    return prompt


def _read_all(stdin: TextIO, reporter: ProgressReporter) -> str:
    source = stdin.buffer
    if not select.select([source], [], [], STDIN_NOTICE_S)[0]:
        reporter.write("waiting for the end of stdin; to send none, start cinch with </dev/null")
    data = source.read(MAX_STDIN_BYTES + 1)
    if len(data) > MAX_STDIN_BYTES:
        raise ConfigError("stdin is longer than 10 MB; put it into a file and name the file in the prompt")
    return data.decode("utf-8", "replace")
