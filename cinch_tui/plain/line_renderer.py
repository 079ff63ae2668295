"""Events as labelled lines, in the order they are published."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TypeAlias

from cinch_tui.plain.line_writer import LineWriter, LiveOutput
from cinch_tui.plain.view_lines import line_count, shorten, view_lines
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.reports.formatting import app_hints
from cinch_tui.reports.notices import compaction_text, notice_of
from cinch_tui.shell_line import is_report, output_text
from harness.agent.agent import Agent
from harness.agent.retry import format_delay
from harness.approval.modes import PLAN
from harness.context.citations import sources_of, sources_text
from harness.deltas import BlockDelta, BlockEnd, BlockStart
from harness.events import (
    AgentEnd,
    AgentStart,
    CompactionEnd,
    Event,
    HookRan,
    JobEnded,
    JobStarted,
    MessageDiscarded,
    MessageEnd,
    MessageUpdate,
    ModeChanged,
    ModelRouted,
    Notice,
    RetryScheduled,
    SubagentEvent,
    ToolApprovalRequested,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from harness.execution.partial import was_interrupted
from harness.messages import AssistantMessage, JsonValue, ToolResult, Usage, UserMessage
from harness.ports.tool import ToolOutput
from harness.views import DiffView, TerminalView, TextView, TodoView

ToolEvent: TypeAlias = ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd | ToolApprovalRequested | HookRan

LABELS = {"info": "Notice", "warning": "Warning", "error": "Error"}
KINDS = {"text": "Assistant", "thinking": "Thinking"}
QUESTIONS = ("ask_user", "submit_plan")
"""Tools shown as the question they ask."""
READING = "read_file"
STEPS = "todo"
MOST_CHANGED = 40
MOST_PRINTED = 200


class LineRenderer:
    """Renders events; subscribe it to the agent's bus. `shows_thinking` may be changed at any time."""

    def __init__(self, paper: LineWriter, agent: Agent, *, show_thinking: bool) -> None:
        self._paper = paper
        self._agent = agent
        self.shows_thinking = show_thinking
        self._began = 0.0
        self._before = Usage()
        self._tools = 0
        self._is_first = False
        self._shown: set[str] = set()
        self._calls: dict[str, str] = {}
        self._since: dict[str, float] = {}
        self._live: dict[str, LiveOutput] = {}

    def status_text(self) -> str:
        """Return the running calls with their durations, or that the agent is idle."""
        if not self._agent.is_running:
            return "Idle: the agent waits for your input."
        now = time.monotonic()
        calls = [f"{told}, {format_delay(now - self._since[each])}" for each, told in self._calls.items()]
        return f"Running for {format_delay(now - self._began)}: {'; '.join(calls) or 'waiting for the model'}."

    def __call__(self, event: Event) -> None:
        match event:
            case AgentStart():
                self._began, self._before = time.monotonic(), self._agent.state.usage
                self._tools, self._is_first = 0, True
                self._calls.clear()
                self._since.clear()
                self._forget_live()
            case MessageUpdate():
                self._hear(event)
            case MessageEnd(message=UserMessage() as said):
                self._heard(said)
            case MessageEnd(message=AssistantMessage() as reply):
                self._said(reply)
            case (
                ToolExecutionStart() | ToolExecutionUpdate() | ToolExecutionEnd() | ToolApprovalRequested() | HookRan()
            ):
                self._tell_tool(event)
            case SubagentEvent():
                self._tell_of_sub_agent(event)
            case AgentEnd():
                self._tell_end(event)
            case _:
                self._tell_aside(event)

    def _tell_of_sub_agent(self, event: SubagentEvent) -> None:
        """Print the calls of a subagent as a sign of progress; their results are not printed."""
        match event.event:
            case ToolExecutionStart(call=call, summary=summary):
                whose = self._calls.get(event.call_id, "").partition(" ")[2]
                self._paper.write("Subagent", f"{f'{whose}: ' * bool(whose)}{call.name} {one_line(summary)}".rstrip())
            case RetryScheduled() | Notice() | SubagentEvent() as inner:
                self(inner)
            case _:
                pass

    def _hear(self, event: MessageUpdate) -> None:
        label = KINDS.get(event.kind) if event.kind != "thinking" or self.shows_thinking else None
        match event.delta:
            case BlockStart() if label:
                self._paper.begin(label)
            case BlockDelta(text=text) if label:
                self._paper.add(text)
            case BlockEnd() if label:
                self._paper.end()
            case _:
                pass

    def _heard(self, said: UserMessage) -> None:
        if said.synthetic:
            # The user has seen the output of their own commands.
            if not is_report(said):
                self._paper.write("Notice", said.text)
        elif not self._is_first:
            self._paper.write("You, delivered now", said.text)
        self._is_first = self._is_first and said.synthetic

    def _said(self, reply: AssistantMessage) -> None:
        self._paper.end()
        if sources := sources_of(reply.content):
            self._paper.write_plain(sources_text(sources))
        if reply.stop_reason == "error" and reply.error:
            self._paper.write("Error", app_hints(reply.error))

    def _show_live(self, call_id: str, view: TerminalView) -> None:
        """Print what a command prints, with its name when it is one of several."""
        if call_id not in self._live:
            name = self._calls.get(call_id, "")
            self._live[call_id] = LiveOutput(
                self._paper, lambda: "Output" if len(self._live) == 1 else f"Output of {name}"
            )
        self._live[call_id].update(view)

    def _forget_live(self) -> None:
        for live in self._live.values():
            live.stop()
        self._live.clear()

    def _tell_tool(self, event: ToolEvent) -> None:
        match event:
            case ToolExecutionUpdate(call_id=call_id, view=TerminalView() as view):
                self._show_live(call_id, view)
            case ToolApprovalRequested(call=call):
                self._shown.add(call.id)
            case ToolExecutionStart(call=call, summary=summary):
                self._tools += 1
                name = "" if call.name == STEPS else call.name
                self._calls[call.id] = told = f"{name} {one_line(summary)}".strip()
                self._since[call.id] = time.monotonic()
                if call.name not in (*QUESTIONS, STEPS):
                    self._paper.write("Tool", told)
            case ToolExecutionEnd(result=ToolResult(view=TodoView() as steps) as result):
                self._paper.write("Steps", "\n".join([self._calls.pop(result.call_id, STEPS), *view_lines(steps)]))
            case ToolExecutionEnd(result=result, duration=duration):
                self._tell_result(result, duration)
            case HookRan(result=ToolResult() as result):
                self._paper.write("Result", f"{result.tool_name} was blocked: {result.text}")
            case _:
                pass

    def _tell_result(self, result: ToolResult, duration: float) -> None:
        # Calls that run together end in any order.
        call = self._calls.pop(result.call_id, result.tool_name)
        live = self._live.get(result.call_id)
        if live is not None:
            live.finish(result.view)
            del self._live[result.call_id]
        if live is not None and live.has_printed:
            self._paper.write("Result", f"{call}: {_ending(result, duration)}")
        elif result.tool_name not in QUESTIONS or result.is_error:
            self._paper.write("Result", f"{call}: {self._result(result, duration)}")

    def _result(self, result: ToolResult, duration: float) -> str:
        took = f", {format_delay(duration)}" if duration >= 1 else ""
        view, details = result.view, result.details or {}
        if details.get("denied"):
            return "denied"
        if was_interrupted(result):
            return "\n".join([f"interrupted{took}", *shorten(split_lines(result.text))])
        if result.is_error:
            return "\n".join([f"failed{took}", *shorten(split_lines(result.text))])
        if isinstance(view, TerminalView):
            return "\n".join([f"{_status(view, details)}{took}", *shorten(split_lines(view.output))])
        if isinstance(view, TextView) and result.tool_name == READING:
            # File contents are not printed: a screen reader would read them out.
            return f"done{took}, {line_count(split_lines(view.text))}"
        if isinstance(view, DiffView):
            changed = [] if result.call_id in self._shown else shorten(view_lines(view), MOST_CHANGED)
            return "\n".join([f"done{took}", *changed])
        lines = view_lines(view) if view is not None else split_lines(result.text)
        return "\n".join([f"done{took}", *shorten(lines)])

    def _tell_end(self, event: AgentEnd) -> None:
        self._paper.end()
        if event.stop_reason == "length" and not event.limit:
            self._paper.write(
                "Warning", "The reply was cut off at the model's token limit; send “continue” to continue."
            )
        how = {"aborted": "Stopped", "error": "Failed"}.get(event.stop_reason, "Done")
        self._paper.write(how, f"{self._figures()}{'. /retry retries.' if how == 'Failed' else ''}")

    def _figures(self) -> str:
        usage, before = self._agent.state.usage, self._before
        read = usage.input + usage.cache_read + usage.cache_write
        read -= before.input + before.cache_read + before.cache_write
        told = [
            format_delay(time.monotonic() - self._began),
            f"{read:,} input tokens, {usage.output - before.output:,} output tokens",
        ]
        if self._tools:
            told.append("1 tool call" if self._tools == 1 else f"{self._tools} tool calls")
        if usage.cost and usage.cost.total:
            told.append(f"${usage.cost.total:.4f} in this session")
        return ", ".join(told)

    def _tell_aside(self, event: Event) -> None:
        """Print notices, retries, limits and other events about the run."""
        if labelled := _labelled(event):
            self._paper.write(*labelled)


