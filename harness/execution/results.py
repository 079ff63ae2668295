"""Results of the calls of one reply: exactly one per call, published to observers and hooks in order.

The result of an interrupted or timed-out call contains its partial output.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from harness.concurrency import cancel_tasks
from harness.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from harness.execution.context import ExecutionContext
from harness.execution.running import CANCELLED
from harness.execution.spill import limit_result_now, spill_name
from harness.function_tools.coerce_output import checked_output, output_of
from harness.messages import JsonObject, Text, ToolCall, ToolResult
from harness.ports.tool import Tool, ToolOutput
from harness.publishing import publish_message
from harness.views import TerminalView, TextView, View

logger = logging.getLogger(__name__)

STOPPED = "Skipped: the run was stopped before the call began."
INTERRUPTED = "Skipped: the user interrupted the turn before the call began."
STEERED = "Skipped due to queued user message."


class Results:
    """Results of the calls. Calls that never started get `skip_reason`, interrupted ones their partial output."""

    def __init__(self, run: ExecutionContext, calls: Sequence[ToolCall]) -> None:
        self._run = run
        self._calls = calls
        self._started: dict[str, float] = {}
        self._results: dict[str, ToolResult] = {}
        self._unpublished: dict[str, tuple[ToolCall, ToolResult]] = {}
        self._cancelled: set[str] = set()
        self.partials = PartialOutputs()
        self.skip_reason = STOPPED
        self.terminate = False

    def __contains__(self, call: ToolCall) -> bool:
        return call.id in self._results

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """All results in call order; valid once `close` was called."""
        return tuple(self._results[call.id] for call in self._calls)

    def failed(self, call_ids: Iterable[str]) -> str | None:
        """Return the tool of the first of these calls that has no result yet, or an error; None if all succeeded."""
        names = {call.id: call.name for call in self._calls}
        results = ((each, self._results.get(each)) for each in call_ids)
        return next((names[each] for each, result in results if result is None or result.is_error), None)

    def may_begin(self) -> bool:
        """Check the inbox: once the user has steered or interrupted, no further call of this reply starts."""
        inbox = self._run.inbox
        if inbox.steering:
            self.skip_reason = STEERED
        elif inbox.interruption and self.skip_reason == STOPPED:
            self.skip_reason = INTERRUPTED
        return self.skip_reason == STOPPED

    def begin(self, call: ToolCall) -> None:
        tool = self._run.tool(call.name)
        label = tool.label if tool else call.name
        self._started[call.id] = time.monotonic()
        self._run.bus.publish(ToolExecutionStart(call=call, label=label, summary=_summary(tool, call)))

    def cancel(self, call: ToolCall) -> None:
        """Mark a call as cancelled by the user."""
        self._cancelled.add(call.id)

    def update(self, call: ToolCall, view: View) -> None:
        """Publish the progress of a call; ignored after its result."""
        hooks = self._run.hooks
        if call in self or (hooks and not hooks.before_update(call, view)):
            return
        self.partials.show(call, view)
        self._run.bus.publish(ToolExecutionUpdate(call_id=call.id, view=view))
        if hooks:
            hooks.after_update(call, view)

    def record(self, call: ToolCall, output: ToolOutput) -> None:
        """Set the result of a call; only the first one counts."""
        if call in self:
            return
        ran = call.id in self._started
        if not ran:
            self.begin(call)
        result = self._keep(call, output)
        duration = time.monotonic() - self._started[call.id] if ran else 0.0
        self._run.bus.publish(ToolExecutionEnd(result=result, duration=duration, child_run_id=output.child_run_id))
        if self._run.hooks:
            self._unpublished[call.id] = (call, result)

    def block(self, call: ToolCall, reason: str) -> None:
        """Set the result of a call that a hook blocked."""
        if call not in self:
            self._run.hooks.blocked(call, self._keep(call, ToolOutput.failure(reason)))

    def interrupt(self, call: ToolCall, *, has_stopped: bool = True) -> None:
        """Set the result of a call that was cancelled while it ran: its partial output."""
        seconds = time.monotonic() - self._started[call.id]
        output = interrupted(self.partials.of(call), seconds, has_stopped=has_stopped)
        limit = self._run.options.execution.max_result_chars
        self.record(call, limit_result_now(output, limit, self._run.spill_dir / spill_name("result", call.id)))

    def abandon_running(self) -> None:
        """Set the results of calls that did not stop when cancelled."""
        for call in self._calls:
            if call.id in self._started and call not in self:
                logger.warning("tool %s did not stop when it was cancelled", call.name)
                self.interrupt(call, has_stopped=False)

    def close(self) -> None:
        """Give every call a result, `skip_reason` if it has none, and add all to the history in call order."""
        for call in self._calls:
            self.record(call, ToolOutput.failure(CANCELLED if call.id in self._cancelled else self.skip_reason))
        for call in self._calls:
            self._run.history.append(self._results[call.id])
            publish_message(self._run.bus.publish, self._results[call.id])

    async def publish(self, call: ToolCall) -> None:
        """Notify the hooks that a call has ended."""
        unpublished = self._unpublished.pop(call.id, None)
        if unpublished is not None:
            await self._run.hooks.after_tool(*unpublished)

    async def publish_remaining(self, seconds: float | None = None) -> None:
        """Notify the hooks of all ended calls that `publish` missed, for at most `seconds`."""
        if not self._unpublished:
            return
        task = asyncio.create_task(self._publish_all())
        try:
            await asyncio.wait([task], timeout=seconds)
        finally:
            await cancel_tasks([task], self._run.options.cancel_grace_s)

    async def _publish_all(self) -> None:
        for call in self._calls:
            await self.publish(call)

    def _keep(self, call: ToolCall, output: ToolOutput) -> ToolResult:
        content = output.content or (Text("(no output)"),)
        result = ToolResult(call.id, call.name, content, output.is_error, output.details, output.view)
        self._results[call.id] = result
        self.terminate = self.terminate or output.terminate
        return result


def _summary(tool: Tool | None, call: ToolCall) -> str:
    try:
        summary = tool.summary(call.arguments) if tool else ""
    except Exception:  # user-supplied tool; may raise. The call still needs a result
        logger.exception("tool %s: summary failed", call.name)
        return ""
    return summary if isinstance(summary, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]


UNSTOPPABLE = "The call did not stop when it was cancelled; it may still be running."


class PartialOutputs:
    """Partial outputs of the calls of a reply: what a tool offers, else its last progress view."""

    def __init__(self) -> None:
        self._sources: dict[str, Callable[[], object]] = {}
        self._views: dict[str, View] = {}

    def offer(self, call: ToolCall, source: Callable[[], object]) -> None:
        """Register a function that returns the output if the call is interrupted; the latest one is used."""
        self._sources[call.id] = source

    def show(self, call: ToolCall, view: View) -> None:
        self._views[call.id] = view

    def of(self, call: ToolCall) -> ToolOutput:
        """Return the output of a call so far; empty if absent."""
        source = self._sources.get(call.id)
        if source is not None:
            try:
                return checked_output(output_of(source()))
            except Exception:  # user-supplied tool; may raise. The call still needs a result
                logger.exception("tool %s: partial output failed", call.name)
        return _shown(self._views.get(call.id))


def interrupted(partial: ToolOutput, seconds: float, *, has_stopped: bool = True) -> ToolOutput:
    """Return the result of a call that the user interrupted after `seconds`."""
    note = f"interrupted after {seconds:.1f} s by the user"
    line = f"[{note}]" if has_stopped else f"[{note}. {UNSTOPPABLE}]"
    details: JsonObject = {**(partial.details or {}), "interrupted": True, "duration": round(seconds, 3)}
    text = "".join(each.text for each in partial.content if isinstance(each, Text))
    separator = "\n" if text and not text.endswith("\n") else ""
    content = (*partial.content, Text(f"{separator}{line}"))
    return replace(partial, content=content, view=_noted(partial.view, note), details=details, is_error=True)


def timed_out(partial: ToolOutput, error: str, note: str) -> ToolOutput:
    """Return the result of a call that timed out: the error and the output so far."""
    head = Text(f"{error}. Output so far:\n" if partial.content else error)
    return replace(partial, content=(head, *partial.content), view=_noted(partial.view, note), is_error=True)


def was_interrupted(result: ToolResult) -> bool:
    """Return True for the result of a call that the user interrupted while it ran."""
    return bool(result.details and result.details.get("interrupted"))


def _noted(view: View | None, note: str) -> View | None:
    """Return the view with a note on how the call ended; the text of a `TextView` is already in the result."""
    match view:
        case TerminalView():
            return replace(view, note=note)
        case TextView():
            return None
        case _:
            return view


def _shown(view: View | None) -> ToolOutput:
    match view:
        case TerminalView(output=text) | TextView(text) if text.strip():
            return ToolOutput.text(text, view=view)
        case _:
            return ToolOutput((), view)
