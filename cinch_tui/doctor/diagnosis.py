"""Findings for failed connection steps, with remedies."""

from __future__ import annotations

import socket
import ssl

from cinch_tui.doctor.findings import Finding
from cinch_tui.doctor.route import Proxy, Route
from providers.net.tls import explain_rejection

CHECK = "check the address and your network; if you need a proxy: export HTTPS_PROXY=http://HOST:PORT"


def diagnose_dns(route: Route, error: OSError) -> Finding:
    """Return the finding for a failed DNS lookup."""
    if proxy := route.proxy:
        message = f"DNS lookup failed for the proxy {proxy.address}, from {proxy.source}"
        return Finding("bad", "", message, f"correct or unset {proxy.source}", "name")
    is_silent = isinstance(error, TimeoutError) or error.errno == socket.EAI_AGAIN
    reason = "no answer from a name server" if is_silent else "unknown host"
    message = f"DNS lookup failed for {route.host}: {reason}"
    return Finding("bad", "", message, CHECK, "name")


def diagnose_connection(route: Route, error: OSError, seconds: float) -> Finding:
    """Return the finding for a failed TCP connection."""
    proxy = route.proxy
    target = f"the proxy {proxy.address} (from {proxy.source})" if proxy else route.address
    if isinstance(error, TimeoutError):
        message = f"connecting to {target} timed out after {seconds:g} s; a firewall may block it"
    elif isinstance(error, ConnectionRefusedError):
        message = f"connection refused by {target}"
    else:
        message = f"{target} is unreachable: {error.strerror or type(error).__name__}"
    remedy = f"start the proxy, or correct or unset {proxy.source}" if proxy else CHECK
    return Finding("bad", "", message, remedy, "connection")


def diagnose_proxy(proxy: Proxy, error: OSError, seconds: float) -> Finding:
    """Return the finding for a proxy that did not answer."""
    if isinstance(error, ssl.SSLError):
        message = f"TLS handshake with the proxy {proxy.address} failed: {_reason(error)}"
        remedy = f"most proxies use unencrypted HTTP: export {proxy.variable}=http://{proxy.address}"
        return Finding("bad", "", message, remedy, "proxy")
    waited = f"does not answer within {seconds:g} s" if isinstance(error, TimeoutError) else "closes it"
    message = f"{proxy.address} accepts the connection and {waited}"
    return Finding("bad", "", message, f"check {proxy.source}, or ask the administrator of the proxy", "proxy")


def diagnose_tls(route: Route, error: OSError, seconds: float) -> Finding:
    """Return the finding for a failed TLS handshake."""
    if isinstance(error, ssl.SSLCertVerificationError):
        message, _, remedy = explain_rejection(error, route.host).partition("; ")
        return Finding("bad", "", message, remedy, "TLS")
    if isinstance(error, TimeoutError):
        message = f"TLS handshake with {route.address} timed out after {seconds:g} s"
    elif isinstance(error, ssl.SSLError):
        message = f"TLS handshake with {route.address} failed: {_reason(error)}"
    else:
        message = f"{route.address} closes the connection during the TLS handshake"
    remedy = "a firewall may interfere; for a server without encryption, use an address with http://"
    return Finding("bad", "", message, remedy, "TLS")


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "unknown reason").lower().replace("_", " ")
