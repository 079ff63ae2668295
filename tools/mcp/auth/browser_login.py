"""Login in the user's browser: the request to open an address, and the web server that receives the redirect.

Source: RFC 8252, 7.3.
"""

from __future__ import annotations

import asyncio
import secrets
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

from harness.structs import Redacted
from tools.mcp.auth.errors import LoginFailed
from tools.mcp.auth.http import is_web_address, printable

LOGIN_SECONDS = 300.0
"""Time that the user has for a login."""
REQUEST_SECONDS = 10.0
LARGEST_REQUEST = 16 * 1024
HOST = "127.0.0.1"
PATH = "/callback"

DONE = "cinch has received the login. You can close this page and return to the terminal."
DENIED = "The login was denied. You can close this page and return to the terminal."
FOREIGN = "This address does not belong to the login that cinch is waiting for."

PAGE = """\
HTTP/1.1 {status}\r
Content-Type: text/html; charset=utf-8\r
Content-Length: {length}\r
Content-Security-Policy: default-src 'none'\r
Referrer-Policy: no-referrer\r
Cache-Control: no-store\r
Connection: close\r
\r
"""


class Redirect(Redacted, frozen=True):
    """Parameters of a redirect that belongs to the login (RFC 6749, 4.1.2; RFC 9207)."""

    _hidden = ("code", "state")

    code: str
    state: str
    issuer: str | None = None
    error: str = ""

    @property
    def page(self) -> str:
        """Text for the user's browser."""
        return DENIED if self.error else DONE


class LoginRequest:
    """A login that waits for the user's browser.

    Args:
        server: Name of the MCP server.
        url: Address of the login page.
        listener: Listener for the redirect.
    """

    def __init__(self, server: str, url: str, listener: RedirectListener) -> None:
        self.server = server
        """Name of the MCP server."""
        self.url = url
        """Address to open; http or https, without user name and password."""
        self._listener = listener

    @property
    def host(self) -> str:
        """Host at which the user logs in, to be shown before the address is opened."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_encrypted(self) -> bool:
        """Return True for https."""
        return self.url.startswith("https:")

    def paste(self, address: str) -> None:
        """Accept the address to which the browser was redirected, if it runs on another machine.

        Raises:
            LoginFailed: It does not belong to this login, which continues to wait.
        """
        self._listener.accept(address)

    def cancel(self) -> None:
        """End the login without tokens."""
        self._listener.finish(LoginFailed("the login was cancelled"))


class RedirectListener:
    """Web server for the redirect of one login; an asynchronous context manager.

    Args:
        port: Port on 127.0.0.1; 0: any free one.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._state = ""
        self._outcome: asyncio.Future[Redirect | LoginFailed] = asyncio.get_running_loop().create_future()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        """Start to listen.

        Raises:
            LoginFailed: The port is in use.
        """
        try:
            self._server = await asyncio.start_server(self._serve, HOST, self._port, limit=LARGEST_REQUEST)
        except OSError as error:
            reason = f"port {self._port} on {HOST} is not available for the redirect: {error.strerror}"
            raise LoginFailed(
                f"{reason}; close the program that uses it, or configure another redirect_port"
            ) from error
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        # Browsers open connections in advance, and keep them.
        for writer in self._writers:
            writer.close()

    @property
    def url(self) -> str:
        """Address to which the browser is redirected."""
        return f"http://{HOST}:{self._port}{PATH}"

    def expect(self, state: str) -> None:
        """Accept only a redirect with this state."""
        self._state = state

    def accept(self, address: str) -> None:
        """Accept a redirected address that the user has pasted.

        Raises:
            LoginFailed: It does not belong to this login; a correct one is still accepted.
        """
        address = address.strip()
        redirect = self._match(urlsplit(address).query) if is_web_address(address) else None
        if redirect is None:
            raise LoginFailed(f"this is not the address of this login, which begins with {self.url}?")
        self.finish(redirect)

    def finish(self, outcome: Redirect | LoginFailed) -> None:
        """End the login; only the first outcome counts."""
        if not self._outcome.done():
            self._outcome.set_result(outcome)

    async def wait(self) -> Redirect | LoginFailed:
        """Return the redirect, or the reason for which it did not come."""
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                return await self._outcome
        except TimeoutError:
            return LoginFailed(f"no login within {LOGIN_SECONDS / 60:g} minutes")

    def _match(self, query: str) -> Redirect | None:
        """Return the parameters of a redirect with the expected state."""
        try:
            found = {name: values[0] for name, values in parse_qs(query, max_num_fields=20).items()}
        except ValueError:
            return None
        state, code, error = found.get("state", ""), found.get("code", ""), found.get("error", "")
        # `compare_digest` takes ASCII only.
        if not self._state or not secrets.compare_digest(state.encode(errors="replace"), self._state.encode()):
            return None
        if error:
            error = printable(": ".join(filter(None, (error, found.get("error_description", "")))))
        return Redirect(code, state, found.get("iss"), error) if code or error else None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                status, redirect = self._read(head)
                text = redirect.page if redirect else FOREIGN
                body = f"<!doctype html><meta charset=utf-8><title>cinch</title><p>{text}".encode()
                writer.write(PAGE.format(status=status, length=len(body)).encode() + body)
                await writer.drain()
            # After the page was sent: the process may end soon.
            if redirect:
                self.finish(redirect)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        finally:
            self._writers.discard(writer)
            writer.close()

    def _read(self, head: bytes) -> tuple[str, Redirect | None]:
        method, _, rest = head.partition(b" ")
        path, _, query = rest.split(b" ", 1)[0].decode("ascii", errors="replace").partition("?")
        if method != b"GET" or path != PATH:
            return "404 Not Found", None
        redirect = None if self._outcome.done() else self._match(query)
        return ("200 OK", redirect) if redirect else ("400 Bad Request", None)
