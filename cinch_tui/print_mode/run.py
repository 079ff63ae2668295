"""Print mode: one prompt, no screen, nobody to ask. The answer goes to stdout, the rest to stderr."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TextIO

from cinch_tui.assembly import Assembly, assemble, wanted_session
from cinch_tui.cli.start import collect_garbage
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.print_mode.outcome import ExitStatus, Outcome, RunStats
from cinch_tui.print_mode.output import Output
from cinch_tui.print_mode.printers import Printer, ProgressReporter, printer_for
from cinch_tui.user_input import UserInput, append_marks
from harness.agent.agent import Agent
from harness.agent.cost import with_price
from harness.agent.result import AgentResult
from harness.errors import ConfigError
from harness.lazy_dataclass import dataclass
from harness.messages import UserContent
from harness.ports.interaction import NonInteractive

MAX_STDIN_BYTES = 10_000_000
PATIENCE_S = 3.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _or_nowhere(stream: TextIO | None) -> TextIO:
    """Python has None for a standard stream that was closed before it started."""
    return stream or Path(os.devnull).open("r+", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Streams:
    """Where print mode reads and writes."""

    stdin: TextIO = field(default_factory=lambda: _or_nowhere(sys.stdin))
    stdout: TextIO = field(default_factory=lambda: _or_nowhere(sys.stdout))
    stderr: TextIO = field(default_factory=lambda: _or_nowhere(sys.stderr))


@dataclass(frozen=True, slots=True)
class PrintJob:
    """One run of print mode."""

    prompt: UserInput
    options: Options
    settings: Settings
    output: Output
    reporter: ProgressReporter

    @property
    def printer(self) -> Printer:
        return printer_for(self.options.output_format, self.output)


def run_print(options: Options, settings: Settings, streams: Streams | None = None) -> int:
    """Run one prompt to its end; the result is the exit status.

    Raises:
        ConfigError: there is no prompt, or the agent cannot be built.
    """
    streams = streams or Streams()
    narrator = ProgressReporter(streams.stderr, verbose=options.verbose)
    prompt = _whole_prompt(options.prompt, streams.stdin, narrator)
    job = PrintJob(append_marks(prompt, options.images), options, settings, Output(streams.stdout), narrator)
    try:
        status = asyncio.run(_run(job))
    except (asyncio.CancelledError, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    if job.output.problem:
        narrator.write(job.output.problem)
        return ExitStatus.FAILED
    return status


async def _run(job: PrintJob) -> int:
    with _stopped_by_signals() as stopper:
        loaded = await asyncio.to_thread(wanted_session, job.options)
        assembly = await assemble(job.options, job.settings, NonInteractive(), loaded)
        collect_garbage()
        for warning in assembly.warnings:
            job.reporter.write(warning)
        agent = stopper.agent = assembly.agent
        job.output.on_failure = agent.abort
        try:
            outcome = await _prompt(job, agent)
        finally:
            stopper.agent = None
            await agent.close()
            assembly.close()
    lost = _lost(assembly)
    _tell_problem(job, outcome, is_kept=job.options.keep_session and not lost)
    if lost:
        job.reporter.write(lost)
    return outcome.status


def _lost(assembly: Assembly) -> str:
    """What of the session nobody will find again; empty where all of it is kept, or nothing was to be."""
    if assembly.store is None or assembly.store.is_saved:
        return ""
    return f"what was said here could not be saved in {assembly.store.path}"


async def _prompt(job: PrintJob, agent: Agent) -> Outcome:
    tally, printer = RunStats(), job.printer
    for subscriber in (tally, job.reporter, printer.write_event):
        agent.subscribe(subscriber)
    printer.begin(agent)
    result = await agent.prompt(await _with_files(job, agent))
    if job.options.output_format in ("json", "stream-json"):
        result = await _priced(agent, result)
    outcome = Outcome(result, tally, agent.session_id, agent.state.model.spec.name)
    printer.end(outcome)
    return outcome


async def _with_files(job: PrintJob, agent: Agent) -> str | tuple[UserContent, ...]:
    """The prompt, with the files that it names."""
    if "@" not in job.prompt.text:
        return job.prompt.prompt
    from cinch_tui.attached_files import attach_files

    files = await attach_files(job.prompt.text, agent)
    for reason in files.skipped:
        job.reporter.write(reason)
    return job.prompt.followed_by(files.content)


async def _priced(agent: Agent, result: AgentResult) -> AgentResult:
    """The result with its cost: prices take longer to load than a short answer, and only these formats tell them."""
    facts = await agent.state.model.info.load()
    return replace(result, usage=with_price(result.usage, facts.price))


def _tell_problem(job: PrintJob, outcome: Outcome, *, is_kept: bool) -> None:
    if not outcome.problem:
        return
    job.reporter.write(outcome.problem)
    if outcome.status in (ExitStatus.INTERRUPTED, ExitStatus.LIMIT) and is_kept:
        job.reporter.write(f"go on with: cinch --resume {outcome.session_id}")


@dataclass(slots=True)
class Stopper:
    """Ends the run that is on; without one, or when asked again, ends everything."""

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


def _whole_prompt(words: str, stdin: TextIO, narrator: ProgressReporter) -> str:
    # Arguments that are not in the locale's encoding arrive as lone surrogates, which no request can carry.
    asked = words.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    piped = "" if stdin.isatty() else _read_all(stdin, narrator)
    prompt = "\n\n".join(part for part in (asked, piped) if part.strip())
    if not prompt:
        raise ConfigError('print mode needs a prompt: cinch -p "your prompt", or text on stdin')
    return prompt


def _read_all(stdin: TextIO, narrator: ProgressReporter) -> str:
    source = stdin.buffer
    if not select.select([source], [], [], PATIENCE_S)[0]:
        narrator.write("waiting for stdin to end; if nothing is to come from it, start cinch with </dev/null")
    data = source.read(MAX_STDIN_BYTES + 1)
    if len(data) > MAX_STDIN_BYTES:
        raise ConfigError("stdin is longer than 10 MB; put it into a file and name the file in the prompt")
    return data.decode("utf-8", "replace")
