"""Proxy built from a provider: accepts its own protocol over HTTP, calls the provider, and forwards the stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

from fakes.proxy_wire import sse

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done
from harness.errors import ProviderError
from harness.messages import (
    AssistantMessage,
    Cost,
    Image,
    ModelMessage,
    ModelSpec,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from harness.ports.provider import Provider, Request, ToolSpec
from providers.proxy.decode import ERRORS
from providers.proxy.encode import counts_of


class ProxyServer:
    """Async context manager. `cut_after` ends the next answer after that many events, once."""

    def __init__(self, provider: Provider, *, token: str, width: int = 0) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.requests: list[Request] = []
        self.cut_after: int | None = None
        self._provider = provider
        self._token = token
        self._width = width

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> ProxyServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await self._answer(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        if not first.startswith("POST /v1/stream ") or headers.get("authorization") != f"Bearer {self._token}":
            writer.write(b"HTTP/1.1 401 No\r\ncontent-length: 15\r\nconnection: close\r\n\r\nunknown bearer\n")
            return
        self.bodies.append(body)
        self.requests.append(request_in(body))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        number, cut, self.cut_after = 0, self.cut_after, None
        async for event in self._events(self.requests[-1]):
            if number == cut:
                return
            number += 1
            for start in range(0, len(event), self._width or len(event)):
                writer.write(event[start : start + (self._width or len(event))])
                await writer.drain()

    async def _events(self, request: Request) -> AsyncIterator[bytes]:
        yield sse({"type": "start"})
        kinds: dict[int, str] = {}
        try:
            async for delta in self._provider.stream(request):
                if isinstance(delta, BlockStart):
                    kinds[delta.index] = delta.kind
                yield sse(_event(delta, kinds))
        except ProviderError as error:
            kind = next((name for name, cls in ERRORS.items() if cls is type(error)), None)
            failed = {"type": "error", "stop_reason": "error", "error_message": str(error), "error_kind": kind}
            yield sse({**failed, "usage": None, "retry_after": error.retry_after})


def _event(delta: Delta, kinds: dict[int, str]) -> dict[str, Any]:
    match delta:
        case BlockStart(index, kind, call_id, name):
            call = {"id": call_id, "name": name} if kind == "tool_call" else {}
            return {"type": f"{kind}_start", "content_index": index, **call}
        case BlockDelta(index, text):
            return {"type": f"{kinds[index]}_delta", "content_index": index, "delta": text}
        case BlockEnd(index, signature, redacted):
            kept = {"signature": signature, "redacted": redacted}
            return {"type": f"{kinds[index]}_end", "content_index": index, **kept}
        case Done(stop, usage, response_id, error):
            cost = usage.cost or Cost()
            reported = {"usage": counts_of(usage, usage.context), "cost": counts_of(cost, cost.total)}
            if stop == "error":
                failed = {"type": "error", "stop_reason": stop, "error_message": error}
                return {**failed, "error_kind": "content_filtered", **reported}
            return {"type": "done", "stop_reason": stop, "response_id": response_id, **reported}


def request_in(body: dict[str, Any]) -> Request:
    """Parse a request of a proxy."""
    options = body["options"]
    return Request(
        ModelSpec("upstream", body["model"], options.get("thinking", "off")),
        body["system"],
        tuple(_messages(body["messages"])),
        tuple(ToolSpec(**tool) for tool in body.get("tools", ())),
        options.get("max_tokens"),
        options.get("temperature"),
        options.get("session_id", ""),
    )


def _messages(messages: list[dict[str, Any]]) -> Iterator[ModelMessage]:
    for message in messages:
        content = tuple(_block(block) for block in message["content"])
        match message["role"]:
            case "user":
                yield UserMessage(content, time=message["timestamp"])
            case "tool_result":
                reported = (message["tool_call_id"], message["tool_name"], content, message["is_error"])
                yield ToolResult(*reported, time=message["timestamp"])
            case _:
                counts = {name: count for name, count in message["usage"].items() if name != "total"}
                dollars = {name: paid for name, paid in message["cost"].items() if name != "total"}
                usage = Usage(**counts, cost=Cost(**dollars) if message["cost"]["total"] else None)
                stop, error = message["stop_reason"], message["error_message"]
                yield AssistantMessage(
                    content, message["model_id"], message["provider"], usage, stop, error, time=message["timestamp"]
                )


def _block(block: dict[str, Any]) -> Any:
    match block:
        case {"type": "text"}:
            return Text(block["text"], block.get("signature"))
        case {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}:
            return Image(media_type, data)
        case {"type": "thinking"}:
            return Thinking(block["thinking"], block["signature"], block.get("redacted"))
        case {"type": "tool_call"}:
            partial = block["partial_json"] or ""
            return ToolCall(block["id"], block["name"], block["arguments"], partial, block.get("signature"))
        case _:
            raise ValueError(block)
