"""Repeated calls: an output that the model still has in its context is replaced by a reference to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from harness.approval.assessment import Allowed, validated, without_dependencies
from harness.context.overlay import UNCHANGED_SINCE, is_reference
from harness.errors import InvalidArguments
from harness.messages import AssistantMessage, Image, ModelMessage, Text, ToolCall, ToolResult, text_of
from harness.ports.tool import ToolOutput
from harness.views import TextView

_SHORTEST = 400
"""Shortest text, in characters, for which a reference is worthwhile."""


def without_repetition(allowed: Allowed, output: ToolOutput, sent: Sequence[ModelMessage]) -> ToolOutput:
    """Return the output, or a reference if the latest result of the same call is equal and the model still has it.

    After a reference the complete output is returned again: a model that repeats its call needs the text.

    Args:
        allowed: The call.
        output: Its output.
        sent: Messages of the latest request: what was evicted, summarized or truncated is not in them.
    """
    if not allowed.risk.cacheable or output.is_error or not _is_long(output):
        return output
    earlier = next(_earlier_results(allowed, sent), None)
    if earlier is None or is_reference(earlier) or earlier.content != output.content:
        return output
    text = f"[Unchanged since the same call above ({earlier.call_id}): {_extent(output)}. Use that result.]"
    details = {**(output.details or {}), UNCHANGED_SINCE: earlier.call_id}
    return replace(output, content=(Text(text),), view=TextView(text), details=details)


def _extent(output: ToolOutput) -> str:
    match output.details:
        case {"first": int() as first, "last": int() as last}:
            return f"lines {first}–{last}"
        case _:
            return f"{text_of(output.content).count(chr(10)) + 1:,} lines"


def _is_long(output: ToolOutput) -> bool:
    return len(text_of(output.content)) >= _SHORTEST or any(isinstance(each, Image) for each in output.content)


def _earlier_results(allowed: Allowed, sent: Sequence[ModelMessage]) -> Iterator[ToolResult]:
    """Yield the results of the same call, latest first."""
    results: dict[str, ToolResult] = {}
    for message in reversed(sent):
        if isinstance(message, ToolResult):
            results[message.call_id] = message
        elif isinstance(message, AssistantMessage):
            for call in reversed(message.tool_calls):
                if call.id in results and _is_same(allowed, call):
                    yield results[call.id]
            results.clear()


def _is_same(allowed: Allowed, call: ToolCall) -> bool:
    """Return True if a call has the same tool and arguments; defaults may be missing and aliases used."""
    if call.name != allowed.call.name:
        return False
    schema = allowed.tool.parameters
    mine, theirs = (without_dependencies(each.arguments, schema)[0] for each in (allowed.call, call))
    if any(mine[key] != theirs[key] for key in mine.keys() & theirs.keys()):
        return False
    if mine.keys() == theirs.keys():
        return True
    try:
        return validated(allowed.tool, theirs) == allowed.arguments
    except InvalidArguments:
        return False
