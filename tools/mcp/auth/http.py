"""Requests and responses of authentication: limits on what a server may send, and what may be shown of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2
from msgspec import DecodeError, Struct
from msgspec.json import decode

from harness.terminal_text import escape_controls
from tools.mcp.auth.errors import AuthError
from tools.mcp.network import mark_authentication

LARGEST_BODY = 256 * 1024
"""Bytes; metadata and tokens take a few kilobytes."""
LONGEST_REASON = 300
TIMEOUT_S = 30.0
"""Seconds to connect, and seconds without data."""
DEFAULT_PORTS = {"http": 80, "https": 443}


class _Refusal(Struct, frozen=True):
    """Error response of an OAuth server (RFC 6749, 5.2)."""

    error: str = ""
    error_description: str = ""


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, host: str) -> None:
        self._stream = stream
        self._host = host

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LARGEST_BODY:
                raise AuthError(f"{self._host} sent more than {LARGEST_BODY:,} bytes during authentication")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def prepare(request: httpx2.Request) -> httpx2.Request:
    """Give a request of authentication a time limit: the client's applies to the authenticated request only."""
    request.extensions = {**request.extensions, "timeout": httpx2.Timeout(TIMEOUT_S).as_dict()}
    mark_authentication(request)
    return request


def limit_body(response: httpx2.Response) -> httpx2.Response:
    """Make reading the body fail after `LARGEST_BODY` bytes; compressed bodies are not decompressed."""
    response.headers.pop("content-encoding", None)
    if isinstance(response.stream, httpx2.AsyncByteStream) and not response.is_stream_consumed:
        response.stream = _BoundedStream(response.stream, response.request.url.host)
    return response


def has_origin(url: httpx2.URL, of: str) -> bool:
    """Return True if both addresses have the same scheme, host and port."""
    other = httpx2.URL(of)
    return (url.scheme, url.host, _port(url)) == (other.scheme, other.host, _port(other))


def _port(url: httpx2.URL) -> int | None:
    return url.port or DEFAULT_PORTS.get(url.scheme)


def is_web_address(url: str) -> bool:
    """Return True for an http or https address with a host and without user name and password."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def bearer(token: str) -> str:
    """Return the value of the Authorization header.

    Raises:
        AuthError: The token contains characters that a header cannot; the HTTP library would quote it in its error.
    """
    if not token.isascii() or not token.isprintable() or " " in token:
        raise AuthError("the token contains characters that are not allowed in an HTTP header")
    return f"Bearer {token}"


async def refusal(response: httpx2.Response) -> tuple[str, str]:
    """Return the error code of a response, and a reason for the user with the HTTP status."""
    try:
        found = decode(await response.aread(), type=_Refusal)
    except (DecodeError, ValueError):
        found = _Refusal()
    reason = ": ".join(filter(None, (found.error, found.error_description)))
    status = f"HTTP {response.status_code}"
    return found.error, f"{status}, {printable(reason)}" if reason else status


def printable(text: str) -> str:
    """Return text from a server on one line, made safe for a terminal and truncated."""
    line = " ".join(escape_controls(text).split())
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"
