"""Overlay of the context: summaries, stubs, pins and removals that models see. The history keeps all messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from harness.context.call_description import main_argument
from harness.context.grouping import message_groups
from harness.messages import AssistantMessage, CustomMessage, Message, Text, ToolCall, ToolResult, UserMessage

if TYPE_CHECKING:
    from harness.context.trimming import Trim

EVICTED = Text("[Content removed from the context to save tokens]")
DROPPED = Text("[Content removed from the context by the user]")
CLEARED = "[Cleared: "
"""Beginning of the text of an evicted result, before its tool."""
UNCHANGED_SINCE = "unchanged_since"
"""Key in the details of a result that refers to an earlier one; its value is the id of the earlier call."""
RECALL_CHARS = 8
"""Characters at the end of a call's id by which the `recall` tool finds its result."""


class Compaction(Struct, frozen=True):
    """A summary that replaces messages."""

    summary: UserMessage
    """The message that models see instead."""
    replaced: Set[str]
    """Ids of the messages, and of earlier summaries, that it replaces."""
    after: str = ""
    """Id of the last message when it was made; empty if unknown."""


class Eviction(Struct, frozen=True):
    """A batch of messages whose content is replaced by stubs."""

    ids: Set[str]
    """Ids of the messages."""
    after: str = ""
    """Id of the last message when it was made; empty if unknown."""
    can_recall: bool = False
    """True if the stubs name the `recall` tool."""


