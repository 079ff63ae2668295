"""Trimming: fits a conversation into a token budget without a model. Start and end stay, the middle goes.

The history is unchanged. A call and its results stay together whatever the budget, because providers reject one without
the other. First old tool output is truncated to some lines, then messages are evicted; if the first prompt, the newest
prompt and the last message are still too long, their middle is cut, tool output before prompts.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from math import ceil
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.context.grouping import count_groups, message_groups
from harness.context.policy import DEFAULT_POLICY, ContextPolicy
from harness.context.tokens import CHARS_PER_TOKEN, IMAGE_TOKENS, estimate_message, estimate_messages, estimate_text
from harness.messages import AssistantMessage, Image, Message, Text, ToolResult, UserContent, UserMessage
from harness.truncation import cut_middle, fair_share, limit_lines

MIN_BUDGET = 200
"""Smallest budget in tokens; a shorter request would be meaningless."""
STEPS = 4
"""Number of steps in which a growing conversation is cut; between two steps the cut stays in place."""
MARKER = "[Context compacted: {} messages removed to fit context window]"
NO_IMAGE = Text("[Image removed to fit context window]")

# Only these are truncated; a reply must go back to its vendor unchanged.
Truncated: TypeAlias = tuple[type[ToolResult] | type[UserMessage], ...]


class FittedContext(Struct, frozen=True):
    """Part of a conversation that is sent."""

    messages: tuple[Message, ...]
    """The messages."""
    tokens: int
    """Estimated length in tokens."""
    dropped: int = 0
    """Number of messages left out."""
    fits: bool = True
    """False if it exceeds the budget: replies and their calls are never cut, and nothing is cut below `MIN_BUDGET`."""


def fit(messages: Sequence[Message], budget: int, window: ContextPolicy = DEFAULT_POLICY) -> FittedContext:
    """Cut the messages down to `budget` tokens if possible. Pure and deterministic.

    The first message (if the policy keeps any), the newest prompt of the user and the newest message always stay.
    """
    tokens = estimate_messages(messages)
    budget = max(budget, 0)
    if tokens <= budget:
        return FittedContext(tuple(messages), tokens)
    groups = message_groups(messages)
    weights = [estimate_messages(group) for group in groups]
    first = count_groups(groups, window.keep_first)
    recent = max(first, len(groups) - count_groups(groups[::-1], window.keep_recent))
    # Older groups are evicted with the middle, so there is no need to truncate them.
    oldest = _shorten(groups, range(first, recent), budget, window.tool_output_lines)
    if oldest == 0 and sum(map(estimate_messages, groups)) <= budget:
        return _fitted(groups, 0, budget)
    aim = max(budget, MIN_BUDGET)
    # A single huge output must not displace everything else.
    groups[oldest:] = [[_truncated(each, aim // 2) for each in group] for group in groups[oldest:]]
    cut = _Cut(groups, weights, first, recent)
    return _fitted(*cut.without_middle(aim), budget)


def _fitted(groups: Sequence[list[Message]], dropped: int, budget: int) -> FittedContext:
    shown = tuple(each for group in groups for each in group)
    tokens = estimate_messages(shown)
    return FittedContext(shown, tokens, dropped, fits=tokens <= budget)


def last_reply_failed(messages: Sequence[Message]) -> bool:
    """Return True if the conversation ends with a failed reply without tool calls."""
    last = messages[-1] if messages else None
    return isinstance(last, AssistantMessage) and last.stop_reason in ("error", "aborted") and not last.tool_calls


def _shorten(groups: list[list[Message]], old: range, budget: int, lines: int) -> int:
    """Truncate old tool output, newest first, until the budget is exceeded; return the index that was reached."""
    for at in range(len(groups) - 1, -1, -1):
        if lines and at in old:
            groups[at] = [_shortened(each, lines) for each in groups[at]]
        budget -= estimate_messages(groups[at])
        if budget < 0:
            return at
    return 0


def _shortened(message: Message, lines: int) -> Message:
    if not isinstance(message, ToolResult):
        return message
    content = tuple(_fewer_lines(block, lines) for block in message.content)
    return message if content == message.content else replace(message, content=content)


def _fewer_lines(block: UserContent, lines: int) -> UserContent:
    text = limit_lines(block.text, lines) if isinstance(block, Text) else ""
    return block if isinstance(block, Image) or text == block.text else Text(text)


class _Cut(Struct, frozen=True):
    """Groups to cut. `weights` are their original sizes, which stay the same while a conversation grows."""

    groups: Sequence[list[Message]]
    weights: Sequence[int]
    first: int
    recent: int

    def without_middle(self, budget: int) -> tuple[list[list[Message]], int]:
        """Return the groups that stay, with a marker for the others, and the number of evicted messages."""
        budget -= estimate_text(MARKER.format(sum(map(len, self.groups))))
        kept = self._kept(budget)
        stay = _all_truncated([group for at, group in enumerate(self.groups) if at in kept], budget)
        gone = [message for at, group in enumerate(self.groups) if at not in kept for message in group]
        if not gone:
            return stay, 0
        place = next(at for at in range(len(self.groups)) if at not in kept)
        return [*stay[:place], [_marker(gone)], *stay[place:]], len(gone)

    def _kept(self, budget: int) -> set[int]:
        last = len(self.groups) - 1
        kept = {*range(min(self.first, 1)), _newest_prompt(self.groups), last}
        left = budget - sum(estimate_messages(self.groups[at]) for at in kept)
        for at in range(self.first):
            weight = 0 if at in kept else estimate_messages(self.groups[at])
            if weight <= left:
                kept.add(at)
                left -= weight
        cut = last
        while cut > self.first:
            left -= 0 if cut - 1 in kept else estimate_messages(self.groups[cut - 1])
            if left < 0:
                break
            cut -= 1
        return kept | set(range(self._steady(cut, budget) if cut > self.first else cut, len(self.groups)))

    def _steady(self, cut: int, budget: int) -> int:
        """Move the cut forward to the next step, so that it stays in place for some turns.

        The prompt cache holds everything before a cut that stays in place.
        """
        step = max(1, budget // STEPS)
        before = sum(self.weights[:cut])
        target = ceil(before / step) * step
        while cut < self.recent and before < target:
            before += self.weights[cut]
            cut += 1
        return cut


def _newest_prompt(groups: Sequence[list[Message]]) -> int:
    """Return the group of the user's newest prompt, or the last group if no prompt exists."""
    for at in range(len(groups) - 1, -1, -1):
        if any(isinstance(each, UserMessage) and not each.synthetic for each in groups[at]):
            return at
    return len(groups) - 1


