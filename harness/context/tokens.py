"""Token counts: estimates by length, calibrated per model by what the service reports."""

from __future__ import annotations

import json
from collections.abc import Iterable

import msgspec
from msgspec import Struct, field

from harness.messages import CustomMessage, Image, JsonObject, Message, Text, Thinking, ToolCall
from harness.ports.provider import ToolSpec

CHARS_PER_TOKEN = 4.0
IMAGE_TOKENS = 1_200
MAX_FACTOR = 4.0
"""Maximum factor between a reported number of tokens and its estimate, in both directions."""

_MOST_SCHEMAS = 1_000

_encode = msgspec.json.Encoder().encode
_schema_lengths: dict[int, tuple[JsonObject, int]] = {}


def estimate_text(text: str) -> int:
    """Return the estimated tokens of a text, uncalibrated."""
    return int(len(text) / CHARS_PER_TOKEN) + 1


def estimate_message(message: Message) -> int:
    """Return the estimated tokens of a message, uncalibrated; 0 for a custom message, which models never see."""
    if isinstance(message, CustomMessage):
        return 0
    return sum(_estimate_block(block) for block in message.content)


def estimate_messages(messages: Iterable[Message]) -> int:
    """Return the estimated tokens of messages, uncalibrated."""
    return sum(map(estimate_message, messages))


def estimate_overhead(system: str, tools: Iterable[ToolSpec]) -> int:
    """Estimate the tokens of a request without messages."""
    return estimate_text(system) + sum(_estimate_tool(tool) for tool in tools)


class Report(Struct, frozen=True):
    """Tokens that a service reported for a context."""

    model: str
    """Model as `provider/model`."""
    tokens: int
    """Tokens of the request and its reply."""
    estimate: int
    """Estimate of the same."""


class Calibration(Struct):
    """Ratio of reported to estimated tokens, per model."""

    factors: dict[str, float] = field(default_factory=dict[str, float])
    """Factor by which estimates are multiplied, by model as `provider/model`."""

    def add(self, report: Report) -> None:
        """Use the ratio of a report for its model from now on."""
        if report.tokens > 0 and report.estimate > 0:
            ratio = report.tokens / report.estimate
            self.factors[report.model] = min(max(ratio, 1 / MAX_FACTOR), MAX_FACTOR)

    def factor(self, model: str) -> float:
        """Return the factor of a model; 1 until its first report."""
        return self.factors.get(model, 1.0)

    def count(self, estimate: int, model: str, report: Report | None) -> int:
        """Return the tokens of a context: those of the report plus the calibrated difference to it.

        Args:
            estimate: Estimate of the context.
            model: Model that the context is for.
            report: The latest report; one for another model does not count.
        """
        if report is None or report.model != model:
            return round(self.factor(model) * estimate)
        return max(0, report.tokens + round(self.factor(model) * (estimate - report.estimate)))

    def estimate_for(self, tokens: int, model: str, report: Report | None) -> int:
        """Return the estimate of a context that has this many tokens; the inverse of `count`."""
        if report is None or report.model != model:
            return int(tokens / self.factor(model))
        return int((tokens - report.tokens) / self.factor(model)) + report.estimate


def _estimate_block(block: Text | Thinking | Image | ToolCall) -> int:
    if isinstance(block, Text | Thinking):
        return estimate_text(block.text)
    if isinstance(block, ToolCall):
        arguments = len(block.partial_json) or _json_length(block.arguments)
        return int((len(block.name) + arguments) / CHARS_PER_TOKEN) + 1
    return IMAGE_TOKENS


def _estimate_tool(tool: ToolSpec) -> int:
    return estimate_text(tool.description) + int(_schema_length(tool.parameters) / CHARS_PER_TOKEN) + 1


def _schema_length(schema: JsonObject) -> int:
    """Return the length of a schema, which is remembered: every turn asks for those of all tools."""
    known = _schema_lengths.get(id(schema))
    # The schema is kept, so that no other object gets its id.
    if known is None or known[0] is not schema:
        if len(_schema_lengths) >= _MOST_SCHEMAS:
            _schema_lengths.clear()
        known = _schema_lengths[id(schema)] = (schema, _json_length(schema))
    return known[1]


def _json_length(value: JsonObject) -> int:
    try:
        return len(_encode(value))
    except UnicodeEncodeError:  # half of a surrogate pair
        return len(json.dumps(value))
