"""Redirects of responses."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urldefrag, urljoin, urlsplit

MOST_REDIRECTS = 5
"""Redirects of one request that are followed."""
_STATUSES = frozenset((301, 302, 303, 307, 308))


def redirect_target(url: str, status: int, headers: Mapping[str, str]) -> str | None:
    """Return the absolute URL that a response leads to, without its fragment; None if it is not a redirect.

    Args:
        url: URL of the request.
        status: Status of the response.
        headers: Headers of the response, with names in lower case or found in any case.

    Raises:
        ValueError: The header is not a URL.
    """
    location = headers.get("location", "").strip()
    if status not in _STATUSES or not location:
        return None
    target = urldefrag(urljoin(url, location)).url
    _ = urlsplit(target).port
    return target
