"""One pooled HTTP client per provider, and what can go wrong on the way to a service.

httpx is imported and the client built at the first request, or before by `warm`: together that takes a quarter second.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import socket
import ssl
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from harness.errors import NetworkError, ProviderError, RequestRejected, StreamError
from harness.messages import JsonObject, JsonValue
from harness.stopping import stop_once, told_once, undisturbed
from providers.endpoint import Endpoint
from providers.failures import failure, no_stream, plain

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 30.0
SILENCE_SECONDS = 120.0
# A model on this machine may have to be loaded first, and reads long prompts slowly.
LOCAL_SILENCE_SECONDS = 600.0
LARGEST_ERROR_BODY = 64 * 1024
MOST_AHEAD = 64
"""Chunks that are read before somebody wants them."""

logger = logging.getLogger(__name__)


class Transport:
    """Sends requests to one endpoint. Usable from one event loop after another, not from two at once.

    `pool` is another transport's, whose connections this one then uses.
    """

    def __init__(self, endpoint: Endpoint, headers: Mapping[str, str], pool: _Pool | None = None) -> None:
        self.endpoint = endpoint
        self._headers = {"user-agent": "cinch", **endpoint.preset.headers, **headers}
        self._pool = pool or _Pool(endpoint)

    def __repr__(self) -> str:
        return f"Transport({self.endpoint.shown_url!r})"

    def speaking_for(self, endpoint: Endpoint, headers: Mapping[str, str]) -> Transport:
        """The same connections, used with another key."""
        return Transport(endpoint, headers, self._pool)

    def warm(self) -> None:
        """Import httpx and build the client; may be called from any thread, and more than once.

        What cannot be built is told at the first request.
        """
        try:
            self._pool.built()
            _load_backend()
        except RequestRejected as error:
            logger.info("the client cannot be built: %s", error)

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def post(self, path: str, body: JsonObject) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The answer's bytes as they arrive.

        Raises:
            ProviderError: the service could not be reached, refused, fell silent or broke off.
        """
        client = await self._pool.client_here()
        request = client.build_request("POST", self._url(path), content=json_bytes(body), headers=self._headers)
        with self._failures():
            async with _answer(client, request) as response:
                await self._check(response)
                async with aclosing(_chunks(response)) as chunks:
                    yield chunks

    async def get(self, path: str, *, seconds: float = 10.0) -> JsonValue:
        """A small JSON document, from a path under the base URL or from a whole address.

        Raises:
            ProviderError: as `post`; also when it is no JSON.
        """
        return await self._document(path, None, seconds)

    async def call(self, path: str, body: JsonObject, *, seconds: float = 10.0) -> JsonValue:
        """A small JSON document in answer to another; raises as `get`."""
        return await self._document(path, body, seconds)

    async def _document(self, path: str, body: JsonObject | None, seconds: float) -> JsonValue:
        client = await self._pool.client_here()
        method = "GET" if body is None else "POST"
        with self._failures():
            response = await client.request(method, self._url(path), json=body, headers=self._headers, timeout=seconds)
        if response.status_code >= 300:
            raise failure(self.endpoint, response.status_code, response.text, _lower(response.headers))
        try:
            return response.json()
        except ValueError as error:
            raise StreamError(f"{self.endpoint.shown_url}{path}: the answer is no JSON") from error

    def _url(self, path: str) -> str:
        if path.startswith("http"):
            return path
        base, mark, query = self.endpoint.base_url.partition("?")
        return f"{base}{path}{mark}{query}"

    async def _check(self, response: httpx.Response) -> None:
        """Raise unless the answer is an event stream."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code < 300 and kind not in ("application/json", "text/html"):
            return
        body = await _bounded(response)
        if response.status_code >= 300:
            raise failure(self.endpoint, response.status_code, body, _lower(response.headers))
        raise no_stream(self.endpoint, kind, body)

    @contextmanager
    def _failures(self) -> Generator[None]:
        import httpx

        try:
            yield
        except httpx.ConnectTimeout as error:
            raise NetworkError(f"{self._where} did not answer within {CONNECT_SECONDS:.0f} s") from error
        except httpx.TimeoutException as error:
            raise NetworkError(f"{self._where} fell silent; the connection was given up") from error
        except httpx.ConnectError as error:
            raise self._unreachable(error) from error
        except httpx.ProxyError as error:
            raise NetworkError(f"the proxy did not let us through to {self._where}: {plain(str(error))}") from error
        except httpx.TransportError as error:
            raise NetworkError(f"the connection to {self._where} was cut off") from error
        except (httpx.DecodingError, httpx.InvalidURL) as error:
            raise StreamError(f"{self._where} cannot be read: {plain(str(error))}") from error

    @property
    def _where(self) -> str:
        return self.endpoint.shown_url

    def _unreachable(self, error: Exception) -> ProviderError:
        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, ssl.SSLCertVerificationError):
                why = cause.verify_message
                return RequestRejected(f"the certificate of {self._where} is not trusted ({why}); see SSL_CERT_FILE")
            if isinstance(cause, ssl.SSLError):
                return NetworkError(f"no secure connection to {self._where}: {cause.reason or 'TLS failed'}")
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            return NetworkError(f"the host of {self._where} is not known: no network, or a wrong base URL?")
        if self.endpoint.is_loopback:
            return NetworkError(f"nothing answers at {self._where}: is the server running?")
        # httpx has loaded it by now; at start-up it would cost 8 ms.
        from urllib.request import getproxies

        way = ", or the proxy of the environment is not" if getproxies() else ""
        return NetworkError(f"nothing answers at {self._where}: no network, or the server is not running{way}")


def json_bytes(body: JsonObject) -> bytes:
    """A body as it is sent."""
    # A lone surrogate, which a broken model can produce, has no UTF-8 form.
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


class _Pool:
    """The HTTP client of an endpoint: built late, and anew for each event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def client_here(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Open connections belong to the loop that opened them.
            self._client = self._client if self._loop is None else None
            self._loop = loop
        return self._client or await asyncio.to_thread(self.built)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    def built(self) -> httpx.AsyncClient:
        with self._lock:
            if self._client is None:
                self._client = self._build()
            return self._client

    def _build(self) -> httpx.AsyncClient:
        _import_httpx()
        wire = self._endpoint.wire
        return self._usual() if wire is None else wire.client(self._usual)

    def _usual(self) -> httpx.AsyncClient:
        import httpx

        endpoint = self._endpoint
        silence = LOCAL_SILENCE_SECONDS if endpoint.preset.is_local or endpoint.is_loopback else SILENCE_SECONDS
        try:
            return httpx.AsyncClient(
                timeout=httpx.Timeout(silence, connect=CONNECT_SECONDS),
                verify=trust(endpoint),
                # A proxy for the world outside cannot reach a server on this machine.
                trust_env=not endpoint.is_loopback,
            )
        except (ValueError, ImportError, OSError) as error:
            raise RequestRejected(f"the proxy or certificates of the environment cannot be used: {error}") from error


def _import_httpx() -> None:
    """Import httpx without its command line, which brings click, rich and pygments and takes a sixth of the start.

    httpx does without it where it cannot be imported; such is a module that is None.
    """
    if "httpx" in sys.modules:
        return
    command_line = "httpx._main"
    sys.modules[command_line] = None  # pyright: ignore[reportArgumentType] - the language allows it, its stubs do not
    try:
        importlib.import_module("httpx")
    finally:
        sys.modules.pop(command_line, None)


def _load_backend() -> None:
    """Have httpx's way of waiting loaded: a loop does so when it first waits, and would hold up the first request."""
    import anyio

    # In a thread of its own, since the caller's may run a loop.
    waiting = threading.Thread(target=anyio.run, args=(anyio.sleep, 0))
    waiting.start()
    waiting.join()


def trust(endpoint: Endpoint) -> ssl.SSLContext:
    """Whom we believe to be who they say: the usual authorities and those of this system, such as a company's own."""
    if not endpoint.is_encrypted:
        # Reading the authorities takes 65 ms.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    import httpx

    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


@asynccontextmanager
async def _answer(client: httpx.AsyncClient, request: httpx.Request) -> AsyncGenerator[httpx.Response]:
    """An answer that is read as it comes, and let go of at the end.

    Letting go of a connection takes httpx several steps, and a second cancellation would keep it from taking them.
    """
    answers: list[httpx.Response] = []

    async def send() -> None:
        answers.append(await client.send(request, stream=True))

    try:
        await told_once(send())
        yield answers[0]
    finally:
        for answer in answers:
            await undisturbed(answer.aclose())


async def _chunks(response: httpx.Response) -> AsyncGenerator[bytes]:
    """The bytes of an answer as they arrive, a little ahead of who reads them.

    Read in one task of its own: told to stop more than once, httpx would leave the connection open.
    """
    waiting: deque[bytes] = deque()
    stirred, room = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        try:
            async for chunk in response.aiter_bytes():
                waiting.append(chunk)
                stirred.set()
                if len(waiting) >= MOST_AHEAD:
                    room.clear()
                    await room.wait()
        finally:
            stirred.set()

    reading = asyncio.create_task(read())
    try:
        while waiting or not reading.done():
            while waiting:
                chunk = waiting.popleft()
                room.set()
                yield chunk
            if not reading.done():
                stirred.clear()
                await stirred.wait()
        reading.result()
    finally:
        await stop_once(reading)


async def _bounded(response: httpx.Response) -> str:
    body = b""
    async with aclosing(_chunks(response)) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) >= LARGEST_ERROR_BODY:
                break
    return body[:LARGEST_ERROR_BODY].decode(errors="replace")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _lower(headers: httpx.Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
