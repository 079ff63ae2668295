"""Messages of the language server protocol over a pair of streams, with bounds on their size and rate.

Requests, responses and types are those of pygls. Its reading loop is not used: it has no bounds, and a server could
make it exit this program.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient
from pygls.protocol import JsonRPCProtocol

from harness.errors import LanguageServerError

logger = logging.getLogger(__name__)
# It logs the text of every message, and an error for each that it does not know.
logging.getLogger("pygls").setLevel(logging.CRITICAL)

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
_MAX_UNSENT_BYTES = 64 * 1024 * 1024
_THREAD_BYTES = 128 * 1024
"""Size from which a message is parsed in a thread."""
_BURST = 100
_PAUSE_S = 0.02
"""Pause after `_BURST` messages, which slows a flood down."""
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


# lsprotocol rejects a whole answer for a part of it that it cannot convert, such as notebooks.
_USED_CAPABILITIES = frozenset(
    (
        "positionEncoding",
        "definitionProvider",
        "referencesProvider",
        "hoverProvider",
        "documentSymbolProvider",
        "workspaceSymbolProvider",
        "renameProvider",
        "diagnosticProvider",
        "executeCommandProvider",
        "implementationProvider",
        "callHierarchyProvider",
    )
)


class _Invalid(NamedTuple):
    """A message that does not fit its type."""

    number: object
    is_request: bool
    error: Exception


Handler: TypeAlias = "Callable[[Any], object]"  # the parameters of a method; pygls does not type handlers


class LspProtocol(JsonRPCProtocol):
    """Protocol of a client: numbers requests, so that they can be cancelled and end with the connection."""

    def __init__(self, *arguments: Any) -> None:  # pygls passes a client and a converter
        super().__init__(*arguments)
        self._open: dict[str, Future[Any]] = {}
        self._last_id = 0
        self.handled: frozenset[str] = frozenset()
        """Methods of messages that the server may send."""

    def get_message_type(self, method: str) -> type[Any] | None:
        return types.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(self, method: str) -> type[Any] | None:
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: str | int | None = None,
    ) -> Future[Any]:
        # Ids of the server's own requests must not be equal to these.
        self._last_id += 1
        own_id = f"cinch-{self._last_id}"
        future = super().send_request(method, params, callback, own_id)
        self._open[own_id] = future
        future.add_done_callback(partial(self._ended, own_id))
        return future

    def _ended(self, own_id: str, future: Future[Any]) -> None:
        self._open.pop(own_id, None)
        if future.cancelled():
            self.notify(types.CANCEL_REQUEST, types.CancelParams(id=own_id))

    def parse(self, body: bytes) -> object:
        """Return a message for `handle`; may be called in a thread.

        Raises:
            LanguageServerError: It is not JSON.
        """
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise LanguageServerError("sent a message that is not JSON") from error
        if not isinstance(message, dict):
            raise LanguageServerError("sent a message that is not an object")
        fields: dict[str, Any] = message  # pyright: ignore[reportUnknownVariableType]  each field is checked when used
        method = fields.get("method")
        if method is not None and method not in self.handled:
            return fields
        if method is not None:
            # Optional in the protocol, but not in the type for methods that are not part of it.
            fields.setdefault("params", None)
        try:
            return self.structure_message(_with_used_capabilities(fields))
        except (JsonRpcException, AttributeError, TypeError, ValueError, KeyError) as error:
            return _Invalid(fields.get("id"), method is not None, error)

    def handle(self, message: object) -> None:
        """Handle a message of the server."""
        match message:
            case dict():
                fields: dict[str, object] = message  # pyright: ignore[reportUnknownVariableType]  as in `parse`
                if "id" in fields:
                    self._answer_unknown(fields["id"], str(fields["method"]))
            case _Invalid():
                self._reject(message)
            case _:
                # The answer to a request that was cancelled is dropped.
                with suppress(InvalidStateError):
                    self.handle_message(message)  # pyright: ignore[reportArgumentType]  what pygls itself has made

    def _answer_unknown(self, number: object, method: str) -> None:
        error = {"code": types.ErrorCodes.MethodNotFound.value, "message": f"{method[:100]} is not supported"}
        self._send_data({"jsonrpc": "2.0", "id": number, "error": error})

    def _reject(self, message: _Invalid) -> None:
        """Fail the request that an invalid answer belongs to, or refuse an invalid request."""
        logger.debug("an invalid message: %s", message.error)
        if message.is_request:
            if message.number is not None:
                error = {"code": types.ErrorCodes.InvalidParams.value, "message": "invalid"}
                self._send_data({"jsonrpc": "2.0", "id": message.number, "error": error})
            return
        future = self._open.get(str(message.number))
        if future is not None and not future.done():
            future.set_exception(LanguageServerError("sent an invalid answer"))

    def fail_all(self, error: LanguageServerError) -> None:
        """Fail all requests that are still open."""
        for future in list(self._open.values()):
            if not future.done():
                future.set_exception(error)


class Client(LanguageClient):
    """pygls client over streams that this program opened."""

    protocol: LspProtocol

    def __init__(self, version: str) -> None:
        # The constructor accepts any protocol of JSON-RPC, but only names that of servers.
        super().__init__("cinch", version, protocol_cls=LspProtocol)  # pyright: ignore[reportArgumentType]

    def connect(self, writer: asyncio.StreamWriter, handlers: dict[str, Handler]) -> None:
        """Send messages to `writer`, and call the handlers with the parameters of those that arrive."""
        self.protocol.set_writer(_Writer(writer))
        self.protocol.handled = frozenset(handlers)
        for method, handler in handlers.items():
            # It sets attributes of the function, which methods do not allow.
            self.feature(method)(partial(handler))  # pyright: ignore[reportUnknownMemberType]  it returns the handler


class _Writer:
    """Writer that never blocks; a server that reads nothing does not fill the memory."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        if self._writer.is_closing():
            return
        if self._writer.transport.get_write_buffer_size() > _MAX_UNSENT_BYTES:
            # The reader notices that the server ends.
            self._writer.transport.abort()
            return
        self._writer.write(data)

    def close(self) -> None:
        self._writer.close()


