"""Connection to one MCP server: handshake, requests, reconnection with back-off, and an orderly end.

One task owns the contexts of the SDK, as anyio requires. Requests are sent from any task.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, TypeVar

import anyio
from mcp import Client, MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult, Implementation
from pydantic import ValidationError

from harness.messages import JsonObject
from tools.mcp.auth.errors import LoginRequired
from tools.mcp.callbacks import Callbacks
from tools.mcp.catalog import Catalog, load_catalog, watch_lists
from tools.mcp.errors import Failure, explain, first_cause, is_lost
from tools.mcp.host import McpHost
from tools.mcp.http import Endpoint
from tools.mcp.server_config import McpServer
from tools.mcp.state import LogRing, Phase, RequestFailed, ServerError, ServerState, clean_line, clean_text
from tools.mcp.stdio import program_of, stdio_transport
from tools.mcp.streams import limited

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

T = TypeVar("T")
Progressed = Callable[[float, float | None, str | None], None]

logger = logging.getLogger(__name__)

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 60.0
MAX_ATTEMPTS = 10
"""Failed attempts in a row after which the client gives up."""
STABLE_S = 30.0
"""Age at which a connection that ends counts as lost, and not as another failed attempt."""
CLOSE_S = 2.8
"""Seconds for closing a connection."""
UNLIMITED_WAIT_S = 60.0
"""Seconds that a call without a time limit waits for a connection."""
ERROR_CHARS = 2_000


class Connection:
    """Connection to a server.

    Args:
        server: Configuration of the server.
        host: Services of the program.
        on_change: Called when state or lists have changed.
    """

    def __init__(self, server: McpServer, host: McpHost, on_change: Callable[[], None]) -> None:
        self.server = server
        self.log = LogRing()
        self.catalog = Catalog()
        self.phase: Phase = "off"
        self.reason = ""
        self._host = host
        self._on_change = on_change
        self._callbacks = Callbacks(server, host, self.log)
        self._client: Client | None = None
        self._endpoint = Endpoint(server, host)
        self._scope: anyio.CancelScope | None = None
        self._task: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()
        """Held while the connection is closed: an old and a new task would share the fields below."""
        self._settled = asyncio.Event()
        """Set unless an attempt to connect is in progress, or scheduled after a loss."""
        self._wake = asyncio.Event()
        """Ends a pause between attempts."""
        self._ended = asyncio.Event()
        """Set when the current connection has ended, or has to end."""
        self._end_reason = ""
        self._retry_at = 0.0
        self._uses_sse = server.transport == "sse"

    @property
    def is_pending(self) -> bool:
        """True while an attempt to connect is in progress or scheduled."""
        return self.phase in ("connecting", "reconnecting") or self._retry_at > 0

    @property
    def state(self) -> ServerState:
        catalog, client = self.catalog, self._client
        info = client.server_info if client else None
        return ServerState(
            server=self.server,
            phase=self.phase,
            reason=self.reason,
            title=clean_line(f"{info.title or info.name} {info.version}") if info else "",
            protocol=clean_line(str(client.protocol_version)) if client else "",
            retry_at=self._retry_at,
            instructions=catalog.instructions,
            tools=tuple(each.name for each in catalog.tools),
            resources=len(catalog.resources) + len(catalog.templates),
            prompts=len(catalog.prompts),
            problems=catalog.problems,
            log=self.log.lines,
        )

    def start(self) -> None:
        """Start connecting; does nothing if the connection is started or is being closed."""
        if not self._changing.locked():
            self._start()

    async def close(self) -> None:
        """End the connection, and the process of the server, within 3 seconds."""
        async with self._changing:
            await self._close()

    async def reconnect(self) -> None:
        """Close the connection, forget earlier failures and decisions of the user, and connect again."""
        self._callbacks.forget_decisions()
        async with self._changing:
            await self._close()
            self._start()

    def _start(self) -> None:
        if self._task is None:
            self._set("connecting")
            self._task = asyncio.create_task(self._keep_connected(), name=f"mcp {self.server.name}")
            self._task.add_done_callback(self._finished)

    async def _close(self) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        if self._scope is None:
            task.cancel()
        elif self._client is None:
            self._scope.cancel()
        else:
            self._scope.deadline = anyio.current_time() + CLOSE_S
        self._client = None
        self._retry_at = 0.0
        self._ended.set()
        await asyncio.wait([task], timeout=CLOSE_S)
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=1.0)
        self._set("off")

    async def wait_settled(self) -> None:
        """Wait until the server is connected, or an attempt has failed."""
        await self._settled.wait()

    async def call_tool(
        self, name: str, arguments: JsonObject, progressed: Progressed, *, is_repeatable: bool
    ) -> CallToolResult:
        """Call a tool.

        Args:
            name: Name of the tool at the server.
            arguments: Arguments.
            progressed: Receives progress, total (None: unknown) and message of each report.
            is_repeatable: True if the call may be sent twice.

        Raises:
            RequestFailed: The call failed.
        """
        try:
            async with self._callbacks.clock() as clock:

                async def report(progress: float, total: float | None, message: str | None) -> None:
                    clock.restart()
                    progressed(progress, total, message)

                return await self._send(
                    lambda client: client.call_tool(name, arguments, progress_callback=report),
                    is_repeatable=is_repeatable,
                )
        except TimeoutError as error:
            seconds = f"{self.server.timeout:g} s"
            raise RequestFailed(f"no result and no progress within {seconds}; the call was cancelled") from error

    async def request(self, send: Callable[[Client], Awaitable[T]], *, is_repeatable: bool = True) -> T:
        """Send a request once the server is connected.

        Args:
            send: Sends the request.
            is_repeatable: True to send it again if the connection is lost while it is in progress.

        Raises:
            RequestFailed: The server is not connected, the connection was lost, or the server answered with an error,
                or not within its time limit.
        """
        try:
            async with self._callbacks.clock():
                return await self._send(send, is_repeatable=is_repeatable)
        except TimeoutError as error:
            raise RequestFailed(f"no answer within {self.server.timeout:g} s") from error

    async def _send(self, send: Callable[[Client], Awaitable[T]], *, is_repeatable: bool) -> T:
        client = await self._connected()
        try:
            return await send(client)
        except MCPError as error:
            # What was rejected for a lack of credentials has had no effects, even if the connection ended with it.
            if not is_lost(error, self._endpoint.status) or self._endpoint.needs_login:
                raise self._failed(error) from error
            # A server that does not know the session has not processed the request.
            may_repeat = is_repeatable or error.code != CONNECTION_CLOSED
            if self._client is client:
                self._drop("the session has ended")
            if not may_repeat:
                raise RequestFailed(
                    "the connection was lost during the call. It may have had effects, so it was not sent again"
                ) from error
        except (ValidationError, RuntimeError) as error:
            raise RequestFailed(f"the server sent an invalid answer ({type(error).__name__})") from error
        try:
            return await send(await self._connected())
        except MCPError as error:
            raise self._failed(error) from error

    def lists_changed(self) -> None:
        """Report that lists were loaded again."""
        self._on_change()

    def _failed(self, error: MCPError) -> RequestFailed:
        if self._endpoint.needs_login:
            self._drop("the server requires a login")
            is_login = self.server.auth.kind == "oauth"
            return RequestFailed(str(LoginRequired(self.server.name)) if is_login else "the server rejected the token")
        return ServerError(clean_text(error.message, ERROR_CHARS) or f"error {error.code}")

    async def _connected(self) -> Client:
        """Return the client once the server is connected; wait while it is connecting."""
        self._wake.set()
        if self._client is None and self._task is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.server.timeout or UNLIMITED_WAIT_S):
                    await self._settled.wait()
        if self._client is None:
            raise RequestFailed(f"the MCP server {self.server.name} is not connected ({self.reason or self.phase})")
        return self._client

    def _drop(self, reason: str) -> None:
        """End the current connection, so that the owner connects again."""
        self._end_reason = self._end_reason or reason
        self._ended.set()
        if self._task is not None and self._client is not None:
            self._client = None
            self._set("reconnecting", reason)

    def _set(self, phase: Phase, reason: str = "") -> None:
        self.phase, self.reason = phase, reason
        if phase in ("connecting", "reconnecting"):
            self._settled.clear()
        else:
            self._settled.set()
        self._on_change()

    async def _keep_connected(self) -> None:
        failures = 0
        was_connected = False
        while True:
            began = time.monotonic()
            failure = await self._connect()
            if self._task is not asyncio.current_task():
                return
            was_connected = was_connected or failure.was_connected
            is_first = failure.was_connected and time.monotonic() - began > STABLE_S
            failures = 1 if is_first else failures + 1
            logger.info("mcp %s: %s", self.server.name, failure.reason)
            if failure.needs_login or failure.is_final or failures >= MAX_ATTEMPTS:
                self._set("needs_login" if failure.needs_login else "failed", failure.reason)
                return
            delay = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** (failures - 1)) * random.uniform(0.8, 1.2)
            self._retry_at = time.monotonic() + delay
            self._set("reconnecting" if was_connected else "failed", failure.reason)
            await self._pause(delay)
            self._retry_at = 0.0
            self._set("reconnecting" if was_connected else "connecting", failure.reason)

    def _finished(self, task: asyncio.Task[None]) -> None:
        """Report an error in this module or the SDK that no other code handles."""
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("mcp %s failed", self.server.name, exc_info=error)
            self._client = None
            self._set("failed", f"internal error: {type(error).__name__}")

    async def _pause(self, delay: float) -> None:
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._wake.wait()

    async def _connect(self) -> Failure:
        """Connect, stay connected until the connection ends, and return the reason."""
        failure = await self._attempt()
        # A server of the first protocol version rejects the requests of later ones.
        if self._endpoint.suggests_sse and not failure.was_connected and not self._uses_sse and self._task is not None:
            self._uses_sse = True
            second = await self._attempt()
            if second.was_connected:
                return second
            self._uses_sse = False
        return failure

    async def _attempt(self) -> Failure:
        self._ended.clear()
        self._end_reason = ""
        self._endpoint = endpoint = Endpoint(self.server, self._host)
        error: BaseException | None = None
        was_connected = asyncio.Event()
        with anyio.CancelScope(deadline=anyio.current_time() + self.server.connect_timeout) as scope:
            self._scope = scope
            try:
                await self._stay_connected(scope, was_connected)
            except Exception as found:  # noqa: BLE001  of the SDK or a transport; it becomes the reason
                error = first_cause(found)
        self._client = self._scope = None
        if scope.cancelled_caught and not was_connected.is_set():
            error = TimeoutError(f"no answer within {self.server.connect_timeout:g} s")
        is_program = not self.server.url
        reason = explain(error, self.server, endpoint.status) if error else self._end_reason or "the server has ended"
        if is_program and self.log.last and not isinstance(error, OSError):
            reason = f"{reason}: {self.log.last}"
        return Failure(
            clean_line(reason, 300),
            was_connected=was_connected.is_set(),
            needs_login=endpoint.needs_login or isinstance(error, LoginRequired),
            is_final=is_program and isinstance(error, OSError | ValueError) and not isinstance(error, TimeoutError),
        )

    async def _stay_connected(self, scope: anyio.CancelScope, was_connected: asyncio.Event) -> None:
        async with self._new_client() as client:
            await load_catalog(self, client)
            scope.deadline = math.inf
            async with watch_lists(self, client):
                self._client = client
                was_connected.set()
                self._set("connected")
                await self._ended.wait()

    def _new_client(self) -> Client:
        callbacks, host = self._callbacks, self._host
        return Client(
            limited(self._transport(), self._drop, self.catalog.report),
            client_info=Implementation(name="cinch", version=host.version),
            sampling_callback=callbacks.sample if host.sample and host.ask else None,
            elicitation_callback=callbacks.elicit if host.ask else None,
            list_roots_callback=callbacks.roots,
            logging_callback=callbacks.log_message,
            message_handler=self.catalog.on_message,
            log_level="info",
            cache=None,
        )

    def _transport(self) -> AbstractAsyncContextManager[TransportStreams]:
        if not self.server.url:
            return stdio_transport(program_of(self.server, self._host), self.log.add)
        return self._endpoint.sse() if self._uses_sse else self._endpoint.streamable()
