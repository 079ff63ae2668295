"""Events as labelled lines, in the order they are published."""

from __future__ import annotations

import time
from collections.abc import Mapping

from cinch_tui.plain.line_writer import LineWriter, LiveOutput
from cinch_tui.plain.view_lines import line_count, shorten, view_lines
from cinch_tui.rendering.safe_text import error_line, one_line
from cinch_tui.reports.citations import sources_of, sources_text
from cinch_tui.reports.formatting import app_hints
from cinch_tui.reports.notices import NoticeLevel, context_text, end_notice, job_notice, notice_of, reminder_title
from cinch_tui.shell_line import is_report, output_text
from harness import events
from harness.agent.agent import Agent
from harness.agent.retry import format_delay
from harness.approval.modes import PLAN
from harness.deltas import BlockDelta, BlockEnd, BlockStart
from harness.execution.results import was_interrupted
from harness.jobs import Jobs, is_job_notice
from harness.messages import AssistantMessage, JsonValue, ToolResult, Usage, UserMessage
from harness.ports.tool import ToolOutput
from harness.views import DiffView, TerminalView, TextView, TodoView
from tools.untrusted_text import is_framed

KINDS = {"text": "Assistant", "thinking": "Thinking"}
QUESTIONS = ("ask_user", "submit_plan")
"""Tools shown as the question they ask."""
READ_FILE = "read_file"
TODO = "todo"
MAX_CHANGED_LINES = 40
MAX_SHELL_LINES = 200


