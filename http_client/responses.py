"""Responses that are read as they arrive, and closed however reading ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from harness.concurrency import run_uninterrupted, stop_once
from http_client.inflate import Inflater

if TYPE_CHECKING:
    import httpx

MAX_BUFFERED = 64
"""Chunks that are read ahead."""


@asynccontextmanager
async def open_response(client: httpx.AsyncClient, request: httpx.Request) -> AsyncGenerator[httpx.Response]:
    """Open a response for streaming, and close it at the end.

    Closing a connection takes httpx several steps, which a second cancellation would interrupt.
    """
    answers: list[httpx.Response] = []

    async def send() -> None:
        answers.append(await client.send(request, stream=True))

    try:
        await run_uninterrupted(send(), cancel_once=True)
        yield answers[0]
    finally:
        for answer in answers:
            await run_uninterrupted(answer.aclose())


@asynccontextmanager
async def open_first(client: httpx.AsyncClient, requests: Sequence[httpx.Request]) -> AsyncGenerator[httpx.Response]:
    """Open the response to the first of several requests whose server accepts the connection; see `open_response`."""
    import httpx

    async with AsyncExitStack() as stack:
        for request in requests[:-1]:
            try:
                response = await stack.enter_async_context(open_response(client, request))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
            yield response
            return
        yield await stack.enter_async_context(open_response(client, requests[-1]))


async def read_chunks(response: httpx.Response) -> AsyncGenerator[bytes]:
    """Yield the bytes of a response as they arrive, reading ahead.

    A separate task reads: cancelled more than once, httpx would leave the connection open.
    """
    waiting: deque[bytes] = deque()
    arrived, room = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        try:
            decoder = Inflater(response.headers.get("content-encoding", ""))
            async for received in response.aiter_raw():
                for chunk in decoder.feed(received):
                    waiting.append(chunk)
                    arrived.set()
                    if len(waiting) >= MAX_BUFFERED:
                        room.clear()
                        await room.wait()
        finally:
            arrived.set()

    reading = asyncio.create_task(read())
    try:
        while waiting or not reading.done():
            while waiting:
                chunk = waiting.popleft()
                room.set()
                yield chunk
            if not reading.done():
                arrived.clear()
                await arrived.wait()
        reading.result()
    finally:
        await stop_once(reading)


async def fill(body: bytearray, response: httpx.Response, most: int) -> None:
    """Append the bytes of a response to `body` until it has at least `most`."""
    async with aclosing(read_chunks(response)) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) >= most:
                return
