"""Fits a conversation into a budget without a model: the beginning and the newest part stay, the middle goes.

The history itself is not touched. A call and its results stay together, whatever the budget: every provider refuses one
without the other. The order of means: first old tool output is cut to some lines, then messages go, and where the first
prompt, the newest one and the last words alone are too long, they are cut in their middle, tool output before prompts.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from harness.context.tokens import estimate_message, estimate_text
from harness.context.truncation import head_and_tail, limit_lines, truncated
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, CustomMessage, Message, Text, ToolResult, UserMessage

MIN_BUDGET = 200
"""Tokens: a request shorter than this says nothing, so nothing is cut below it."""
STEPS = 4
"""In how many steps a growing conversation is cut: between two of them the cut stays where it is."""
MARKER = "[Context compacted: {} messages removed to fit context window]"


@dataclass(frozen=True, slots=True)
class ContextPolicy:
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


DEFAULT_POLICY = ContextPolicy()


@dataclass(frozen=True, slots=True)
class FittedContext:
    """What is shown of a conversation; `tokens` is our estimate of it, `dropped` counts the messages left out.

    `fits` is false where it is longer than was asked for: a reply and its calls are never cut, and nothing below
    `MIN_BUDGET` is.
    """

    messages: tuple[Message, ...]
    tokens: int
    dropped: int = 0
    fits: bool = True


def fit(messages: Sequence[Message], budget: int, window: ContextPolicy = DEFAULT_POLICY) -> FittedContext:
    """The messages, cut down to `budget` tokens where that can be done; pure, and the same each time.

    The first message (where the window keeps any), the newest prompt of a person and the newest message always stay.
    """
    tokens = sum(map(estimate_message, messages))
    budget = max(budget, 0)
    if tokens <= budget:
        return FittedContext(tuple(messages), tokens)
    groups = _groups(messages)
    weights = [_weigh(group) for group in groups]
    first = _reaching(groups, window.keep_first)
    recent = max(first, len(groups) - _reaching(groups[::-1], window.keep_recent))
    # What is older goes with the middle, so nobody needs to cut it.
    oldest = _shorten(groups, range(first, recent), budget, window.tool_output_lines)
    if oldest == 0 and sum(map(_weigh, groups)) <= budget:
        return _fitted(groups, 0, budget)
    aim = max(budget, MIN_BUDGET)
    # One enormous output must not be all that is left.
    groups[oldest:] = [[head_and_tail(each, aim // 2) for each in group] for group in groups[oldest:]]
    cut = _Cut(groups, weights, first, recent)
    return _fitted(*cut.without_middle(aim), budget)


def _fitted(groups: Sequence[list[Message]], dropped: int, budget: int) -> FittedContext:
    shown = tuple(each for group in groups for each in group)
    tokens = sum(map(estimate_message, shown))
    return FittedContext(shown, tokens, dropped, fits=tokens <= budget)


def last_reply_failed(messages: Sequence[Message]) -> bool:
    """Whether the conversation ends with a reply that came to nothing: it is not the model's last word."""
    last = messages[-1] if messages else None
    return isinstance(last, AssistantMessage) and last.stop_reason in ("error", "aborted") and not last.tool_calls


def _groups(messages: Sequence[Message]) -> list[list[Message]]:
    """What may not be parted: a reply with all up to the last result of its calls, everything else alone.

    What an application keeps in the conversation goes with what it stands beside.
    """
    groups: list[list[Message]] = []
    due: set[str] = set()
    for message in messages:
        if groups and (_belongs(message, due) or all(isinstance(each, CustomMessage) for each in groups[-1])):
            groups[-1].append(message)
        else:
            groups.append([message])
        if isinstance(message, AssistantMessage):
            due = {call.id for call in message.tool_calls}
        elif isinstance(message, ToolResult):
            due.discard(message.call_id)
    return groups