class LineRenderer:
    """Renders events; subscribe it to the agent's bus. `shows_thinking` may be changed at any time."""

    def __init__(self, writer: LineWriter, agent: Agent, *, show_thinking: bool) -> None:
        self.shows_thinking = show_thinking
        self._writer = writer
        self._agent = agent
        self._planned_reply = ""
        self._started = 0.0
        self._usage_before = Usage()
        self._tool_calls = 0
        self._is_first = False
        self._approved: set[str] = set()
        """Calls whose proposal was printed for approval."""
        self._running: dict[str, tuple[str, float]] = {}
        """Name and start of each running call."""
        self._live: dict[str, LiveOutput] = {}

    def status_text(self) -> str:
        """Return the running calls with their durations, or that the agent is idle."""
        if not self._agent.is_running:
            return "Idle: the agent waits for your input."
        now = time.monotonic()
        calls = [f"{name}, {format_delay(now - start)}" for name, start in self._running.values()]
        return f"Running for {format_delay(now - self._started)}: {'; '.join(calls) or 'waiting for the model'}."

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.AgentStart():
                self._start_run()
            case events.MessageUpdate():
                self._stream(event)
            case events.MessageEnd(message=UserMessage() as message):
                self._show_user_message(message)
            case events.MessageEnd(message=AssistantMessage() as reply):
                self._end_reply(reply)
            case events.SubagentEvent():
                self._show_subagent(event)
            case events.AgentEnd():
                self._end_run(event)
            case _ if notice := notice_of(event) or _news(event, self._agent.jobs):
                self._writer.notice(*notice)
            case _:
                self._show_tool(event)

    def _start_run(self) -> None:
        self._started, self._usage_before = time.monotonic(), self._agent.state.usage
        self._tool_calls, self._is_first = 0, True
        self._running.clear()
        for live in self._live.values():
            live.stop()
        self._live.clear()

    def _name(self, call_id: str, default: str = "") -> str:
        return self._running[call_id][0] if call_id in self._running else default

    def _show_subagent(self, event: events.SubagentEvent) -> None:
        """Print the calls of a subagent as a sign of progress; their results are not printed."""
        match event.event:
            case events.ToolExecutionStart(call=call, summary=summary):
                name = self._name(event.call_id).partition(" ")[2]
                self._writer.write("Subagent", f"{f'{name}: ' * bool(name)}{call.name} {one_line(summary)}".rstrip())
            case events.RetryScheduled() | events.Notice() | events.SubagentEvent() as inner:
                self(inner)
            case _:
                pass

    def _stream(self, event: events.MessageUpdate) -> None:
        label = KINDS.get(event.kind)
        if label is None or (event.kind == "thinking" and not self.shows_thinking):
            return
        match event.delta:
            case BlockStart():
                self._writer.begin(label)
            case BlockDelta(text=text):
                self._writer.add(text)
            case BlockEnd():
                self._writer.end()
            case _:
                pass

    def _show_user_message(self, message: UserMessage) -> None:
        if message.synthetic:
            # The user has seen the output of their own commands, and the notices about jobs.
            if not (is_report(message) or is_job_notice(message)):
                self._writer.notice(reminder_title(message.text))
        elif not self._is_first:
            self._writer.write("You, delivered now" if self._agent.is_running else "Brief", message.text)
        self._is_first = self._is_first and message.synthetic

    def _end_reply(self, reply: AssistantMessage) -> None:
        self._planned_reply = reply.text if self._agent.state.mode is PLAN else ""
        self._writer.end()
        if sources := sources_of(reply.content):
            self._writer.write_plain(sources_text(sources))
        if reply.stop_reason == "error" and reply.error:
            self._writer.notice(app_hints(reply.error), "error")

    def _show_live(self, call_id: str, view: TerminalView) -> None:
        """Print what a command prints, with its name when it is one of several."""
        if call_id not in self._live:
            name = self._name(call_id)
            self._live[call_id] = LiveOutput(
                self._writer, lambda: "Output" if len(self._live) == 1 else f"Output of {name}"
            )
        self._live[call_id].update(view)

    def _show_tool(self, event: events.Event) -> None:
        match event:
            case events.ToolExecutionUpdate(call_id=call_id, view=TerminalView() as view):
                self._show_live(call_id, view)
            case events.ToolApprovalRequested(call=call):
                self._approved.add(call.id)
            case events.ToolExecutionStart(call=call, summary=summary):
                self._tool_calls += 1
                name = f"{'' if call.name == TODO else call.name} {one_line(summary)}".strip()
                self._running[call.id] = name, time.monotonic()
                if call.name not in (*QUESTIONS, TODO):
                    self._writer.write("Tool", name)
            case events.ToolExecutionEnd(result=result, duration=duration):
                self._show_result(result, duration)
            case events.HookRan(result=ToolResult() as result):
                self._writer.write("Result", f"{result.tool_name} was blocked: {result.text}")
            case _:
                pass

    def _show_result(self, result: ToolResult, duration: float) -> None:
        # Calls that run together end in any order.
        name, _ = self._running.pop(result.call_id, (result.tool_name, 0.0))
        if isinstance(result.view, TodoView):
            self._writer.write("Steps", "\n".join([name, *view_lines(result.view)]))
            return
        live = self._live.pop(result.call_id, None)
        if live is not None:
            live.finish(result.view)
        if live is not None and live.has_printed:
            self._writer.write("Result", f"{name}: {_ending(result, duration)}")
        elif result.tool_name not in QUESTIONS or result.is_error:
            self._writer.write("Result", f"{name}: {self._result(result, duration)}")

    def _result(self, result: ToolResult, duration: float) -> str:
        view, details = result.view, result.details or {}
        if details.get("denied"):
            return "denied"
        took = _took(duration)
        if result.is_error:
            how = "interrupted" if was_interrupted(result) else "failed"
            # Only models need the frame of a text from elsewhere.
            text = view.text if isinstance(view, TextView) and is_framed(result.text) else result.text
            return "\n".join([f"{how}{took}", *shorten(split_lines(text))])
        if isinstance(view, TerminalView):
            return "\n".join([f"{_status(view, details)}{took}", *shorten(split_lines(view.output))])
        if isinstance(view, TextView) and result.tool_name == READ_FILE:
            # File contents are not printed: a screen reader would read them out.
            return f"done{took}, {line_count(split_lines(view.text))}"
        if isinstance(view, DiffView):
            changed = [] if result.call_id in self._approved else shorten(view_lines(view), MAX_CHANGED_LINES)
            return "\n".join([f"done{took}", *changed])
        lines = view_lines(view) if view is not None else split_lines(result.text)
        return "\n".join([f"done{took}", *shorten(lines)])

    def _end_run(self, event: events.AgentEnd) -> None:
        self._writer.end()
        if notice := end_notice(event, self._planned_reply):
            self._writer.notice(*notice)
        label = {"aborted": "Stopped", "error": "Failed"}.get(event.stop_reason, "Done")
        self._writer.write(label, f"{self._summary()}{'. /retry retries.' if label == 'Failed' else ''}")

    def _summary(self) -> str:
        """Return the duration of the run, its tokens and tool calls, and the cost of the session."""
        usage, before = self._agent.state.usage, self._usage_before
        output = usage.output - before.output
        read = usage.context - before.context - output
        spent = format_delay(time.monotonic() - self._started)
        parts = [spent, f"{read:,} input tokens, {output:,} output tokens"]
        if self._tool_calls:
            parts.append("1 tool call" if self._tool_calls == 1 else f"{self._tool_calls} tool calls")
        if usage.cost and usage.cost.total:
            parts.append(f"${usage.cost.total:.4f} in this session")
        return ", ".join(parts)


