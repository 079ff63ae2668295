"""Output of print mode: each format on stdout, notices on stderr."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from cinch_tui.assembly.folder import Folder
from cinch_tui.config.options import OutputFormat
from cinch_tui.print_mode.outcome import Outcome, result_object
from cinch_tui.print_mode.output import Output
from cinch_tui.print_mode.stream_json import event_lines, init_line
from cinch_tui.rendering.safe_text import error_line
from cinch_tui.reports.citations import sources_of, sources_text
from cinch_tui.reports.notices import context_text, notice_of, reminder_title
from harness import events
from harness.agent.agent import Agent
from harness.codec import encode
from harness.messages import JsonValue, ToolResult, new_id
from harness.terminal_text import strip_escapes


class Printer:
    """One output format; this one prints nothing."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def begin(self, agent: Agent, servers: Sequence[JsonValue] = (), folder: Folder | None = None) -> None:
        """Called before the prompt is sent, with the status of the MCP servers, and the extensions of the folder."""

    def write_event(self, event: events.Event) -> None:
        """Receive an event of the agent."""

    def end(self, outcome: Outcome) -> None:
        """Called after the run."""


class TextPrinter(Printer):
    """Prints the answer at the end, with its sources."""

    def end(self, outcome: Outcome) -> None:
        if outcome.text and not outcome.failed:
            sources = sources_of(outcome.reply.content) if outcome.reply else ()
            self._output.write_text(f"{outcome.text.rstrip()}\n\n{sources_text(sources)}" if sources else outcome.text)


class JsonPrinter(Printer):
    """Prints one JSON object at the end."""

    def end(self, outcome: Outcome) -> None:
        self._output.write_json(result_object(outcome))


class EventPrinter(Printer):
    """Prints every event of cinch as a JSON line."""

    def write_event(self, event: events.Event) -> None:
        self._output.write_json(encode(event))


class StreamJsonPrinter(Printer):
    """Prints JSON lines in the format of Claude Code's print mode."""

    _session_id = ""

    def begin(self, agent: Agent, servers: Sequence[JsonValue] = (), folder: Folder | None = None) -> None:
        self._session_id = agent.session_id
        self._output.write_json(init_line(agent, servers, folder))

    def write_event(self, event: events.Event) -> None:
        for line in event_lines(event, self._session_id):
            self._output.write_json(line)

    def end(self, outcome: Outcome) -> None:
        self._output.write_json({**result_object(outcome), "uuid": new_id()})


PRINTERS: dict[OutputFormat, type[Printer]] = {
    "text": TextPrinter,
    "json": JsonPrinter,
    "stream-json": StreamJsonPrinter,
    "events": EventPrinter,
}


class ProgressReporter:
    """Prints notices on stderr; with `verbose`, each step too."""

    def __init__(self, stream: TextIO, *, verbose: bool) -> None:
        self._stream = stream
        self._verbose = verbose

    def __call__(self, event: events.Event) -> None:
        match event:
            case (
                events.Notice(level="warning" | "error")
                | events.RetryScheduled()
                | events.ModelFallback()
                | events.InputRejected()
            ):
                if notice := notice_of(event):
                    self.write(notice[0])
            case _ if self._verbose:
                self._report_step(event)
            case _:
                pass

    def write(self, sentence: str) -> None:
        # Ignore a closed stderr.
        with suppress(OSError):
            self._stream.write(f"cinch: {strip_escapes(sentence)}\n")
            self._stream.flush()

    def _report_step(self, event: events.Event) -> None:
        match event:
            case events.ToolExecutionStart(call=call, summary=summary):
                self.write(f"{call.name} {summary}")
            # Denied calls are listed at the end of the run.
            case events.ToolExecutionEnd(result=result) if result.is_error and not (result.details or {}).get("denied"):
                self.write(f"{result.tool_name} failed: {error_line(result.text) or 'no reason given'}")
            case events.HookRan(result=ToolResult() as result):
                self.write(f"{result.tool_name} was blocked: {result.text}")
            case events.HookRan(outcome="injected", reason=reason):
                self.write(reminder_title(reason))
            case events.Notice(text=text) | events.LimitReached(message=text):
                self.write(text)
            case events.CompactionEnd() | events.Evicted() | events.ContextTrimmed():
                if changed := context_text(event):
                    self.write(changed)
            case _:
                pass
