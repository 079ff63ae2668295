"""Bridge from agent events to the widgets of the chat screen.

The agent's bus calls it directly, in the app's event loop: one Textual message per streamed token would cost more than
the token. Widgets coalesce changes and paint on their own schedule.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from textual.timer import Timer

from cinch_tui.controller.written_calls import WrittenCalls
from cinch_tui.keybindings.keymap import hint
from cinch_tui.reports.citations import sources_of
from cinch_tui.reports.formatting import app_hints
from cinch_tui.reports.notices import context_text, end_notice, notice_of, retry_text, sentence
from cinch_tui.shell_line import is_report
from cinch_tui.transcript.blocks import NoticeBlock, SourcesBlock, SummaryBlock
from cinch_tui.transcript.history_blocks import PLANNED, show_result, user_message_blocks
from cinch_tui.transcript.replies import ReplyBlock, ThinkingBlock
from cinch_tui.transcript.tool_block import ToolBlock
from cinch_tui.widgets.chat_widgets import ChatWidgets
from cinch_tui.widgets.status_bar import AgentState
from harness import events
from harness.approval.modes import PLAN
from harness.deltas import BlockDelta, BlockEnd, BlockStart
from harness.errors import InvalidReply, ModelOverloaded, ModelThrottled, NetworkError
from harness.jobs import is_job_notice
from harness.messages import AssistantMessage, Text, Thinking, UserMessage
from harness.ports.tool import Tool
from harness.views import TerminalView, TextView, TodoView, View

SHOWN_ELSEWHERE = ("todo", "ask_user", "submit_plan")
"""Tools with their own panel or dialog."""
HIDDEN_WHILE_WRITTEN = ("todo",)
"""Tools whose calls are not shown while the model writes them: their panel changes right afterwards."""
QUESTIONS = ("ask_user", "submit_plan")
"""Tools whose calls wait for the user."""


class Bridge:
    """Updates widgets; subscribe `receive` to an agent's bus."""

    def __init__(self, widgets: ChatWidgets, tools: Callable[[], Sequence[Tool]] = lambda: ()) -> None:
        """Create a bridge; `tools` returns the tools that the model may call."""
        self._widgets = widgets
        self._streaming: dict[int, ReplyBlock | ThinkingBlock] = {}
        self._written = WrittenCalls(widgets.tool_panel, tools)
        self._planned_reply = ""
        self._reply_blocks: list[ReplyBlock | ThinkingBlock] = []
        self._tools: dict[str, ToolBlock] = {}
        self._retry = RetryNotice(widgets)
        self._questions = 0
        self._model = ""
        self._state_before: AgentState | None = None
        """State before a compaction; None if no compaction is running."""
        self._handlers: dict[type[events.Event], Callable[[Any], object]] = {
            events.AgentStart: lambda _: self._agent_started(),
            events.AgentEnd: self._agent_ended,
            events.TurnStart: lambda _: widgets.set_status(turn=widgets.status.status.turn + 1),
            events.MessageStart: self._message_started,
            events.MessageUpdate: self._message_updated,
            events.MessageEnd: self._message_ended,
            events.MessageDiscarded: lambda _: self._message_discarded(),
            events.ToolApprovalRequested: lambda _: self._question_opened(),
            events.ToolApprovalResolved: lambda _: self._question_closed(),
            events.ToolExecutionStart: self._tool_started,
            events.ToolExecutionUpdate: self._tool_updated,
            events.ToolExecutionEnd: self._tool_ended,
            events.HookRan: self._hook_ran,
            events.UsageUpdate: lambda event: widgets.show_usage(event.total, event.context, event.window),
            events.RetryScheduled: self._retry.show,
            events.SubagentEvent: self._subagent_reported,
            events.ModelFallback: self._fell_back,
            events.ModelRouted: lambda event: widgets.set_status(model=event.spec.name),
            events.CompactionStart: self._compaction_started,
            events.CompactionEnd: self._compaction_ended,
            events.ModeChanged: lambda event: widgets.set_status(plan=event.mode == PLAN.name),
            events.ModelChanged: self._model_changed,
        }

    def receive(self, event: events.Event) -> None:
        self._handlers.get(type(event), self._show_notice)(event)

    def forget(self) -> None:
        """Drop references to blocks after another conversation was shown."""
        self._streaming.clear()
        self._tools.clear()

    def _agent_started(self) -> None:
        self._questions = 0
        self._model = self._widgets.status.status.model
        self._widgets.set_status(state="running", note="", turn=0)

    def _agent_ended(self, event: events.AgentEnd) -> None:
        # Routing and fallback models apply to one run only.
        model = self._model or self._widgets.status.status.model
        self._widgets.set_status(state=_STATES.get(event.stop_reason, "idle"), note="", model=model)
        self._written.end()
        self._widgets.tool_panel.clear()
        self._retry.drop()
        if event.stop_reason == "aborted":
            self._widgets.notice("Stopped.", "warning")
        elif event.error_type in _PASSING:
            self._widgets.notice("/retry asks again.")
        elif notice := end_notice(
            event, self._planned_reply, accepting=hint("chat.accept_plan or /plan accept carries out")
        ):
            self._widgets.notice(*notice)

    def _message_started(self, event: events.MessageStart) -> None:
        if event.role == "assistant":
            self._streaming.clear()
            self._reply_blocks.clear()
            # The calls of the previous turn have ended; the transcript shows them.
            self._widgets.tool_panel.retire()

    def _message_updated(self, event: events.MessageUpdate) -> None:
        match event.delta:
            case BlockStart(index, kind):
                self._open_block(index, kind)
                if kind == "tool_call" and event.delta.name not in HIDDEN_WHILE_WRITTEN:
                    self._written.begin(event.delta)
            case BlockDelta(index, text):
                block = self._streaming.get(index)
                if block is None:
                    self._written.add(index, text)
                else:
                    block.append(text)
                    self._widgets.transcript.changed(block)
            case BlockEnd(index):
                self._finish_block(index)

    def _open_block(self, index: int, kind: str) -> None:
        self._retry.drop()
        if kind == "text":
            self._streaming[index] = self._reply()
        elif kind == "thinking":
            self._streaming[index] = ThinkingBlock()
        else:
            return
        self._reply_blocks.append(self._streaming[index])
        self._widgets.transcript.add(self._streaming[index])

    def _reply(self, text: str = "") -> ReplyBlock:
        """Create a reply; in plan mode it is marked, since it describes changes that were not made."""
        reply = ReplyBlock(text)
        reply.tag = PLANNED if self._widgets.status.status.plan else ""
        return reply

    def _finish_block(self, index: int) -> None:
        block = self._streaming.pop(index, None)
        if block is not None:
            block.finish()
            self._widgets.transcript.changed(block)

    def _message_ended(self, event: events.MessageEnd) -> None:
        message = event.message
        if isinstance(message, UserMessage):
            # The output of the user's own command was shown when it ran, and what happens to a job is a notice.
            if not (is_report(message) or is_job_notice(message)):
                self._widgets.transcript.extend(user_message_blocks(message))
            return
        if not isinstance(message, AssistantMessage):
            return
        self._written.end()
        self._planned_reply = message.text if self._widgets.status.status.plan else ""
        for index in tuple(self._streaming):
            self._finish_block(index)
        if not self._reply_blocks:
            self._show_unstreamed(message)
        if sources := sources_of(message.content):
            self._widgets.transcript.add(SourcesBlock(sources))
        if message.stop_reason == "error" and message.error:
            self._widgets.notice(app_hints(message.error), "error")

    def _show_unstreamed(self, message: AssistantMessage) -> None:
        """Show a reply that was not streamed: it was chosen among parallel replies."""
        for content in message.content:
            match content:
                case Text(text) if text:
                    self._widgets.transcript.add(self._reply(text))
                case Thinking(text) if text:
                    self._widgets.transcript.add(ThinkingBlock(text))
                case _:
                    pass

    def _message_discarded(self) -> None:
        self._written.end()
        for block in self._reply_blocks:
            self._widgets.transcript.drop(block)
        self._reply_blocks.clear()
        self._streaming.clear()

    def _question_opened(self) -> None:
        self._questions += 1
        self._widgets.set_status(note="needs input")

    def _question_closed(self) -> None:
        """Count down: several subagents may wait for an answer at once."""
        self._questions = max(0, self._questions - 1)
        self._widgets.set_status(note="needs input" if self._questions else "")

    def _tool_started(self, event: events.ToolExecutionStart) -> None:
        block = ToolBlock(event.call.id, event.label, event.summary)
        block.status = "running"
        self._tools[event.call.id] = block
        if event.call.name in SHOWN_ELSEWHERE:
            self._widgets.transcript.add(block)
        else:
            self._widgets.transcript.add_fresh(block)
        if event.call.name in QUESTIONS:
            self._question_opened()
        if event.call.name not in SHOWN_ELSEWHERE:
            self._widgets.tool_panel.started(event.call.id, event.label, event.summary)

    def _tool_updated(self, event: events.ToolExecutionUpdate) -> None:
        block = self._tools.get(event.call_id)
        if block is None:
            return
        block.view = event.view
        self._widgets.transcript.changed(block)
        self._widgets.tool_panel.updated(event.call_id, _last_line(event.view))

    def _tool_ended(self, event: events.ToolExecutionEnd) -> None:
        result = event.result
        block = self._tools.pop(result.call_id, None)
        if block is None:
            return
        if result.tool_name in QUESTIONS:
            self._question_closed()
        if block.view is not None and result.view is not None:
            # The last line of output is more useful now than what the tool was doing.
            self._widgets.tool_panel.updated(result.call_id, _last_line(result.view))
        show_result(block, result)
        block.duration = event.duration
        self._widgets.transcript.settle(block)
        self._widgets.tool_panel.finished(result.call_id, ok=block.outcome == "done")
        if isinstance(result.view, TodoView):
            self._widgets.todo_panel.todo = result.view

    def _hook_ran(self, event: events.HookRan) -> None:
        if event.result is not None:
            # A blocked call has neither a start nor an end event.
            block = ToolBlock(event.call_id, event.result.tool_name, "")
            show_result(block, event.result)
            self._widgets.transcript.add(block)
        elif event.outcome == "failed":
            self._widgets.notice(f"A hook failed ({event.point}): {event.reason}", "warning")

    def _subagent_reported(self, event: events.SubagentEvent) -> None:
        """Show what the user needs to know of a subagent besides its progress, which its call shows."""
        match event.event:
            case (
                events.ToolApprovalRequested()
                | events.ToolApprovalResolved()
                | events.RetryScheduled()
                | events.Notice()
                | events.SubagentEvent()
            ):
                self.receive(event.event)
            case events.HookRan(outcome="injected", reason=reason):
                # The messages of a subagent are not shown.
                self._widgets.notice(f"To the subagent: {reason}")
            case events.ToolExecutionStart(call=call) if call.name in QUESTIONS:
                self._question_opened()
            case events.ToolExecutionEnd(result=result) if result.tool_name in QUESTIONS:
                self._question_closed()
            case events.MessageStart(role="assistant"):
                self._retry.drop()
            case _:
                pass

    def _model_changed(self, event: events.ModelChanged) -> None:
        self._model = event.spec.name
        self._widgets.show_model(event.spec.name)

    def _fell_back(self, event: events.ModelFallback) -> None:
        self._retry.drop()
        self._show_notice(event)
        self._widgets.set_status(model=event.spec.name)

    def _compaction_started(self, event: events.CompactionStart) -> None:
        del event
        self._state_before = self._widgets.status.status.state
        self._widgets.set_status(state="running")

    def _compaction_ended(self, event: events.CompactionEnd) -> None:
        if self._state_before:
            self._widgets.set_status(state=self._state_before)
            self._state_before = None
        if text := context_text(event):
            self._widgets.transcript.add(SummaryBlock(text, event.summary) if event.summary else NoticeBlock(text))

    def _show_notice(self, event: events.Event) -> None:
        if notice := notice_of(event):
            self._widgets.notice(*notice)
        elif text := context_text(event):
            self._widgets.notice(text)


