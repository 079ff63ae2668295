"""Trimming: fits a conversation into a token budget without a model. Start and end stay, the middle goes.

The history is unchanged. A call and its results stay together whatever the budget, because providers reject one without
the other. First old tool output is truncated to some lines, then messages are left out; if the messages that must stay
are still too long, the middle of tool output is cut, a summary loses quoted prompts, and the middle of prompts is cut
last.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence, Set
from typing import TypeAlias, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from harness.context.grouping import count_groups, message_groups
from harness.context.history import is_prompt
from harness.context.normalize import has_content
from harness.context.policy import DEFAULT_POLICY, ContextPolicy
from harness.context.summary_text import is_summary, with_fewer_prompts
from harness.context.tokens import CHARS_PER_TOKEN, IMAGE_TOKENS, estimate_message, estimate_messages, estimate_text
from harness.messages import AssistantMessage, CustomMessage, Image, Message, Text, ToolResult, UserContent, UserMessage
from harness.truncation import cut_middle, fair_share, limit_lines

MIN_BUDGET = 200
"""Smallest budget in tokens; a shorter request would be meaningless."""
MIN_SHARE = 50
"""Tokens below which no text is truncated: a model cannot work with less, and would repeat its calls."""
RESULTS_SHARE = 0.25
"""Share of the budget below which tool output is not truncated while a summary can lose quoted prompts."""
MARKER = "[Context compacted: {} messages removed to fit context window]"
NO_IMAGE = Text("[Image removed to fit context window]")

# Only these are truncated; a reply must go back to its vendor unchanged.
Truncated: TypeAlias = tuple[type[ToolResult] | type[UserMessage], ...]


class Trim(Struct, frozen=True):
    """Messages to leave out, and messages to truncate. It gives the same result while the conversation grows."""

    dropped: Set[str] = frozenset()
    """Ids of the messages that are left out; a marker takes their place."""
    line_limited: Set[str] = frozenset()
    """Ids of the tool results that are truncated to `lines` lines."""
    lines: int = 0
    """Maximum number of lines of these results."""
    token_limits: Mapping[str, int] = {}
    """Maximum length of each text in other truncated messages, in tokens, by message id."""
    limit: int = 0
    """Maximum length of a request when it was made, in tokens; 0 = unknown."""
    after: str = ""
    """Id of the last message when it was made; empty if unknown."""

    def __bool__(self) -> bool:
        return bool(self.dropped or self.line_limited or self.token_limits)

    def apply(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages that stay, truncated, with a marker in place of the others. Pure."""
        if not self:
            return messages
        shown = [self.truncated(each) for each in messages if each.id not in self.dropped]
        # Sessions do not keep empty replies, and the marker must be the same after a resume.
        gone = [each for each in messages if each.id in self.dropped and has_content(each)]
        if gone:
            place = next(index for index, each in enumerate(messages) if each.id in self.dropped)
            shown.insert(place, _marker(gone))
        return shown

    def truncated(self, message: Message) -> Message:
        """Return a message as it is shown if it stays."""
        if message.id in self.line_limited:
            message = _line_limited(message, self.lines)
        share = self.token_limits.get(message.id)
        return message if share is None else _token_limited(message, share)

    def extended(self, later: Trim) -> Trim:
        """Return a trim for the same messages that includes one of its result."""
        shares = {
            **self.token_limits,
            **{each: min(share, self.token_limits.get(each, share)) for each, share in later.token_limits.items()},
        }
        return replace(
            later,
            dropped=self.dropped | later.dropped,
            line_limited=self.line_limited | later.line_limited,
            lines=later.lines or self.lines,
            token_limits=shares,
        )

    def within(self, ids: Set[str]) -> Trim:
        """Return the trim for a conversation with these messages; an empty one if it was made later."""
        if self.after and self.after not in ids:
            return Trim()
        return self.without({*self.dropped, *self.line_limited, *self.token_limits} - ids)

    def without(self, ids: Set[str]) -> Trim:
        """Return the trim without these messages, which stay unchanged."""
        if not ids:
            return self
        shares = {each: share for each, share in self.token_limits.items() if each not in ids}
        return replace(self, dropped=self.dropped - ids, line_limited=self.line_limited - ids, token_limits=shares)


class FittedContext(Struct, frozen=True):
    """Part of a conversation that is sent."""

    messages: tuple[Message, ...]
    """The messages."""
    tokens: int
    """Estimated length in tokens."""
    trim: Trim = Trim()
    """Messages that are left out or truncated."""
    fits: bool = True
    """False if it exceeds the budget: replies and their calls are never cut, and nothing is cut below `MIN_BUDGET` in
    all, and `MIN_SHARE` each."""

    @property
    def dropped(self) -> int:
        """Number of messages left out."""
        return len(self.trim.dropped)