def _marker(gone: Sequence[Message]) -> UserMessage:
    # Derived, not random: the same context must be identical each time to be found in the prompt cache.
    marker_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{gone[0].id}/{len(gone)}")
    return UserMessage((Text(MARKER.format(len(gone))),), synthetic=True, id=str(marker_id), time=gone[-1].time)


def _all_truncated(groups: Sequence[Sequence[Message]], budget: int) -> list[list[Message]]:
    """Truncate the messages to `budget` tokens if possible: longest texts most, tool output before user messages."""
    shorter = _share_budget(groups, budget, (ToolResult,))
    if sum(map(estimate_messages, shorter)) <= budget:
        return shorter
    return _share_budget(groups, budget, (ToolResult, UserMessage))


def _share_budget(groups: Sequence[Sequence[Message]], budget: int, kinds: Truncated) -> list[list[Message]]:
    messages = [message for group in groups for message in group]
    fixed = sum(estimate_message(each) for each in messages if not isinstance(each, kinds))
    weights = [_weigh_block(block) for each in messages if isinstance(each, kinds) for block in each.content]
    share = fair_share(weights, budget - fixed)
    return [[_truncated(each, share, kinds) for each in group] for group in groups]


def _truncated(message: Message, share: int, kinds: Truncated = (ToolResult,)) -> Message:
    """Return the message with each block truncated to `share` tokens, if it is of one of these kinds."""
    if not isinstance(message, kinds) or all(_weigh_block(block) <= share for block in message.content):
        return message
    return replace(message, content=tuple(_cut(block, share) for block in message.content))


def _cut(block: UserContent, tokens: int) -> UserContent:
    if _weigh_block(block) <= tokens:
        return block
    if isinstance(block, Image):
        return NO_IMAGE
    room = int(tokens * CHARS_PER_TOKEN) - 1
    return Text(cut_middle(block.text, room, lambda gone: f"\n[... {gone} characters truncated ...]\n"))


def _weigh_block(block: UserContent) -> int:
    return IMAGE_TOKENS if isinstance(block, Image) else estimate_text(block.text)
