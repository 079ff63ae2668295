"""Streams of messages between a server and the SDK, with limits on rate and on unanswered requests.

The SDK starts a task for each incoming message. Without a limit, a server that floods the client with notifications
occupies the event loop, and one that sends requests without reading the answers fills the memory.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import Context
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from tools.mcp.wire import Report, clean_lists, limit_content

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams, WriteStream

    Incoming: TypeAlias = ReadStream[SessionMessage | Exception]

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""Maximum size of one message of a server: an image of 5 MB fits, and the SDK parses it in the event loop."""
BURST = 200
"""Messages after which the rate is checked."""
MESSAGES_PER_S = 2_000
MAX_OPEN_REQUESTS = 100
"""Requests of a server that may be unanswered at the same time."""

OnEnd: TypeAlias = Callable[[str], None]
"""Function that is called when the stream ends, with the reason if the client ended it."""


class _Reader:
    """Stream of incoming messages that slows a flood down and reports its end."""

    def __init__(self, stream: Incoming, on_end: OnEnd, report: Report) -> None:
        self._stream = stream
        self._on_end = on_end
        self._report = report
        self._count = 0
        self._since = time.monotonic()
        self._open_requests: Counter[str] = Counter()
        """Requests that are being handled, by number: a hostile server may use one twice."""
        self._unsent_answers = 0

    @property
    def last_context(self) -> Context | None:
        """Context of the sender, which the SDK looks for."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            item = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._on_end("")
            raise
        match item.message if isinstance(item, SessionMessage) else None:
            case JSONRPCRequest(id=number):
                self._open_requests[str(number)] += 1
                if self._open_requests.total() + self._unsent_answers > MAX_OPEN_REQUESTS:
                    self._on_end(f"the server sent more than {MAX_OPEN_REQUESTS} requests without reading the answers")
                    raise anyio.EndOfStream
            case JSONRPCNotification(method="notifications/cancelled", params=dict() as params):
                # The SDK does not answer a request that the server has cancelled while it was handled.
                self._close_request(params.get("requestId"))
            case JSONRPCResponse(result=result):
                limit_content(result)
                clean_lists(result, self._report)
            case _:
                pass
        await self._slow_down()
        return item

    @contextmanager
    def answering(self, number: object) -> Generator[None]:
        """Count an answer until it is sent, also if the server cancels its request now."""
        self._close_request(number)
        self._unsent_answers += 1
        try:
            yield
        finally:
            self._unsent_answers -= 1

    def _close_request(self, number: object) -> None:
        key = str(number)
        self._open_requests[key] -= 1
        if self._open_requests[key] <= 0:
            del self._open_requests[key]

    async def _slow_down(self) -> None:
        self._count += 1
        if self._count < BURST:
            return
        early = self._since + BURST / MESSAGES_PER_S - time.monotonic()
        if early > 0:
            await asyncio.sleep(early)
        self._count, self._since = 0, time.monotonic()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _Writer:
    """Stream of outgoing messages that counts the answers."""

    def __init__(self, stream: WriteStream[SessionMessage], reader: _Reader) -> None:
        self._stream = stream
        self._reader = reader

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            with self._reader.answering(item.message.id):
                await self._stream.send(item)
        else:
            await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@asynccontextmanager
async def limited(
    transport: AbstractAsyncContextManager[TransportStreams], on_end: OnEnd, report: Report
) -> AsyncGenerator[TransportStreams]:
    """Return a transport with the limits of this module.

    Args:
        transport: The transport.
        on_end: Called when the stream of the server ends.
        report: Receives a problem for each entry of a list that is dropped.
    """
    async with transport as (incoming, outgoing):
        reader = _Reader(incoming, on_end, report)
        yield reader, _Writer(outgoing, reader)