async def read_messages(reader: asyncio.StreamReader, protocol: LspProtocol) -> None:
    """Handle messages until the stream ends.

    Raises:
        LanguageServerError: The server sent something else, or a message that is too large.
    """
    count = 0
    while (body := await _next_body(reader)) is not None:
        is_large = len(body) > _THREAD_BYTES
        protocol.handle(await asyncio.to_thread(protocol.parse, body) if is_large else protocol.parse(body))
        count += 1
        if count % _BURST == 0:
            await asyncio.sleep(_PAUSE_S)


async def _next_body(reader: asyncio.StreamReader) -> bytes | None:
    """Return the body of the next message; None at the end of the stream."""
    try:
        header = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise LanguageServerError(f"sent something else than messages: {_shown(error.partial)}") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise LanguageServerError(f"sent something else than messages: {_shown(await reader.read(200))}") from error
    found = _LENGTH.search(header)
    if found is None:
        raise LanguageServerError(f"sent something else than messages: {_shown(header)}")
    size = int(found[1])
    if size > MAX_MESSAGE_BYTES:
        raise LanguageServerError(f"sent a message of {size:,} bytes; the limit is {MAX_MESSAGE_BYTES:,}")
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        raise LanguageServerError("ended within a message") from error


def _with_used_capabilities(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without the capabilities of the server that are not used."""
    result: Any = message.get("result")
    capabilities: Any = result.get("capabilities") if isinstance(result, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  JSON
    if not isinstance(capabilities, dict):
        return message
    used: dict[str, Any] = {name: capabilities[name] for name in _USED_CAPABILITIES if name in capabilities}
    return {**message, "result": {"capabilities": used}}


def _shown(data: bytes) -> str:
    return repr(data[:80].decode("utf-8", "replace"))