def _took(duration: float) -> str:
    return f", {format_delay(duration)}" if duration >= 1 else ""


def user_command_lines(output: ToolOutput, *, was_live: bool) -> list[str]:
    """Return the end of a user command, after its output if that was not printed live."""
    if not isinstance(output.view, TerminalView):
        return split_lines(output_text(output))
    how = "stopped" if output.view.exit_code is None else _status(output.view, {})
    return [*([] if was_live else shorten(split_lines(output.view.output), MAX_SHELL_LINES)), f"[{how}]"]


def split_lines(text: str) -> list[str]:
    """Split a text into lines; a blank text has none."""
    return text.rstrip("\n").split("\n") if text.strip() else []


def _ending(result: ToolResult, duration: float) -> str:
    """Describe the end of a command whose output has been printed."""
    took, view = _took(duration), result.view
    if was_interrupted(result):
        return f"interrupted{took}"
    if result.is_error or not isinstance(view, TerminalView):
        note = view.note if isinstance(view, TerminalView) else None
        return f"failed{took}, {note or error_line(result.text)}"
    return f"{_status(view, result.details or {})}{took}"


def _status(view: TerminalView, details: Mapping[str, JsonValue]) -> str:
    job = details.get("job_id")
    if view.exit_code is not None:
        return f"exit code {view.exit_code}"
    return "ended" if not job else f"{job} is {details.get('state', 'running')}"


def _news(event: events.Event, jobs: Jobs) -> tuple[str, NoticeLevel] | None:
    """Return a notice of an event that the app shows in another way; None if it is not shown."""
    match event:
        case events.MessageDiscarded(reason=reason):
            text = f"The last reply was discarded: {reason}"
        case events.ModeChanged(mode=mode):
            text = f"Plan mode is {'on' if mode == PLAN.name else 'off'}."
        case events.ModelRouted(spec=spec):
            text = f"Switched to {spec.name}."
        case events.CompactionStart():
            text = "Summarizing older messages; Ctrl+C stops."
        case events.CompactionEnd() | events.Evicted() | events.ContextTrimmed():
            text = context_text(event)
        case events.JobStarted(job_id=job_id, title=title):
            text = f"{job_id} runs in the background: {title}. /jobs lists background jobs."
        case events.JobEnded():
            return job_notice(event, jobs)
        case _:
            return None
    return (text, "info") if text else None