def _belongs(message: Message, due: set[str]) -> bool:
    """Whether it stays with what is before it, where `due` are the calls that wait for a result."""
    return isinstance(message, ToolResult | CustomMessage) or (bool(due) and isinstance(message, UserMessage))


def _reaching(groups: Sequence[list[Message]], count: int) -> int:
    """How many groups hold the first `count` messages."""
    reached = 0
    for at, group in enumerate(groups):
        if reached >= count:
            return at
        reached += len(group)
    return len(groups)


def _weigh(group: Sequence[Message]) -> int:
    return sum(map(estimate_message, group))


def _shorten(groups: list[list[Message]], old: range, budget: int, lines: int) -> int:
    """Cut old tool output to some lines, from the newest on, until the budget is more than full: how far it came."""
    for at in range(len(groups) - 1, -1, -1):
        if lines and at in old:
            groups[at] = [_shortened(each, lines) for each in groups[at]]
        budget -= _weigh(groups[at])
        if budget < 0:
            return at
    return 0


def _shortened(message: Message, lines: int) -> Message:
    if not isinstance(message, ToolResult):
        return message
    content = tuple(limit_lines(block, lines) for block in message.content)
    return message if content == message.content else replace(message, content=content)


@dataclass(frozen=True, slots=True)
class _Cut:
    """What is to be cut: `weights` are those before anything was, and so the same however long a conversation grows."""

    groups: Sequence[list[Message]]
    weights: Sequence[int]
    first: int
    recent: int

    def without_middle(self, budget: int) -> tuple[list[list[Message]], int]:
        """The groups that stay, a note where others were, and how many messages went."""
        budget -= estimate_text(MARKER.format(sum(map(len, self.groups))))
        kept = self._kept(budget)
        stay = truncated([group for at, group in enumerate(self.groups) if at in kept], budget)
        gone = [message for at, group in enumerate(self.groups) if at not in kept for message in group]
        if not gone:
            return stay, 0
        place = next(at for at in range(len(self.groups)) if at not in kept)
        return [*stay[:place], [_marker(gone)], *stay[place:]], len(gone)

    def _kept(self, budget: int) -> set[int]:
        last = len(self.groups) - 1
        kept = {*range(min(self.first, 1)), _newest_prompt(self.groups), last}
        left = budget - sum(_weigh(self.groups[at]) for at in kept)
        for at in range(self.first):
            weight = 0 if at in kept else _weigh(self.groups[at])
            if weight <= left:
                kept.add(at)
                left -= weight
        cut = last
        while cut > self.first:
            left -= 0 if cut - 1 in kept else _weigh(self.groups[cut - 1])
            if left < 0:
                break
            cut -= 1
        return kept | set(range(self._steady(cut, budget) if cut > self.first else cut, len(self.groups)))

    def _steady(self, cut: int, budget: int) -> int:
        """A little further than where we must cut, to where we shall still cut some turns from now.

        What stands before a cut that stays in its place is found in the provider's cache.
        """
        step = max(1, budget // STEPS)
        before = sum(self.weights[:cut])
        target = ceil(before / step) * step
        while cut < self.recent and before < target:
            before += self.weights[cut]
            cut += 1
        return cut


def _newest_prompt(groups: Sequence[list[Message]]) -> int:
    """The group of what the person said last: what is being worked on. The last group where they said nothing."""
    for at in range(len(groups) - 1, -1, -1):
        if any(isinstance(each, UserMessage) and not each.synthetic for each in groups[at]):
            return at
    return len(groups) - 1


def _marker(gone: Sequence[Message]) -> UserMessage:
    # Derived, not random: the same window must read the same, or no prefix of it is ever found in a cache.
    made = uuid.uuid5(uuid.NAMESPACE_OID, f"{gone[0].id}/{len(gone)}")
    return UserMessage((Text(MARKER.format(len(gone))),), synthetic=True, id=str(made), time=gone[-1].time)
