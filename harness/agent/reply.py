"""Builder of an assistant message from the deltas of a provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Set

from msgspec import Struct
from msgspec.structs import replace

from harness.codec import parsed_arguments
from harness.concurrency import raise_if_cancelled
from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart, Delta, Done, UsageReport
from harness.errors import StreamError
from harness.messages import (
    AssistantContent,
    AssistantMessage,
    ModelSpec,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
    new_id,
)


class _Block(Struct):
    start: BlockStart
    fragments: list[str] = []
    end: BlockEnd | None = None

    @property
    def text(self) -> str:
        return "".join(self.fragments)


class ReplyBuilder:
    """Collects deltas; `finish`, `fail` and `abort` each build the message for the history.

    Call ids that are empty or were used before (`taken`) are replaced, because results are matched by id.
    """

    def __init__(self, spec: ModelSpec, taken: Set[str] = frozenset()) -> None:
        self.id = new_id()
        self.started = False
        self._spec = spec
        self._taken = taken
        self._new_ids: set[str] = set()
        self._blocks: dict[int, _Block] = {}
        self._done: Done | None = None
        self._reported = Usage()

    def take(self, delta: Delta) -> BlockStart | BlockDelta | BlockEnd | None:
        """Add a delta and return what to publish; None for a usage report and for the end of the reply.

        Raises:
            StreamError: The order of deltas is invalid.
        """
        self.started = True
        if self._done is not None:
            raise StreamError("the stream continues after its last event")
        match delta:
            case BlockStart(index) if index in self._blocks:
                raise StreamError(f"block {index} of the reply starts twice")
            case BlockStart():
                delta = self._with_unique_id(delta)
                self._blocks[delta.index] = _Block(delta)
            case BlockDelta(index, text):
                self._block(index).fragments.append(text)
            case BlockEnd(index):
                self._block(index).end = delta
            case UsageReport():
                self.started = bool(self._blocks)
                self._reported = delta.usage
                return None
            case Done():
                self._done = delta
                return None
        return delta

    @property
    def usage(self) -> Usage:
        """Usage as far as the service reported it."""
        return self._done.usage if self._done and self._done.usage != Usage() else self._reported

    def kind_of(self, index: int) -> BlockKind:
        """Return the type of a block that has started."""
        return self._blocks[index].start.kind

    def partial(self) -> AssistantMessage:
        """Return the reply as far as it was received; an incomplete tool call has `partial_json`."""
        return self._message(self._content(), "stop", None)

    def finish(self) -> AssistantMessage:
        """Return the complete reply.

        Raises:
            StreamError: The stream ended prematurely.
        """
        if self._done is None:
            raise StreamError("the stream ended without its last event")
        done = self._done
        content = self._text_content() if done.stop_reason in ("error", "aborted") else self._content()
        if done.stop_reason == "length" and content:
            content = (*content[:-1], _unfinished(content[-1]))
        return self._message(content, done.stop_reason, done.error, done.response_id)

    def fail(self, error: str) -> AssistantMessage:
        return self._message(self._text_content(), "error", error)

    def abort(self) -> AssistantMessage:
        return self._message(self._text_content(), "aborted", "stopped by the user")

    def _block(self, index: int) -> _Block:
        try:
            return self._blocks[index]
        except KeyError:
            raise StreamError(f"block {index} of the reply continues without having started") from None

    def _with_unique_id(self, start: BlockStart) -> BlockStart:
        if start.kind != "tool_call":
            return start
        used = not start.call_id or start.call_id in self._taken or start.call_id in self._new_ids
        call_id = f"call_{new_id()[:8]}" if used else start.call_id
        self._new_ids.add(call_id)
        return BlockStart(start.index, start.kind, call_id, start.name)

    def _content(self) -> tuple[AssistantContent, ...]:
        content = (_content_of(self._blocks[index]) for index in sorted(self._blocks))
        return tuple(block for block in content if block is not None)

    def _text_content(self) -> tuple[AssistantContent, ...]:
        """Return the content that a failed reply keeps: its text, without tool calls."""
        return tuple(block for block in self._content() if isinstance(block, Text))

    def _message(
        self,
        content: tuple[AssistantContent, ...],
        stop_reason: StopReason,
        error: str | None,
        response_id: str = "",
    ) -> AssistantMessage:
        return AssistantMessage(
            content,
            model=self._spec.model_id,
            provider=self._spec.provider,
            usage=self.usage,
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
    try:
        arguments = parsed_arguments(written) if written.strip() else {}
    except ValueError:
        return ToolCall(start.call_id, start.name, {}, written, signature)
    return ToolCall(start.call_id, start.name, arguments, signature=signature)


def _unfinished(block: AssistantContent) -> AssistantContent:
    """Mark the last call of a truncated reply as incomplete if it has no arguments, since some may be missing."""
    if isinstance(block, ToolCall) and not (block.arguments or block.partial_json):
        return replace(block, partial_json="{")
    return block


async def read_reply(
    deltas: AsyncIterator[Delta], builder: ReplyBuilder, on_text: Callable[[str], None] = lambda _: None
) -> AssistantMessage:
    """Return the reply of a provider that is no part of a run.

    Args:
        deltas: Stream of the provider, which is closed on every path.
        builder: Collects the deltas; its `usage` is valid on every path, too.
        on_text: Receives the text as it is streamed.
    """
    try:
        async for delta in deltas:
            raise_if_cancelled()
            seen = builder.take(delta)
            if isinstance(seen, BlockDelta) and builder.kind_of(seen.index) == "text":
                on_text(seen.text)
        return builder.finish()
    finally:
        # An interrupted stream holds its connection until it is closed.
        if isinstance(deltas, AsyncGenerator):
            await deltas.aclose()
