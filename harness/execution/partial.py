"""Partial output of interrupted and timed-out calls."""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec.structs import replace

from harness.function_tools.coerce_output import checked_output, output_of
from harness.messages import JsonObject, Text, ToolCall, ToolResult
from harness.ports.tool import ToolOutput
from harness.views import TerminalView, TextView, View

logger = logging.getLogger(__name__)

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
        """Return the output of a call so far; empty if there is none."""
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
    content = (*partial.content, Text(f"{_separator(partial)}{line}"))
    return replace(partial, content=content, view=_noted(partial.view, note), details=details, is_error=True)


def timed_out(partial: ToolOutput, error: str, note: str) -> ToolOutput:
    """Return the result of a call that timed out: the error and the output so far."""
    head = Text(f"{error}. Output so far:\n" if partial.content else error)
    return replace(partial, content=(head, *partial.content), view=_noted(partial.view, note), is_error=True)


def was_interrupted(result: ToolResult) -> bool:
    """Return True for the result of a call that the user interrupted while it ran."""
    return bool(result.details and result.details.get("interrupted"))


def _separator(partial: ToolOutput) -> str:
    text = "".join(each.text for each in partial.content if isinstance(each, Text))
    return "\n" if text and not text.endswith("\n") else ""


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
