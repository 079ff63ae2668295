"""Output of print mode: each format on stdout, notices on stderr."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TextIO

from cinch_tui.config.options import OutputFormat
from cinch_tui.print_mode.outcome import Outcome, result_object
from cinch_tui.print_mode.output import Output
from cinch_tui.reports.notices import notice_of
from harness.agent.agent import Agent
from harness.codec import encode
from harness.context.citations import sources_of, sources_text
from harness.events import (
    Event,
    HookRan,
    InputRejected,
    LimitReached,
    ModelFallback,
    Notice,
    RetryScheduled,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from harness.messages import ToolResult
from harness.terminal_text import strip_escapes


class Printer(Protocol):
    """One output format."""

    def begin(self, agent: Agent) -> None: ...

    def write_event(self, event: Event) -> None: ...

    def end(self, outcome: Outcome) -> None: ...


class AnswerPrinter:
    """Prints the answer at the end, as text or as one JSON object."""

    def __init__(self, output: Output, *, as_json: bool) -> None:
        self._output = output
        self._as_json = as_json

    def begin(self, agent: Agent) -> None:
        pass

    def write_event(self, event: Event) -> None:
        pass

    def end(self, outcome: Outcome) -> None:
        if self._as_json:
            self._output.write_json(result_object(outcome))
        elif outcome.text and not outcome.failed:
            sources = sources_of(outcome.reply.content) if outcome.reply else ()
            self._output.write_text(f"{outcome.text.rstrip()}\n\n{sources_text(sources)}" if sources else outcome.text)


class EventPrinter:
    """Prints every event of cinch as a JSON line."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def begin(self, agent: Agent) -> None:
        pass

    def write_event(self, event: Event) -> None:
        self._output.write_json(encode(event))

    def end(self, outcome: Outcome) -> None:
        pass


class StreamJsonPrinter:
    """Prints JSON lines in the format of Claude Code's print mode."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._session_id = ""

    def begin(self, agent: Agent) -> None:
        from cinch_tui.print_mode.stream_json import init_line

        self._session_id = agent.session_id
        self._output.write_json(init_line(agent))

    def write_event(self, event: Event) -> None:
        from cinch_tui.print_mode.stream_json import event_lines

        for line in event_lines(event, self._session_id):
            self._output.write_json(line)

    def end(self, outcome: Outcome) -> None:
        from cinch_tui.print_mode.stream_json import end_line

        self._output.write_json(end_line(outcome))


def printer_for(output_format: OutputFormat, output: Output) -> Printer:
    match output_format:
        case "text":
            return AnswerPrinter(output, as_json=False)
        case "json":
            return AnswerPrinter(output, as_json=True)
        case "stream-json":
            return StreamJsonPrinter(output)
        case "events":
            return EventPrinter(output)


class ProgressReporter:
    """Prints notices on stderr; with `verbose`, each step too."""

    def __init__(self, stream: TextIO, *, verbose: bool) -> None:
        self._stream = stream
        self._verbose = verbose

    def __call__(self, event: Event) -> None:
        match event:
            case Notice(level="warning" | "error") | RetryScheduled() | ModelFallback() | InputRejected():
                if notice := notice_of(event):
                    self.write(notice[1])
            case _ if self._verbose:
                self._report_step(event)
            case _:
                pass

    def write(self, sentence: str) -> None:
        # Ignore a closed stderr.
        with suppress(OSError):
            self._stream.write(f"cinch: {strip_escapes(sentence)}\n")
            self._stream.flush()

    def _report_step(self, event: Event) -> None:
        match event:
            case ToolExecutionStart(call=call, summary=summary):
                self.write(f"{call.name} {summary}")
            # Denied calls are listed at the end of the run.
            case ToolExecutionEnd(result=result) if result.is_error and not (result.details or {}).get("denied"):
                first = result.text.splitlines()[0] if result.text else "no reason given"
                self.write(f"{result.tool_name} failed: {first}")
            case HookRan(result=ToolResult() as result):
                self.write(f"{result.tool_name} was blocked: {result.text}")
            case Notice(text=text) | LimitReached(message=text):
                self.write(text)
            case _:
                pass


if TYPE_CHECKING:
    _: tuple[type[Printer], ...] = (AnswerPrinter, EventPrinter, StreamJsonPrinter)
