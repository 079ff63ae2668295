"""Builds one assistant message from a provider's deltas."""

from __future__ import annotations

import json
import math
from collections.abc import Set
from dataclasses import field, replace

from harness.errors import StreamError
from harness.lazy_dataclass import dataclass
from harness.messages import (
    AssistantContent,
    AssistantMessage,
    JsonObject,
    JsonValue,
    ModelSpec,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
    new_id,
)
from harness.ports.provider import BlockDelta, BlockEnd, BlockKind, BlockStart, Delta, Done

DEEPEST = 100
"""Levels that arguments may be nested: what is deeper can be neither checked nor written down again."""

TOO_DEEP = f"they are nested deeper than {DEEPEST} levels"


@dataclass(slots=True)
class _Block:
    start: BlockStart
    fragments: list[str] = field(default_factory=list[str])
    end: BlockEnd | None = None

    @property
    def text(self) -> str:
        return "".join(self.fragments)


class ReplyBuilder:
    """Takes deltas; `finish`, `fail` and `abort` each make the message that stands in the history.

    Call ids that are empty or were used before (`taken`) are replaced, since answers are matched by id.
    """

    def __init__(self, spec: ModelSpec, taken: Set[str] = frozenset()) -> None:
        self.id = new_id()
        self.started = False
        self._spec = spec
        self._taken = taken
        self._own_ids: set[str] = set()
        self._blocks: dict[int, _Block] = {}
        self._done: Done | None = None

    def take(self, delta: Delta) -> BlockStart | BlockDelta | BlockEnd | None:
        """Note a delta; hands back what observers should see of it (None for the end of the reply).

        Raises:
            StreamError: the provider broke its promise about the order of deltas.
        """
        self.started = True
        if self._done is not None:
            raise StreamError("the reply goes on after its last event")
        match delta:
            case BlockStart(index) if index in self._blocks:
                raise StreamError(f"the reply begins its block {index} twice")
            case BlockStart():
                delta = self._with_own_id(delta)
                self._blocks[delta.index] = _Block(delta)
            case BlockDelta(index, text):
                self._block(index).fragments.append(text)
            case BlockEnd(index):
                self._block(index).end = delta
            case Done():
                self._done = delta
                return None
        return delta

    def kind_of(self, index: int) -> BlockKind:
        """What the block of that index holds; it has begun."""
        return self._blocks[index].start.kind

    def partial(self) -> AssistantMessage:
        """Return the reply as far as it has been received; an unfinished tool call has `partial_json`."""
        return self._message(self._content(), "stop", None)

    def finish(self) -> AssistantMessage:
        """The complete reply.

        Raises:
            StreamError: the stream ended without saying so.
        """
        if self._done is None:
            raise StreamError("the reply ended without its last event")
        done = self._done
        content = self._spoken() if done.stop_reason in ("error", "aborted") else self._content()
        if done.stop_reason == "length" and content:
            content = (*content[:-1], _unfinished(content[-1]))
        return self._message(content, done.stop_reason, done.error, done.usage, done.response_id)

    def fail(self, error: str) -> AssistantMessage:
        return self._message(self._spoken(), "error", error)

    def abort(self) -> AssistantMessage:
        return self._message(self._spoken(), "aborted", "stopped by the user")

    def _block(self, index: int) -> _Block:
        try:
            return self._blocks[index]
        except KeyError:
            raise StreamError(f"the reply continues a block {index} that it never began") from None

    def _with_own_id(self, start: BlockStart) -> BlockStart:
        if start.kind != "tool_call":
            return start
        used = not start.call_id or start.call_id in self._taken or start.call_id in self._own_ids
        call_id = f"call_{new_id()[:8]}" if used else start.call_id
        self._own_ids.add(call_id)
        return BlockStart(start.index, start.kind, call_id, start.name)

    def _content(self) -> tuple[AssistantContent, ...]:
        content = (_content_of(self._blocks[index]) for index in sorted(self._blocks))
        return tuple(block for block in content if block is not None)

    def _spoken(self) -> tuple[AssistantContent, ...]:
        """What a reply that did not end well may keep: its text, and nothing that still wants to be done."""
        return tuple(block for block in self._content() if isinstance(block, Text))

    def _message(
        self,
        content: tuple[AssistantContent, ...],
        stop_reason: StopReason,
        error: str | None,
        usage: Usage = Usage(),
        response_id: str = "",
    ) -> AssistantMessage:
        return AssistantMessage(
            content,
            model=self._spec.model_id,
            provider=self._spec.provider,
            usage=usage,
            stop_reason=stop_reason,
            error=error,
            response_id=response_id,
            id=self.id,
        )


def _content_of(block: _Block) -> AssistantContent | None:
    text = block.text
    end = block.end or BlockEnd(block.start.index)
    match block.start.kind:
        case "text":
            return Text(text, end.signature, end.citations) if text or end.signature else None
        case "thinking":
            return Thinking(text, end.signature, end.redacted) if text or end.signature or end.redacted else None
        case "tool_call":
            return _call_of(block.start, text, end.signature)


def _call_of(start: BlockStart, written: str, signature: str | None) -> ToolCall:
    arguments = _arguments(written)
    if arguments is None:
        return ToolCall(start.call_id, start.name, {}, written, signature)
    return ToolCall(start.call_id, start.name, arguments, signature=signature)


def _unfinished(block: AssistantContent) -> AssistantContent:
    """The last block of a reply that was cut off. A call without arguments may have been about to get some."""
    if isinstance(block, ToolCall) and not (block.arguments or block.partial_json):
        return replace(block, partial_json="{")
    return block


def _arguments(written: str) -> JsonObject | None:
    if not written.strip():
        return {}
    try:
        return parsed_arguments(written)
    except ValueError:
        return None


def parsed_arguments(written: str) -> JsonObject:
    """The arguments of a call as the model wrote them.

    Raises:
        ValueError: they are none; the text says why, as part of a sentence.
    """
    try:
        parsed: JsonValue = json.loads(written, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    if not isinstance(parsed, dict):
        raise ValueError("they are not an object")
    if written.count("[") + written.count("{") > DEEPEST and _depth(parsed) > DEEPEST:
        raise ValueError(TOO_DEEP)
    return parsed


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)


def _depth(value: JsonValue) -> int:
    """How deep lists and objects are nested."""
    depth, level = 0, [value]
    while level:
        inner: list[JsonValue] = []
        for each in level:
            inner.extend(each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        depth, level = depth + 1, inner
    return depth
