"""What breaks on the way to a service, before it could say what is wrong: httpx's exceptions turned into our errors."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from harness.errors import NetworkError, ProviderError, RequestRejected, StreamError
from providers.endpoint import Endpoint
from providers.net.http_errors import plain
from providers.net.inflate import InflateError
from providers.net.pool import CONNECT_SECONDS
from providers.net.proxies import Proxy
from providers.net.tls import explain_rejection


@contextmanager
def connection_error(endpoint: Endpoint, proxy: Proxy | None) -> Generator[None]:
    """Raise what httpx raises as what it means for a request to an endpoint.

    Raises:
        ProviderError: the service could not be reached, fell silent or broke off.
    """
    import httpx

    where = endpoint.shown_url
    try:
        yield
    except httpx.ConnectTimeout as error:
        who = f"the proxy {proxy.shown} on the way to {where}" if proxy else where
        raise NetworkError(f"{who} did not answer within {CONNECT_SECONDS:.0f} s") from error
    except httpx.TimeoutException as error:
        raise NetworkError(f"{where} fell silent; the connection was given up") from error
    except httpx.ConnectError as error:
        raise _unreachable(endpoint, proxy, error) from error
    except httpx.ProxyError as error:
        raise proxy_error(proxy, where, str(error)) from error
    except httpx.TransportError as error:
        raise NetworkError(f"the connection to {where} was cut off") from error
    except (InflateError, httpx.InvalidURL) as error:
        raise StreamError(f"{where} cannot be read: {plain(str(error))}") from error
    except _faults_of_socks(proxy) as error:
        shown = f"{proxy.shown}, from {proxy.source}" if proxy else "on the way"
        raise NetworkError(f"what answers as the proxy {shown}, speaks no SOCKS") from error


def _faults_of_socks(proxy: Proxy | None) -> tuple[type[Exception], ...]:
    """What httpx lets through as it came."""
    if proxy is None or not proxy.url.startswith("socks"):
        return ()
    from socksio import ProtocolError

    return (ProtocolError,)


def proxy_error(proxy: Proxy | None, where: str, said: str) -> ProviderError:
    """What it means when a proxy does not let us through, by what it said."""
    shown, source = (proxy.shown, proxy.source) if proxy else ("on the way", "the environment")
    refused = f"the proxy {shown} did not let us through to {where}: {plain(said)}"
    if re.match(r"407|Invalid username/password|Requested USERNAME/PASSWORD", said):
        return RequestRejected(
            f"{refused}; it wants a user name and a password: {source}=http://user:password@host:port"
        )
    # A proxy that says no says so again; one that cannot reach the service may reach it later.
    return RequestRejected(f"{refused}; exceptions go into NO_PROXY") if said.startswith("4") else NetworkError(refused)


def _unreachable(endpoint: Endpoint, proxy: Proxy | None, error: Exception) -> ProviderError:
    where, causes = endpoint.shown_url, list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return RequestRejected(explain_rejection(cause, where))
        if isinstance(cause, ssl.SSLError):
            return NetworkError(f"no secure connection to {where}: {_tls_failure(cause, proxy)}")
    is_unknown = any(isinstance(cause, socket.gaierror) for cause in causes)
    if proxy:
        what = "is not known" if is_unknown else "does not answer"
        return NetworkError(f"the proxy {proxy.shown} on the way to {where} {what}: it is named in {proxy.source}")
    if is_unknown:
        return NetworkError(f"the host of {where} is not known: no network, or a wrong base URL?")
    if endpoint.is_loopback:
        return NetworkError(f"nothing answers at {where}: is the server running?")
    return NetworkError(f"nothing answers at {where}: no network, or the server is not running")


def _tls_failure(error: ssl.SSLError, proxy: Proxy | None) -> str:
    if error.reason not in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return error.reason or "TLS failed"
    if proxy and proxy.is_encrypted:
        return f"the proxy speaks no TLS; write http:// instead of https:// in {proxy.source}"
    return "what answers there speaks no TLS; should it be http:// instead of https://?"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