class ContextOverlay(Struct, frozen=True):
    """Changes of a conversation for models."""

    compactions: tuple[Compaction, ...] = ()
    """Summaries, in the order in which they were made."""
    evictions: tuple[Eviction, ...] = ()
    """Evictions, in the order in which they were made."""
    pinned: Set[str] = frozenset()
    """Ids of messages that stay in the context unchanged."""
    dropped: Set[str] = frozenset()
    """Ids of messages that the user removed."""
    trim: Trim | None = None
    """Messages that are left out or truncated because nothing else made the context fit; None if there are none."""

    def __bool__(self) -> bool:
        return bool(self.compactions or self.evictions or self.dropped)

    @property
    def evicted(self) -> set[str]:
        """Ids of the messages whose content is replaced by a stub."""
        return {each for eviction in self.evictions for each in eviction.ids} - self.pinned

    @property
    def changed_after(self) -> frozenset[str]:
        """Ids of the last messages before the latest summary, eviction and trim: later replies report their effect."""
        latest = (*self.compactions[-1:], *self.evictions[-1:], *([self.trim] if self.trim else []))
        return frozenset(each.after for each in latest)

    def apply(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages for models before trimming. Pure; ids that no message has are ignored."""
        return _without_dangling_references(self._applied(messages), messages) if self else messages

    def _applied(self, messages: Sequence[Message]) -> Sequence[Message]:
        pinned = with_partners(messages, self.pinned)
        if self.evictions or self.dropped:
            messages = _Stubs(self, messages).apply()
        for compaction in self.compactions:
            replaced = compaction.replaced - pinned
            place = next((index for index, each in enumerate(messages) if each.id in compaction.replaced), None)
            if place is not None:
                kept = (each for each in messages[place:] if each.id not in replaced)
                messages = [*messages[:place], compaction.summary, *kept]
        return messages

    def shown(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages for models, trimmed. Pure."""
        shown = self.apply(messages)
        if not self.trim:
            return shown
        trimmed = self.trim.without(with_partners(shown, self.pinned)).apply(shown)
        return _without_dangling_references(trimmed, messages)

    def within(self, messages: Iterable[Message]) -> ContextOverlay:
        """Return the overlay as it was when the conversation had these messages, such as after a rewind."""
        if not (self or self.pinned or self.trim):
            return self
        ids = {each.id for each in messages}
        known = set(ids)
        compactions: list[Compaction] = []
        for each in self.compactions:
            if each.replaced <= known and (not each.after or each.after in ids):
                known.add(each.summary.id)
                compactions.append(each)
        evictions = (each for each in self.evictions if each.ids & ids and (not each.after or each.after in ids))
        trim = self.trim.within(known) if self.trim else None
        return ContextOverlay(
            tuple(compactions), tuple(evictions), self.pinned & ids, self.dropped & ids, trim=trim or None
        )


class ReplacedSpan(Struct, frozen=True):
    """Place of the messages that a summary replaces in the history."""

    first: str = ""
    """Id of the first replaced message."""
    last: str = ""
    """Id of the last replaced message."""
    kept: tuple[str, ...] = ()
    """Ids of the messages between them that stay."""


def replaced_span(compaction: Compaction, earlier: Sequence[Compaction], messages: Sequence[Message]) -> ReplacedSpan:
    """Return the place of the messages that a summary, and the earlier summaries in it, replace.

    Args:
        compaction: The summary.
        earlier: The summaries before it.
        messages: The history.
    """
    replaced = set(compaction.replaced)
    for each in reversed(earlier):
        replaced |= each.replaced if each.summary.id in replaced else frozenset()
    places = [index for index, each in enumerate(messages) if each.id in replaced]
    if not places:
        return ReplacedSpan()
    between = messages[places[0] : places[-1] + 1]
    kept = [each.id for each in between if each.id not in replaced and not isinstance(each, CustomMessage)]
    for each in earlier:
        # A note that stays may stand for another one.
        if each.summary.id not in replaced and not each.replaced.isdisjoint(kept):
            kept.append(each.summary.id)
    return ReplacedSpan(between[0].id, between[-1].id, tuple(kept))


def with_partners(messages: Sequence[Message], ids: Set[str]) -> Set[str]:
    """Return the ids and those of the messages that must stay with them: calls and their results."""
    if not ids:
        return ids
    groups = (group for group in message_groups(messages) if any(each.id in ids for each in group))
    return {each.id for group in groups for each in group}


class _Stubs:
    """Replaces the content of evicted and dropped messages."""

    def __init__(self, overlay: ContextOverlay, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._dropped = overlay.dropped
        evicted = overlay.evicted
        self._recallable = {each: batch.can_recall for batch in overlay.evictions for each in batch.ids & evicted}
        replies = (each for each in messages if isinstance(each, AssistantMessage))
        self._calls = {call.id: call for reply in replies for call in reply.tool_calls}

    def apply(self) -> list[Message]:
        gone: set[str] = set()
        shown: list[Message] = []
        for message in self._messages:
            if isinstance(message, AssistantMessage):
                # Call ids are unique within a reply only.
                gone = {call.id for call in message.tool_calls} if message.id in self._dropped else set()
                if message.id in self._dropped:
                    continue
            elif isinstance(message, ToolResult) and message.call_id in gone:
                continue
            shown.append(self._shown(message))
        return shown

    def _shown(self, message: Message) -> Message:
        if message.id in self._dropped and not isinstance(message, CustomMessage):
            return replace(message, content=(DROPPED,))
        if message.id not in self._recallable or isinstance(message, CustomMessage):
            return message
        if isinstance(message, AssistantMessage):
            return replace(message, content=(EVICTED, *message.tool_calls))
        if isinstance(message, UserMessage):
            return replace(message, content=(EVICTED,))
        call = self._calls.get(message.call_id)
        return replace(message, content=(Text(stub_text(message, call, can_recall=self._recallable[message.id])),))


def is_reference(result: ToolResult) -> bool:
    """Return True for a result that only refers to an earlier one, which the model still needs."""
    return bool(result.details and UNCHANGED_SINCE in result.details)


def _without_dangling_references(shown: Sequence[Message], history: Sequence[Message]) -> Sequence[Message]:
    """Return the shown messages with a stub for each reference to a result that they do not contain in full."""
    references = [each for each in shown if isinstance(each, ToolResult) and is_reference(each)]
    if not references:
        return shown
    originals = {each.call_id: each for each in history if isinstance(each, ToolResult)}
    calls = {call.id: call for each in history if isinstance(each, AssistantMessage) for call in each.tool_calls}
    unchanged = {id(each) for each in shown}
    stubs: dict[str, ToolResult] = {}
    for reference in references:
        original = originals.get(str((reference.details or {})[UNCHANGED_SINCE]))
        if original is not None and id(original) not in unchanged:
            text = stub_text(original, calls.get(original.call_id), can_recall=False)
            stubs[reference.id] = replace(reference, content=(Text(text),))
    return [stubs.get(each.id, each) if isinstance(each, ToolResult) else each for each in shown] if stubs else shown


def stub_text(result: ToolResult, call: ToolCall | None, *, can_recall: bool) -> str:
    """Return what the model sees instead of an evicted result: the call, the length, and how to get it back."""
    name = f"{result.tool_name}({main_argument(call)})" if call else result.tool_name
    size = f"{len(result.text):,} chars"
    if can_recall:
        # Forks keep the ids of calls, so that the prompt cache serves their beginning; messages get new ids.
        return f'{CLEARED}{name} — {size}. recall(id="{result.call_id[-RECALL_CHARS:]}") returns it.]'
    return f"{CLEARED}{name} — {size}. Repeat the call if you need it.]"
