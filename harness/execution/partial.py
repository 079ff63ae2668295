"""Partial output: what a call that is interrupted hands back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from harness.function_tools.coerce_output import checked_output, output_of
from harness.messages import JsonObject, Text, ToolCall, ToolResult
from harness.ports.tool import ToolOutput
from harness.views import TerminalView, TextView, View

logger = logging.getLogger(__name__)

UNSTOPPABLE = "The call did not stop when it was told to; it may still be doing something."


class PartialOutputs:
    """The output so far of the calls of a reply: what a tool offers, else what it showed last."""

    def __init__(self) -> None:
        self._sources: dict[str, Callable[[], object]] = {}
        self._views: dict[str, View] = {}

    def offer(self, call: ToolCall, source: Callable[[], object]) -> None:
        """Call `source` for the output when the call is interrupted. The last one offered counts."""
        self._sources[call.id] = source

    def show(self, call: ToolCall, view: View) -> None:
        self._views[call.id] = view

    def of(self, call: ToolCall) -> ToolOutput:
        """The output of a call so far; without content when there is none."""
        source = self._sources.get(call.id)
        if source is not None:
            try:
                return checked_output(output_of(source()))
            except Exception:  # a tool is a stranger's code: without its output the call still needs its answer
                logger.exception("tool %s could not hand back its partial output", call.name)
        return _shown(self._views.get(call.id))


def interrupted(partial: ToolOutput, seconds: float, *, has_stopped: bool = True) -> ToolOutput:
    """The result of a call that ran for so many seconds before it was interrupted."""
    note = f"interrupted after {seconds:.1f} s by the user"
    line = f"[{note}]" if has_stopped else f"[{note}. {UNSTOPPABLE}]"
    details: JsonObject = {**(partial.details or {}), "interrupted": True, "duration": round(seconds, 3)}
    content = (*partial.content, Text(f"{_separator(partial)}{line}"))
    return replace(partial, content=content, view=_noted(partial.view, note), details=details, is_error=True)


def timed_out(partial: ToolOutput, error: str, note: str) -> ToolOutput:
    """The result of a call that took too long: the error, and the output until then."""
    head = Text(f"{error}. Its output until then:\n" if partial.content else error)
    return replace(partial, content=(head, *partial.content), view=_noted(partial.view, note), is_error=True)


def was_interrupted(result: ToolResult) -> bool:
    """True for the result of a call that the user interrupted while it ran."""
    return bool(result.details and result.details.get("interrupted"))


def _separator(partial: ToolOutput) -> str:
    text = "".join(each.text for each in partial.content if isinstance(each, Text))
    return "\n" if text and not text.endswith("\n") else ""


def _noted(view: View | None, note: str) -> View | None:
    """The view with a note on its end. The text of a `TextView` is in the result, which is displayed without a view."""
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