def user_command_lines(output: ToolOutput, *, was_live: bool) -> list[str]:
    """Return the end of a user command, after its output if that was not printed live."""
    if not isinstance(output.view, TerminalView):
        return split_lines(output_text(output))
    how = "stopped" if output.view.exit_code is None else _status(output.view, {})
    return [*([] if was_live else shorten(split_lines(output.view.output), MOST_PRINTED)), f"[{how}]"]


def split_lines(text: str) -> list[str]:
    """Split a text into lines; a blank text has none."""
    return text.rstrip("\n").split("\n") if text.strip() else []


def _ending(result: ToolResult, duration: float) -> str:
    """Describe the end of a command whose output has been printed."""
    took, view = f", {format_delay(duration)}" if duration >= 1 else "", result.view
    if was_interrupted(result):
        return f"interrupted{took}"
    if result.is_error or not isinstance(view, TerminalView):
        note = view.note if isinstance(view, TerminalView) else None
        return f"failed{took}, {note or one_line(result.text.partition(chr(10))[0])}"
    return f"{_status(view, result.details or {})}{took}"


def _status(view: TerminalView, details: Mapping[str, JsonValue]) -> str:
    job = details.get("job_id")
    if view.exit_code is not None:
        return f"exit code {view.exit_code}"
    return "ended" if not job else f"{job} is {details.get('state', 'running')}"


def _labelled(event: Event) -> tuple[str, str] | None:
    """Return the label and text of an event about the work, rather than of it; None if it is not shown."""
    if notice := notice_of(event):
        return LABELS[notice[0]], notice[1]
    match event:
        case MessageDiscarded(reason=reason):
            return "Notice", f"The last reply was discarded: {reason}"
        case ModeChanged(mode=mode):
            return "Notice", f"Plan mode is {'on' if mode == PLAN.name else 'off'}."
        case ModelRouted(spec=spec):
            return "Notice", f"Switched to {spec.name}."
        case CompactionEnd():
            text = compaction_text(event)
            return ("Notice", text) if text else None
        case _:
            return _job_notice(event)


def _job_notice(event: Event) -> tuple[str, str] | None:
    match event:
        case JobStarted(job_id=job_id, title=title):
            return "Notice", f"{job_id} runs in the background: {title}. /jobs lists background jobs."
        case JobEnded(job_id=job_id, state="ended", exit_code=exit_code):
            return "Notice", f"{job_id} exited with code {exit_code}."
        case JobEnded(job_id=job_id, state=state):
            return "Notice", f"{job_id}: {state}."
        case _:
            return None
