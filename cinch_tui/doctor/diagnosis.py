"""What a step on the way to a service failed of, and what a person can do about it."""

from __future__ import annotations

import socket
import ssl

from cinch_tui.doctor.findings import Finding
from cinch_tui.doctor.route import Proxy, Route
from providers.net.tls import explain_rejection

CHECK = "check the address and your network; where only a proxy leads out: export HTTPS_PROXY=http://HOST:PORT"


def diagnose_dns(route: Route, error: OSError) -> Finding:
    """Why a host has no address."""
    if gate := route.proxy:
        told = f"nobody knows the host of the proxy {gate.address}, from {gate.source}"
        return Finding("bad", "", told, f"correct or unset {gate.source}", "name")
    is_silent = isinstance(error, TimeoutError) or error.errno == socket.EAI_AGAIN
    told = f"no name server says where {route.host} is" if is_silent else f"nobody knows a host {route.host}"
    return Finding("bad", "", told, CHECK, "name")


def diagnose_connection(route: Route, error: OSError, seconds: float) -> Finding:
    """Why nobody takes the connection."""
    gate = route.proxy
    whom = f"the proxy {gate.address} (from {gate.source})" if gate else route.address
    if isinstance(error, TimeoutError):
        told = f"{whom} does not answer within {seconds:g} s, as behind a firewall"
    elif isinstance(error, ConnectionRefusedError):
        told = f"nothing listens at {whom}"
    else:
        told = f"no way leads to {whom}: {error.strerror or type(error).__name__}"
    mend = f"start the proxy, or correct or unset {gate.source}" if gate else CHECK
    return Finding("bad", "", told, mend, "connection")


def diagnose_proxy(gate: Proxy, error: OSError, seconds: float) -> Finding:
    """Why the proxy did not get as far as an answer."""
    if isinstance(error, ssl.SSLError):
        told = f"no secure connection to the proxy {gate.address}: {_reason(error)}"
        mend = f"most proxies are spoken to in the clear: export {gate.variable}=http://{gate.address}"
        return Finding("bad", "", told, mend, "proxy")
    waited = f"says nothing within {seconds:g} s" if isinstance(error, TimeoutError) else "hangs up"
    told = f"{gate.address} takes the connection and {waited}"
    return Finding("bad", "", told, f"is {gate.source} right? If so, ask whoever runs the proxy", "proxy")


def diagnose_tls(route: Route, error: OSError, seconds: float) -> Finding:
    """Why there is no secure connection."""
    if isinstance(error, ssl.SSLCertVerificationError):
        told, _, mend = explain_rejection(error, route.host).partition("; ")
        return Finding("bad", "", told, mend, "TLS")
    if isinstance(error, TimeoutError):
        told = f"{route.address} takes the connection and begins no secure one within {seconds:g} s"
    elif isinstance(error, ssl.SSLError):
        told = f"{route.address} does not speak TLS as we do: {_reason(error)}"
    else:
        told = f"{route.address} hangs up instead of beginning a secure connection"
    mend = "a firewall may stand between; a server without encryption has an address with http://"
    return Finding("bad", "", told, mend, "TLS")


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "TLS failed").lower().replace("_", " ")
