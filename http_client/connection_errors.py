"""Connection errors: exceptions of httpx raised as ours."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from harness.errors import NetworkError, ProviderError, RequestRejected, StreamError
from http_client.addresses import is_loopback
from http_client.inflate import InflateError
from http_client.pool import CONNECT_SECONDS
from http_client.proxies import Proxy
from http_client.text import plain
from http_client.tls import explain_rejection

UNREACHABLE = frozenset((errno.EHOSTUNREACH, errno.ENETUNREACH))


@contextmanager
def connection_error(where: str, proxy: Proxy | None) -> Generator[None]:
    """Translate exceptions of httpx for a request.

    Args:
        where: URL to name in errors.
        proxy: Proxy of the connection.

    Raises:
        ProviderError: The service is unreachable, timed out or closed the connection.
    """
    import httpx

    try:
        yield
    except httpx.ConnectTimeout as error:
        host = f"the proxy {proxy.shown} for {where}" if proxy else where
        raise NetworkError(f"connection to {host} timed out after {CONNECT_SECONDS:.0f} s") from error
    except httpx.TimeoutException as error:
        raise NetworkError(f"no data from {where}: read timed out") from error
    except httpx.ConnectError as error:
        raise _unreachable(where, proxy, error) from error
    except httpx.ProxyError as error:
        raise proxy_error(proxy, where, str(error)) from error
    except httpx.TransportError as error:
        raise NetworkError(f"the connection to {where} was closed early") from error
    except (InflateError, httpx.InvalidURL) as error:
        raise StreamError(f"invalid response from {where}: {plain(str(error))}") from error
    except _socks_errors(proxy) as error:
        shown = f" {proxy.shown}, set in {proxy.source}," if proxy else ""
        raise NetworkError(f"the proxy{shown} is not a SOCKS proxy") from error


def _socks_errors(proxy: Proxy | None) -> tuple[type[Exception], ...]:
    """Return the exceptions that httpx passes through unchanged."""
    if proxy is None or not proxy.url.startswith("socks"):
        return ()
    from socksio import ProtocolError

    return (ProtocolError,)


def proxy_error(proxy: Proxy | None, where: str, message: str) -> ProviderError:
    """Return the error for a proxy that rejected the connection, by its message."""
    shown, source = (proxy.shown, proxy.source) if proxy else ("of this network", "HTTPS_PROXY")
    rejected = f"the proxy {shown} rejected the connection to {where}: {plain(message)}"
    if re.match(r"407|Invalid username/password|Requested USERNAME/PASSWORD", message):
        return RequestRejected(
            f"{rejected}; it requires a user name and a password: {source}=http://user:password@host:port"
        )
    # A rejection is permanent; a proxy that cannot reach the service may reach it later.
    return (
        RequestRejected(f"{rejected}; to bypass it, set NO_PROXY")
        if message.startswith("4")
        else NetworkError(rejected)
    )


def _unreachable(where: str, proxy: Proxy | None, error: Exception) -> ProviderError:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return RequestRejected(explain_rejection(cause, where))
        if isinstance(cause, ssl.SSLError):
            return NetworkError(f"TLS handshake with {where} failed: {_tls_failure(cause, proxy)}")
    is_unknown = any(isinstance(cause, socket.gaierror) for cause in causes)
    if proxy:
        what = "DNS lookup failed for" if is_unknown else "cannot connect to"
        return NetworkError(f"{what} the proxy {proxy.shown}, set in {proxy.source}, for {where}")
    if is_unknown:
        host = urlsplit(where).hostname
        return NetworkError(f"DNS lookup failed for {host}: check the network and the base URL ({where})")
    if is_loopback(urlsplit(where).hostname or ""):
        return NetworkError(f"cannot connect to {where}: is the server running?")
    if any(isinstance(cause, OSError) and cause.errno in UNREACHABLE for cause in causes):
        return NetworkError(f"host unreachable: {where}; check the network")
    return NetworkError(f"cannot connect to {where}: check the network, and that the server is running")


def _tls_failure(error: ssl.SSLError, proxy: Proxy | None) -> str:
    if error.reason not in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return error.reason or "no reason given"
    if proxy and proxy.is_encrypted:
        return f"the proxy does not use TLS; write http:// instead of https:// in {proxy.source}"
    return "the server does not use TLS; should the URL start with http:// instead of https://?"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
