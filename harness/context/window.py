"""Fits a conversation into a budget without a model: the beginning and the newest part stay, the middle goes.

The history itself is not touched. A call and its results stay together, whatever the budget: every provider refuses one
without the other. The order of means is phi-core's: first old tool output is cut to some lines, then messages go.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.context.tokens import estimate_message
from harness.messages import AssistantMessage, Message, Text, ToolResult, UserContent, UserMessage

MIN_BUDGET = 200
"""Tokens: below this a request says nothing, so it is sent as it is and may fail."""


@dataclass(frozen=True, slots=True)
class Window:
    """How much of a conversation a model is shown, in tokens.

    `max_tokens` 0 sends all of it until the service refuses; then, and from then on, what is sent fits
    `overflow_tokens`, or, where that is 0, half of what was refused. The first `keep_first` and the newest
    `keep_recent` messages go last. Tool output older than these is cut to `tool_output_lines` lines (0: not cut) before
    anything goes.
    """

    max_tokens: int = 0
    overflow_tokens: int = 0
    keep_first: int = 1
    keep_recent: int = 10
    tool_output_lines: int = 50


@dataclass(frozen=True, slots=True)
class Fitted:
    """What is shown of a conversation; `tokens` is our estimate of it, `dropped` counts the messages left out."""

    messages: tuple[Message, ...]
    tokens: int
    dropped: int = 0


def fit(messages: Sequence[Message], budget: int, window: Window = Window()) -> Fitted:
    """The messages, cut down to `budget` tokens where that can be done; pure, and the same each time."""
    tokens = sum(map(estimate_message, messages))
    if tokens <= budget:
        return Fitted(tuple(messages), tokens)
    groups = _groups(messages)
    first = _reaching(groups, window.keep_first)
    recent = max(first, len(groups) - _reaching(groups[::-1], window.keep_recent))
    if window.tool_output_lines:
        groups = [
            [_shortened(each, window.tool_output_lines) for each in group] if first <= at < recent else group
            for at, group in enumerate(groups)
        ]
    if _weigh(groups) > budget:
        return _without_middle(groups, first, max(budget, MIN_BUDGET))
    return Fitted(_joined(groups), _weigh(groups))


def _without_middle(groups: list[list[Message]], first: int, budget: int) -> Fitted:
    kept = groups[:first]
    left = budget - _weigh(kept)
    at = len(groups)
    while at > first and (_weigh([groups[at - 1]]) <= left or at == len(groups)):
        at -= 1
        left -= _weigh([groups[at]])
    tail = groups[at:]
    if left < 0:
        tail = [[_within(each, budget // max(1, len(group))) for each in group] for group in tail]
    gone = [message for group in groups[first:at] for message in group]
    marker: list[list[Message]] = [[_marker(gone)]] if gone else []
    shown = _joined([*kept, *marker, *tail])
    return Fitted(shown, sum(map(estimate_message, shown)), len(gone))


def _groups(messages: Sequence[Message]) -> list[list[Message]]:
    """What may not be parted: a reply with the results of its calls, everything else alone."""
    groups: list[list[Message]] = []
    for message in messages:
        if isinstance(message, ToolResult) and groups:
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


def _reaching(groups: Sequence[list[Message]], count: int) -> int:
    """How many groups hold the first `count` messages."""
    reached = 0
    for at, group in enumerate(groups):
        if reached >= count:
            return at
        reached += len(group)
    return len(groups)


def _weigh(groups: Sequence[Sequence[Message]]) -> int:
    return sum(estimate_message(each) for group in groups for each in group)


def _joined(groups: Sequence[Sequence[Message]]) -> tuple[Message, ...]:
    return tuple(each for group in groups for each in group)


def _shortened(message: Message, lines: int) -> Message:
    if not isinstance(message, ToolResult):
        return message
    return replace(message, content=tuple(_fewer_lines(block, lines) for block in message.content))


def _fewer_lines(block: UserContent, lines: int) -> UserContent:
    if not isinstance(block, Text):
        return block
    written = block.text.splitlines()
    if len(written) <= lines:
        return block
    head = lines - lines // 2
    gone = len(written) - lines
    kept = [*written[:head], f"[... {gone} lines truncated ...]", *written[len(written) - lines // 2 :]]
    return Text("\n".join(kept))


def _within(message: Message, tokens: int) -> Message:
    """A tool result or prompt that alone is too long, cut in its middle; a reply stays as it was said."""
    if not isinstance(message, ToolResult | UserMessage) or estimate_message(message) <= tokens:
        return message
    return replace(message, content=tuple(_fewer_characters(block, tokens * 4) for block in message.content))


def _fewer_characters(block: UserContent, characters: int) -> UserContent:
    if not isinstance(block, Text) or len(block.text) <= characters:
        return block
    half = characters // 2
    gone = len(block.text) - 2 * half
    return Text(f"{block.text[:half]}\n[... {gone} characters truncated ...]\n{block.text[len(block.text) - half :]}")


def _marker(gone: Sequence[Message]) -> UserMessage:
    text = f"[Context compacted: {len(gone)} messages removed to fit context window]"
    # Derived, not random: the same window must read the same, or no prefix of it is ever found in a cache.
    made = uuid.uuid5(uuid.NAMESPACE_OID, f"{gone[0].id}/{len(gone)}")
    return UserMessage((Text(text),), synthetic=True, id=str(made), time=gone[-1].time)


def last_reply_failed(messages: Sequence[Message]) -> bool:
    """Whether the conversation ends with a reply that came to nothing: it is not the model's last word."""
    last = messages[-1] if messages else None
    return isinstance(last, AssistantMessage) and last.stop_reason in ("error", "aborted") and not last.tool_calls
