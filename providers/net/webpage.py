"""A web page where a model service should have answered: of a proxy, a firewall, a network that wants a login."""

from __future__ import annotations

import html
import re

BEGINNING = 4096


def title_of(body: str) -> str | None:
    """The title of a web page, empty if it has none; None if the body is no page."""
    if not re.search(r"<(!doctype html|html|head|title)\b", body[:BEGINNING], re.IGNORECASE):
        return None
    title = re.search(r"<title[^>]*>(.*?)</title>", body, re.IGNORECASE | re.DOTALL)
    return html.unescape(title[1]).strip() if title else ""


def explained_page(url: str, status: int, title: str) -> str:
    """What to make of it: who asks for models is never answered with a page."""
    named = f" ({title})" if title else ""
    if status == 511:
        return f"the network wants a login before it lets anyone through to {url} (HTTP 511){named}: open a browser"
    if status >= 500:
        return f"a web page answered for {url} (HTTP {status}){named}: what stands in front of the service has lost it"
    if status < 300:
        why = "is the base URL right, or does the network want a login?"
        return f"a web page answered at {url}{named}, and no model: {why}"
    return (
        f"a web page answered for {url} (HTTP {status}){named}: something on the way did not let the request through, "
        "such as a company's proxy, a firewall or a check for browsers; the key is not to blame"
    )
