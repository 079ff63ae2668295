"""Breakdown of the context window: tokens per segment, and what the prompt cache holds.

A service counts whole requests. The tokens of one message follow from two requests that differ by that message only;
all others are estimated, and the estimates are scaled to match the counted total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.context.history import is_prompt
from harness.context.overlay import ContextOverlay
from harness.context.pipeline import ContextSettings, limits_for
from harness.context.policy import ContextPolicy
from harness.context.tokens import MAX_FACTOR, estimate_message, estimate_overhead, estimate_text
from harness.context.trimming import Trim, fit
from harness.messages import AssistantMessage, CustomMessage, Message, ToolResult, Usage, UserMessage
from harness.ports.provider import ToolSpec
from harness.ports.tool import specs_of

Section: TypeAlias = Literal["tools", "system", "instructions", "kept", "older", "left out"]
"""Part of a request. `kept` messages are those that the policy excludes from summaries: the first and the latest ones,
and the newest prompt."""
Cached: TypeAlias = Literal["all", "partly", "not"]


class ContextInputs(Struct, frozen=True):
    """Inputs of the next request besides the messages."""

    system: str = ""
    """System prompt."""
    tools: Sequence[ToolSpec] = ()
    """Declared tools."""
    instructions: str = ""
    """Part of `system` that comes from instruction files."""
    size: int = 0
    """Size of the context window in tokens; 0 = unknown."""
    reserve: int = 0
    """Tokens reserved for the reply."""
    policy: ContextPolicy = ContextPolicy()
    """Context policy."""
    budget: int = 0
    """Maximum estimate of a request in tokens; 0 = unlimited."""
    overlay: ContextOverlay = ContextOverlay()
    """Changes of the conversation: what is left out or truncated already, and which reports do not apply any more."""
    factor: float = 1.0
    """Calibration of estimates that no report covers."""


class ContextSegment(Struct, frozen=True):
    """A message, or a part of the request before the messages."""

    section: Section
    """Section it belongs to."""
    tokens: int
    """Length in tokens."""
    is_counted: bool = False
    """True if the service counted the tokens, False if they are estimated."""
    cached: Cached = "not"
    """Share of it that the prompt cache holds."""
    message: Message | None = None
    """The message; None for the parts before the messages."""
    server: str = ""
    """MCP server of these tools; empty for other tools and all other segments."""


class Breakdown(Struct, frozen=True):
    """Segments of a request in the order in which the model reads them."""

    segments: tuple[ContextSegment, ...]
    """All segments."""
    size: int
    """Size of the context window in tokens; 0 = unknown."""
    reserve: int
    """Tokens reserved for the reply."""

    @property
    def used(self) -> int:
        """Tokens of the request."""
        return sum(segment.tokens for segment in self.segments if segment.section != "left out")

    @property
    def free(self) -> int:
        """Unused tokens; 0 if the window size is unknown."""
        return max(0, self.size - self.used - self.reserve)

    def tokens_in(self, section: Section) -> int:
        """Return the tokens of all segments in a section."""
        return sum(segment.tokens for segment in self.segments if segment.section == section)


def context_inputs(state: ContextSettings, policy: ContextPolicy, instructions: str = "") -> ContextInputs:
    """Return the inputs of an agent's next request.

    Args:
        state: Settings of the agent.
        policy: Context policy of the agent.
        instructions: Part of the system prompt that comes from instruction files.
    """
    limits, context = limits_for(policy, state, state.model), state.context
    return ContextInputs(
        system=state.system_prompt,
        tools=specs_of(state.available_tools),
        instructions=instructions if instructions in state.system_prompt else "",
        size=limits.window,
        reserve=limits.reserve,
        policy=policy,
        overlay=context.overlay,
        factor=context.calibration.factor(state.model.spec.name),
        budget=context.calibration.estimate_for(limits.usable, state.model.spec.name, context.report),
    )


def breakdown(messages: Sequence[Message], inputs: ContextInputs) -> Breakdown:
    """Break down the context window. Pure, in time proportional to the conversation."""
    earlier = inputs.overlay.trim or Trim()
    sent = [earlier.truncated(message) for message in messages if not isinstance(message, CustomMessage)]
    before, trim = _before(inputs), _next_trim(inputs, [each for each in sent if each.id not in earlier.dropped])
    sent, gone = [trim.truncated(message) for message in sent], earlier.dropped | trim.dropped
    weights = _Weights([each.tokens for each in before], [False] * len(before))
    weights.add(sent, inputs.overlay.changed_after)
    if not (gone or trim):
        weights.stretch(inputs.factor)
    sections: list[Section] = [each.section for each in before]
    sections.extend(_sections(sent, inputs.policy, gone))
    segments = map(
        ContextSegment,
        sections,
        weights.tokens,
        weights.counted,
        weights.cached(),
        [*[None] * len(before), *sent],
        [*(each.server for each in before), *[""] * len(sent)],
    )
    return Breakdown(tuple(segments), inputs.size, inputs.reserve)


def largest_parts(system: str, tools: Sequence[ToolSpec], messages: Sequence[Message], count: int = 4) -> str:
    """Return the largest parts of a request with their estimated tokens, such as `9,000 in the result of bash`."""
    sizes: Counter[str] = Counter()
    sizes["the system prompt"] = estimate_text(system)
    sizes["tool declarations"] = estimate_overhead("", tools)
    for message in messages:
        match message:
            case ToolResult(tool_name=name):
                sizes[f"results of {name}"] += estimate_message(message)
            case UserMessage(synthetic=False):
                sizes["the user's messages"] += estimate_message(message)
            case AssistantMessage():
                sizes["replies and their calls"] += estimate_message(message)
            case _:
                sizes["reminders and summaries"] += estimate_message(message)
    return ", ".join(f"{tokens:,} in {name}" for name, tokens in sizes.most_common(count) if tokens > 1)


def mcp_server_of(tool: str) -> str:
    """Return the MCP server in the name of a tool, `mcp__server__tool`; empty for other tools."""
    kind, _, rest = tool.partition("__")
    server, separator, _ = rest.partition("__")
    return server if kind == "mcp" and separator else ""


def _before(inputs: ContextInputs) -> list[ContextSegment]:
    instructions = estimate_text(inputs.instructions) if inputs.instructions else 0
    before = [
        *_tool_segments(inputs.tools),
        ContextSegment("system", max(0, estimate_text(inputs.system) - instructions) if inputs.system else 0),
        ContextSegment("instructions", instructions),
    ]
    return [segment for segment in before if segment.tokens]


def _tool_segments(tools: Sequence[ToolSpec]) -> Iterator[ContextSegment]:
    """Yield the tools of cinch, and those of each MCP server."""
    by_server: dict[str, list[ToolSpec]] = {"": []}
    for tool in tools:
        by_server.setdefault(mcp_server_of(tool.name), []).append(tool)
    for server, group in by_server.items():
        yield ContextSegment("tools", estimate_overhead("", group) - estimate_text(""), server=server)


def _sections(messages: Sequence[Message], policy: ContextPolicy, gone: Set[str]) -> Iterator[Section]:
    recent = len(messages) - policy.keep_recent
    newest = next((at for at in range(len(messages) - 1, -1, -1) if is_prompt(messages[at])), -1)
    for at, message in enumerate(messages):
        if message.id in gone:
            yield "left out"
        else:
            yield "kept" if at < policy.keep_first or at >= recent or at == newest else "older"


def _next_trim(inputs: ContextInputs, messages: Sequence[Message]) -> Trim:
    """Return what the next request leaves out and truncates because it would not fit."""
    if not inputs.budget:
        return Trim()
    return fit(messages, inputs.budget - estimate_overhead(inputs.system, inputs.tools), inputs.policy).trim


class _Weights(Struct):
    """Tokens per segment; `usage` is the latest reported usage, of segment `last`."""

    tokens: list[int]
    counted: list[bool]
    usage: Usage = Usage()
    last: int = -1

    def add(self, messages: Sequence[Message], changed_after: Set[str]) -> None:
        pending: list[int] = []
        for message in messages:
            at = len(self.tokens)
            usage = message.usage if isinstance(message, AssistantMessage) else None
            if usage is None or not usage.context:
                pending.append(at)
                self.tokens.append(estimate_message(message))
                self.counted.append(False)
            else:
                counted = usage.context - usage.output - self.usage.context
                if self.last >= 0 and len(pending) == 1 and _is_plausible(counted, self.tokens[pending[0]]):
                    self.tokens[pending[0]], self.counted[pending[0]] = counted, True
                self.tokens.append(usage.output)
                self.counted.append(True)
                self.usage, self.last, pending = usage, at, []
            if message.id in changed_after:
                self.usage, self.last, pending = Usage(), -1, []

    def stretch(self, calibration: float) -> None:
        """Scale the estimates up to the last reply so that all segments add up to the counted total, others by
        `calibration`."""
        past = range(self.last + 1)
        counted = sum(self.tokens[at] for at in past if self.counted[at])
        estimated = sum(self.tokens[at] for at in past if not self.counted[at])
        factor = (self.usage.context - counted) / estimated if estimated else 1.0
        if not 1 / MAX_FACTOR <= factor <= MAX_FACTOR:
            factor = 1.0
        for at, tokens in enumerate(self.tokens):
            if not self.counted[at]:
                self.tokens[at] = round(tokens * (factor if at <= self.last else calibration))

    def cached(self) -> Iterator[Cached]:
        """Yield how much of each segment the prompt cache held after the last request."""
        kept, reached = self.usage.cache_read + self.usage.cache_write, 0
        for at, tokens in enumerate(self.tokens):
            before, reached = reached, reached + tokens
            # The tolerance avoids gaps from rounding.
            is_complete = reached <= kept + 2 + at // 100
            could_be = kept > 0 and at < self.last
            yield "all" if could_be and is_complete else "partly" if could_be and before < kept else "not"


def _is_plausible(counted: int, estimated: int) -> bool:
    return estimated / MAX_FACTOR <= counted <= estimated * MAX_FACTOR + 50