def fit(
    messages: Sequence[Message], budget: int, policy: ContextPolicy = DEFAULT_POLICY, keep: Set[str] = frozenset()
) -> FittedContext:
    """Cut the messages down to `budget` tokens if possible. Pure and deterministic.

    The first message (if the policy keeps any), the latest summary, the user's newest prompt and the newest message
    always stay.

    Args:
        messages: The context.
        budget: Maximum estimate in tokens.
        policy: The policy.
        keep: Ids of other messages that stay. Reminders among them are not truncated.
    """
    tokens = estimate_messages(messages)
    budget = max(budget, 0)
    if tokens <= budget:
        return FittedContext(tuple(messages), tokens)
    trim = _Trimmer(messages, policy, keep).plan(budget)
    shown = tuple(trim.apply(messages))
    tokens = estimate_messages(shown)
    return FittedContext(shown, tokens, trim, fits=tokens <= budget)


def last_reply_failed(messages: Sequence[Message]) -> bool:
    """Return True if the conversation ends with a failed reply without tool calls."""
    last = messages[-1] if messages else None
    return isinstance(last, AssistantMessage) and last.stop_reason in ("error", "aborted") and not last.tool_calls


class _Trimmer:
    """Chooses what to leave out and what to truncate."""

    def __init__(self, messages: Sequence[Message], policy: ContextPolicy, keep: Set[str]) -> None:
        self._groups = message_groups(messages)
        self._keep = keep
        self._lines = policy.tool_output_lines
        self._first = count_groups(self._groups, policy.keep_first)
        self._recent = max(self._first, len(self._groups) - count_groups(self._groups[::-1], policy.keep_recent))
        self._line_limited: set[str] = set()
        self._token_limits: dict[str, int] = {}
        self._summaries: dict[str, UserMessage] = {}
        """Summaries as they were before they lost prompts, by id."""

    def plan(self, budget: int) -> Trim:
        # Older groups are left out with the middle, so there is no need to truncate them.
        oldest = self._limit_lines(budget)
        if oldest == 0 and sum(map(estimate_messages, self._groups)) <= budget:
            return self._result(())
        aim = max(budget, MIN_BUDGET)
        # A single huge output must not displace everything else.
        self._limit_tokens(range(oldest, len(self._groups)), aim // 2)
        aim -= estimate_text(MARKER.format(sum(map(len, self._groups))))
        kept = self._kept(aim)
        self._shorten_summaries(kept, min(self._tokens(kept) - aim, self._fixed(kept) - int((1 - RESULTS_SHARE) * aim)))
        # The longest texts are truncated most, and tool output before user messages.
        too_long = self._share_budget(kept, aim, (ToolResult,)) - aim
        if too_long > 0 and self._shorten_summaries(kept, too_long) > aim:
            self._share_budget(kept, aim, (ToolResult, UserMessage))
        return self._result([at for at in range(len(self._groups)) if at not in kept])

    def _result(self, gone: Collection[int]) -> Trim:
        messages = [each for at in gone for each in self._groups[at] if not isinstance(each, CustomMessage)]
        dropped = frozenset(each.id for each in messages) if any(map(has_content, messages)) else frozenset[str]()
        shares = {each: share for each, share in self._token_limits.items() if each not in dropped}
        return Trim(dropped, frozenset(self._line_limited - dropped), self._lines, shares)

    def _limit_lines(self, budget: int) -> int:
        """Truncate old tool output, newest first, until the budget is exceeded; return the index that was reached."""
        for at in range(len(self._groups) - 1, -1, -1):
            if self._lines and self._first <= at < self._recent:
                shorter = [_line_limited(each, self._lines) for each in self._groups[at]]
                pairs = zip(shorter, self._groups[at], strict=True)
                self._line_limited |= {each.id for each, before in pairs if each is not before}
                self._groups[at] = shorter
            budget -= estimate_messages(self._groups[at])
            if budget < 0:
                return at
        return 0

    def _kept(self, budget: int) -> set[int]:
        """Return the indexes of the groups that stay: those that must, then the first and the latest that fit."""
        last = len(self._groups) - 1
        kept = {*range(min(self._first, 1)), *self._required(), last}
        left = budget - sum(estimate_messages(self._groups[at]) for at in kept)
        for at in range(self._first):
            weight = 0 if at in kept else estimate_messages(self._groups[at])
            if weight <= left:
                kept.add(at)
                left -= weight
        cut = last
        while cut > self._first:
            left -= 0 if cut - 1 in kept else estimate_messages(self._groups[cut - 1])
            if left < 0:
                break
            cut -= 1
        return kept | set(range(cut, len(self._groups)))

    def _required(self) -> set[int]:
        """Return the indexes of the groups with the newest prompt, the latest summary, or a message to keep."""
        places = range(len(self._groups) - 1, -1, -1)
        prompts = (at for at in places if any(map(is_prompt, self._groups[at])))
        summaries = (at for at in places if any(map(is_summary, self._groups[at])))
        kept = {at for at in places if any(each.id in self._keep for each in self._groups[at])}
        return {
            *kept,
            next(prompts, len(self._groups) - 1),
            *([at] if (at := next(summaries, None)) is not None else []),
        }

    def _share_budget(self, kept: Set[int], budget: int, kinds: Truncated) -> int:
        """Truncate messages of these kinds to a fair share of the budget; return the tokens of the kept groups."""
        messages = [each for at in kept for each in self._groups[at]]
        cut = [each for each in messages if self._can_limit(each, kinds)]
        fixed = estimate_messages(messages) - estimate_messages(cut)
        weights = [_weigh_block(block) for each in cut for block in each.content]
        self._limit_tokens(sorted(kept), max(MIN_SHARE, fair_share(weights, budget - fixed)), kinds)
        return self._tokens(kept)

    def _shorten_summaries(self, kept: Set[int], too_long: int) -> int:
        """Remove prompts from the summaries that stay, by this many tokens; return the tokens of the kept groups."""
        for at in kept if too_long > 0 else ():
            for place, message in enumerate(self._groups[at]):
                if is_summary(message):
                    share = max(0, estimate_message(message) - too_long)
                    original = self._summaries.setdefault(message.id, message)
                    self._groups[at][place] = shorter = with_fewer_prompts(original, share)
                    if shorter is not original:
                        self._token_limits[message.id] = share
        return self._tokens(kept)

    def _fixed(self, places: Collection[int]) -> int:
        """Return the tokens of groups without tool output."""
        return sum(estimate_message(each) for at in places for each in self._groups[at] if type(each) is not ToolResult)

    def _tokens(self, places: Collection[int]) -> int:
        return sum(estimate_messages(self._groups[at]) for at in places)

    def _limit_tokens(self, places: Collection[int], share: int, kinds: Truncated = (ToolResult,)) -> None:
        for at in places:
            self._groups[at] = [self._limited(each, share, kinds) for each in self._groups[at]]

    def _limited(self, message: Message, share: int, kinds: Truncated) -> Message:
        shorter = _token_limited(message, share) if self._can_limit(message, kinds) else message
        if shorter is not message:
            self._token_limits[message.id] = min(share, self._token_limits.get(message.id, share))
        return shorter

    def _can_limit(self, message: Message, kinds: Truncated) -> TypeGuard[ToolResult | UserMessage]:
        is_reminder = isinstance(message, UserMessage) and message.synthetic and message.id in self._keep
        return isinstance(message, kinds) and not is_reminder and not is_summary(message)


def is_marker(message: Message) -> bool:
    """Return True for the message that takes the place of those left out."""
    head = MARKER.partition("{")[0]
    return isinstance(message, UserMessage) and message.synthetic and message.text.startswith(head)


def _marker(gone: Sequence[Message]) -> UserMessage:
    # Derived, not random: the same context must be identical each time to be found in the prompt cache.
    marker_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{gone[0].id}/{len(gone)}")
    return UserMessage((Text(MARKER.format(len(gone))),), synthetic=True, id=str(marker_id), time=gone[-1].time)


def _line_limited(message: Message, lines: int) -> Message:
    if not isinstance(message, ToolResult):
        return message
    content = tuple(_fewer_lines(block, lines) for block in message.content)
    return message if content == message.content else replace(message, content=content)


def _fewer_lines(block: UserContent, lines: int) -> UserContent:
    text = limit_lines(block.text, lines) if isinstance(block, Text) else ""
    return block if isinstance(block, Image) or text == block.text else Text(text)


def _token_limited(message: Message, share: int) -> Message:
    """Return the message with each block truncated to `share` tokens; a summary loses prompts only."""
    if is_summary(message):
        return with_fewer_prompts(message, share)
    if not isinstance(message, ToolResult | UserMessage) or all(
        _weigh_block(each) <= share for each in message.content
    ):
        return message
    return replace(message, content=tuple(_limited_block(block, share) for block in message.content))


def _limited_block(block: UserContent, tokens: int) -> UserContent:
    if _weigh_block(block) <= tokens:
        return block
    if isinstance(block, Image):
        return _limited_block(NO_IMAGE, tokens)
    room = int(tokens * CHARS_PER_TOKEN) - 1
    return Text(cut_middle(block.text, room, lambda gone: f"\n[... {gone} characters truncated ...]\n"))


def _weigh_block(block: UserContent) -> int:
    return IMAGE_TOKENS if isinstance(block, Image) else estimate_text(block.text)