_PASSING = frozenset(error.__name__ for error in (ModelOverloaded, ModelThrottled, NetworkError, InvalidReply))
_STATES: dict[str, AgentState] = {"error": "error", "aborted": "aborted"}


def _last_line(view: View) -> str:
    match view:
        case TerminalView(output=text) | TextView(text):
            return text.rstrip().rpartition("\n")[2]
        case _:
            return ""


MIN_COUNTDOWN_S = 3.0
"""Seconds; a shorter wait is over before anyone has read how to end it."""


class RetryNotice:
    """At most one notice, which counts down the seconds until it is dropped."""

    def __init__(self, widgets: ChatWidgets) -> None:
        self._widgets = widgets
        self._block: NoticeBlock | None = None
        self._timer: Timer | None = None
        self._event: events.RetryScheduled | None = None
        self._due = 0.0

    def show(self, event: events.RetryScheduled) -> None:
        self.drop()
        self._event, self._due = event, time.monotonic() + event.delay
        self._block = self._widgets.notice(_countdown_text(event, event.delay), "warning")
        self._widgets.set_status(note=f"retry {event.attempt}/{event.max_retries}")
        if event.delay >= MIN_COUNTDOWN_S:
            self._timer = self._widgets.transcript.set_interval(1.0, self._update)

    def drop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        if self._block is not None:
            self._widgets.transcript.drop(self._block)
            self._widgets.set_status(note="")
        self._block = self._timer = self._event = None

    def _update(self) -> None:
        if self._block is not None and self._event is not None:
            self._block.text = _countdown_text(self._event, self._due - time.monotonic())
            self._widgets.transcript.changed(self._block)


def _countdown_text(event: events.RetryScheduled, seconds_left: float) -> str:
    if event.delay < MIN_COUNTDOWN_S:
        return retry_text(event)
    reason, attempt = sentence(event.error), f"{event.attempt} of {event.max_retries}"
    wait = f"in {math.ceil(seconds_left)} s" if seconds_left > 0 else "now"
    options = ", ".join(filter(None, ("/retry asks at once", "/model takes another", hint("chat.abort stops"))))
    return f"{reason} Trying again {wait} ({attempt}): {options}."
