"""Transport to a server that runs as a child process and exchanges lines of JSON over its standard streams.

Not the one of the SDK, which keeps a line without end in memory, passes standard error on to the terminal, and misses
descendants that leave the process group.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from tools.child_process import Program
from tools.child_streams import CHUNK_BYTES, open_reader, open_writer, read_log, started, stop
from tools.mcp.host import McpHost
from tools.mcp.server_config import McpServer
from tools.mcp.streams import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    Item: TypeAlias = SessionMessage | Exception

Log: TypeAlias = Callable[[str], None]

_SHOWN_BYTES = 300
_MAX_SKIPPED_BYTES = 256 * 1024 * 1024
"""Length of a line after which the connection ends."""
_HEAD = re.compile(
    rb'\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,|\s*"id"\s*:\s*(?P<id>\d{1,15})\s*,)*\s*"(?P<key>result|error|method|params)"'
)
"""Beginning of a message, up to the first key that tells its kind."""
_LAST_ID = re.compile(rb'(?<!\\)"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
"""Number of a message that is its last key: one brace follows, so it is none of a nested object."""
_EDGE_BYTES = 200
_MAX_NOTIFICATION_BYTES = 64 * 1024
_NOTIFICATION = re.compile(rb'\s*\{[^{]{0,60}"method"\s*:\s*"notifications/')
_BYTES_PER_S = 20 * 1024 * 1024
"""Rate at which messages are taken from a server; a message above it delays the next one."""
_TOO_LARGE = -32001
_INHERITED = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TEMP|TMP|XDG_[A-Z_]+|DISPLAY|WAYLAND_DISPLAY"
    "|DBUS_SESSION_BUS_ADDRESS|DOCKER_HOST|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS"
    "|(HTTP|HTTPS|ALL|NO)_PROXY|(http|https|all|no)_proxy"
)
"""Variables of this process that servers receive."""
_GARBAGE_PAUSE_S = 0.001


@asynccontextmanager
async def stdio_transport(program: Program, log: Log) -> AsyncGenerator[TransportStreams]:
    """Start a server and connect to it; at the end, stop it with all its descendants.

    Args:
        program: The server.
        log: Receives its standard error, and output that is not a message.

    Raises:
        OSError, ValueError: The program cannot be started.
    """
    with started(program) as (process, stdin, stdout, stderr):
        incoming_end, incoming = anyio.create_memory_object_stream["Item"](0)
        outgoing, outgoing_end = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            reader, log_reader, writer = await open_reader(stdout), await open_reader(stderr), await open_writer(stdin)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_Lines(incoming_end, log).read, reader)
                tasks.start_soon(_write, writer, outgoing_end)
                tasks.start_soon(read_log, log_reader, log)
                try:
                    yield incoming, outgoing
                finally:
                    with anyio.CancelScope(shield=True):
                        writer.close()
                        await stop(process, log)
                    tasks.cancel_scope.cancel()
        finally:
            for stream in (incoming_end, incoming, outgoing, outgoing_end):
                stream.close()
            # Also if a descriptor could not be connected, or the start was cancelled.
            with anyio.CancelScope(shield=True):
                if process.is_running:
                    await process.kill()


class _Lines:
    """Splits output into messages; a line that is too long is dropped, and its request answered with an error."""

    def __init__(self, messages: MemoryObjectSendStream[Item], log: Log) -> None:
        self._messages = messages
        self._log = log
        self._buffer = bytearray()
        self._head = b""
        """Beginning of a line that is being dropped."""
        self._skipped = 0
        self._is_unanswerable = False
        """True once an answer was dropped whose request is not known, and would wait for ever."""

    async def read(self, source: tuple[asyncio.StreamReader, asyncio.BaseTransport]) -> None:
        reader, transport = source
        try:
            # The end of the stream is the end of the connection.
            async with self._messages:
                while data := await reader.read(CHUNK_BYTES):
                    await self._feed(data)
                    if self._is_unanswerable:
                        self._log("the connection ends: no request is known for an answer that is too large")
                        return
                    if self._skipped > _MAX_SKIPPED_BYTES:
                        self._log("the connection ends: the server writes a line without end")
                        return
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass  # The session is closed.
        finally:
            transport.close()

    async def _feed(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            await self._take(line)
            if self._is_unanswerable:
                return
        self._buffer += rest
        if len(self._buffer) > MAX_MESSAGE_BYTES:
            self._head = self._head or bytes(self._buffer[:_EDGE_BYTES])
            self._skipped += len(self._buffer) - _EDGE_BYTES
            del self._buffer[:-_EDGE_BYTES]
        elif self._head:
            self._skipped += max(0, len(self._buffer) - _EDGE_BYTES)
            del self._buffer[:-_EDGE_BYTES]

    async def _take(self, end: bytes) -> None:
        line, head, skipped = bytes(self._buffer) + end, self._head, self._skipped
        self._buffer.clear()
        self._head, self._skipped = b"", 0
        if head or len(line) > MAX_MESSAGE_BYTES:
            await self._reject(head or line[:_EDGE_BYTES], line[-_EDGE_BYTES:], skipped + len(line))
        elif line.strip():
            await self._parse(line)
            if len(line) > _MAX_NOTIFICATION_BYTES:
                await asyncio.sleep(len(line) / _BYTES_PER_S)

    async def _parse(self, line: bytes) -> None:
        try:
            message = _parsed(line)
        except ValueError:
            self._log(f"stdout: {line[:_SHOWN_BYTES].decode('utf-8', 'replace')}")
            # Slows a flood down.
            await asyncio.sleep(_GARBAGE_PAUSE_S)
            return
        if message is None:
            self._log(f"a notification of {len(line):,} bytes was dropped; the limit is {_MAX_NOTIFICATION_BYTES:,}")
            return
        await self._messages.send(SessionMessage(message))

    async def _reject(self, head: bytes, tail: bytes, size: int) -> None:
        """Answer the request of a message that is too large; requests and notifications of the server are dropped."""
        text = f"the answer has {size:,} bytes; the limit is {MAX_MESSAGE_BYTES:,}"
        self._log(text)
        found = _HEAD.match(head)
        if found and found["key"] in (b"method", b"params"):
            return
        last = _LAST_ID.search(tail)
        number = (found and found["id"]) or (last and last[1])
        if not number:
            self._is_unanswerable = True
            return
        error = ErrorData(code=_TOO_LARGE, message=text)
        await self._messages.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(number), error=error)))


def _parsed(line: bytes) -> JSONRPCMessage | None:
    """Return the message of a line, or None for a notification that is too large.

    Raises:
        ValueError: The line is no message.
    """
    if len(line) <= _MAX_NOTIFICATION_BYTES:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    if _NOTIFICATION.match(line):
        return None
    found = _HEAD.match(line)
    if found and found["key"] == b"result":
        # A fifth of the time of the adapter, which tries every kind of message.
        return JSONRPCResponse.model_validate_json(line, by_name=False)
    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    return None if isinstance(message, JSONRPCNotification) else message


async def _write(writer: asyncio.StreamWriter, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
    try:
        async with messages:
            async for each in messages:
                writer.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await writer.drain()
    except OSError:
        pass  # The server has ended, which its output shows.
    finally:
        writer.close()


def program_of(server: McpServer, host: McpHost) -> Program:
    """Return the program of a stdio server, with a few variables of this process and those of its configuration."""
    hidden = set(host.secrets())
    inherited = {name: value for name, value in host.environment.items() if _INHERITED.fullmatch(name)}
    environment = {name: value for name, value in inherited.items() if name not in hidden} | server.env
    cwd = host.root / Path(server.cwd).expanduser()
    return Program((server.command, *server.args), cwd, environment)
