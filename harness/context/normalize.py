"""Normalization of a history before it is sent: repairs what a crash, another program or another vendor left behind.

Every provider rejects a request with an unanswered call, so a single bad line would otherwise break a session for good.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    ModelMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

NO_RESULT = "The call was interrupted and has no result."
MAY_HAVE_RUN = (
    "The program ended while this call was running, so its result is lost. It may have been executed, in part or "
    "completely: check its effects before you repeat it."
)
DID_NOT_RUN = "The program ended before this call began; it was not executed."


def normalize(messages: Sequence[Message]) -> tuple[ModelMessage, ...]:
    """Return the history as it can be sent to a model.

    Removes custom messages, empty messages and results without a call, makes call ids unique, and places one result per
    call, in call order, directly after each reply. Pure, and returns a valid history unchanged.
    """
    return Normalizer().normalize(messages)


class Normalizer:
    """Normalizes a growing conversation; messages that were valid before are not checked again."""

    def __init__(self) -> None:
        self._valid: tuple[ModelMessage, ...] = ()
        self._seen: set[str] = set()

    def normalize(self, messages: Sequence[Message]) -> tuple[ModelMessage, ...]:
        """Return the conversation as it can be sent, like `normalize`; fastest if it begins like the one before."""
        kept = tuple(message for message in messages if type(message) is not CustomMessage)
        # Comparing identical objects is cheap.
        if kept[: len(self._valid)] != self._valid:
            self._valid, self._seen = (), set()
        added = kept[len(self._valid) :]
        if not _is_valid(added, self._seen):
            self._valid, self._seen = (), set()
            return _Repair(kept).repair()
        self._valid = (*self._valid, *added)
        return self._valid


def _is_valid(messages: tuple[Message, ...], seen: set[str]) -> TypeGuard[tuple[ModelMessage, ...]]:
    """Return True if the messages can be sent as they are. `seen` holds the call ids before them, and gets theirs."""
    due: Iterator[str] = iter(())
    for message in messages:
        # Comparing types keeps a thousand messages below a millisecond.
        if type(message) is ToolResult:
            if message.call_id != next(due, None):
                return False
            continue
        if next(due, None) is not None or not has_content(message):
            return False
        if type(message) is AssistantMessage:
            ids = [block.id for block in message.content if type(block) is ToolCall]
            if not _all_new(ids, seen):
                return False
            due = iter(ids)
    return next(due, None) is None


def _all_new(ids: list[str], seen: set[str]) -> bool:
    before = len(seen)
    seen.update(ids)
    return len(seen) == before + len(ids) and "" not in ids


def has_content(message: Message) -> bool:
    """Return True if the message has content; providers reject empty messages."""
    if type(message) is UserMessage:
        return any(type(block) is not Text or block.text.strip() for block in message.content)
    if type(message) is AssistantMessage:
        is_complete = message.stop_reason not in ("aborted", "error")
        return any(_counts(block, is_complete=is_complete) for block in message.content)
    return type(message) is ToolResult


def _counts(block: Text | Thinking | ToolCall, *, is_complete: bool) -> bool:
    if type(block) is Text:
        return not block.text.isspace() if block.text else False
    return is_complete or type(block) is ToolCall


class _RepairedTurn(Struct):
    """A message and, for a reply, the results of its calls, by the original call ids."""

    message: UserMessage | AssistantMessage
    calls: list[tuple[str, ToolCall]] = []
    results: dict[str, ToolResult] = {}


class _Repair:
    def __init__(self, messages: tuple[Message, ...]) -> None:
        self._messages = messages
        self._turns: list[_RepairedTurn] = []
        self._latest: dict[str, _RepairedTurn] = {}
        replies = (message for message in messages if isinstance(message, AssistantMessage))
        self._taken = {call.id for reply in replies for call in reply.tool_calls}
        self._used: set[str] = set()

    def repair(self) -> tuple[ModelMessage, ...]:
        for message in self._messages:
            self._place(message)
        return tuple(message for turn in self._turns for message in _with_results(turn))

    def _place(self, message: Message) -> None:
        match message:
            case ToolResult():
                self._place_result(message)
            case AssistantMessage() if has_content(message):
                self._turns.append(self._reply(message))
            case UserMessage() if has_content(message):
                self._turns.append(_RepairedTurn(message))
            case _:
                pass

    def _reply(self, message: AssistantMessage) -> _RepairedTurn:
        content = tuple(self._renamed(block) if isinstance(block, ToolCall) else block for block in message.content)
        turn = _RepairedTurn(message if content == message.content else replace(message, content=content))
        for old, new in zip(message.content, content, strict=True):
            if isinstance(old, ToolCall) and isinstance(new, ToolCall):
                turn.calls.append((old.id, new))
                self._latest[old.id] = turn
        return turn

    def _renamed(self, call: ToolCall) -> ToolCall:
        name, count = call.id, 1
        while not name or name in self._used or (count > 1 and name in self._taken):
            count += 1
            name = f"{call.id or 'call'}_{count}"
        self._used.add(name)
        return call if name == call.id else replace(call, id=name)

    def _place_result(self, result: ToolResult) -> None:
        turn = self._latest.get(result.call_id)
        if turn is None:
            return
        for first_id, call in turn.calls:
            if first_id == result.call_id and call.id not in turn.results:
                turn.results[call.id] = result if call.id == first_id else replace(result, call_id=call.id)
                return


def _with_results(turn: _RepairedTurn) -> Iterator[ModelMessage]:
    yield turn.message
    for _, call in turn.calls:
        yield turn.results.get(call.id) or missing_result(turn.message.id, call, turn.message.time)


def missing_result(message_id: str, call: ToolCall, time: float, text: str = NO_RESULT) -> ToolResult:
    """Return a placeholder for a missing result; `message_id` and `time` are those of the reply."""
    # Derived, not random: repairing the same history twice must give the same messages.
    result_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{message_id}/{call.id}")
    return ToolResult(call.id, call.name, (Text(text),), is_error=True, id=str(result_id), time=time)
