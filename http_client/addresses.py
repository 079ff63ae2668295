"""Addresses of servers."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0")


def shown_url(url: str) -> str:
    """Return a URL without user name, password and query, for display."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def shown_address(address: str) -> str:
    """Return the address of a document for display: a URL as by `shown_url`, a path as it is."""
    try:
        return shown_url(address) if "://" in address else address
    except ValueError:
        return "(a URL that is not valid)"


def is_loopback(host: str) -> bool:
    """Return True if the host is this machine."""
    return host in LOOPBACK or host.endswith(".localhost") or re.fullmatch(r"127\.\d+\.\d+\.\d+", host) is not None
