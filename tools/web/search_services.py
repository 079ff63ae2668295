"""Requests to search services, and their responses; pure.

Source: https://api-dashboard.search.brave.com/api-reference/web/search/get,
https://docs.tavily.com/documentation/api-reference/endpoint/search, https://docs.exa.ai/reference/search,
https://docs.searxng.org/dev/search_api.html
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from typing import TypeAlias
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from harness.messages import JsonObject, JsonValue
from harness.structs import Redacted
from tools.untrusted_text import cleaned_text

BRAVE_URL = "https://api.search.brave.com/res/v1/web/search"
TAVILY_URL = "https://api.tavily.com/search"
EXA_URL = "https://api.exa.ai/search"
MOST_RESULTS = 20
LONGEST_EXCERPT = 700
_TAG = re.compile(r"</?[a-zA-Z][^>]{0,100}>")


class Query(Struct, frozen=True):
    """A search."""

    text: str
    """Text to search for."""
    count: int = 8
    """Number of results."""
    allowed: tuple[str, ...] = ()
    """Domains to search only; empty for all."""
    blocked: tuple[str, ...] = ()
    """Domains to leave out."""

    @property
    def with_operators(self) -> str:
        """The text with the domains as operators, for services without parameters for them."""
        only = " OR ".join(f"site:{domain}" for domain in self.allowed)
        without = " ".join(f"-site:{domain}" for domain in self.blocked)
        return " ".join(part for part in (self.text, f"({only})" if len(self.allowed) > 1 else only, without) if part)


class SearchRequest(Redacted, frozen=True):
    """A request to a search service."""

    _hidden = ("headers",)

    url: str
    """URL with its query."""
    headers: Mapping[str, str]
    """Headers, with the key."""
    body: JsonObject | None = None
    """JSON body of a POST request; None for GET."""


class SearchResult(Struct, frozen=True):
    """A page that was found."""

    url: str
    """URL of the page."""
    title: str
    """Title of the page."""
    excerpt: str = ""
    """Text of the page that fits the query."""
    date: str = ""
    """Date of the page as the service reports it; empty if unknown."""


def brave_request(query: Query, key: str) -> SearchRequest:
    parameters = {"q": query.with_operators, "count": query.count, "result_filter": "web", "text_decorations": "false"}
    return SearchRequest(
        f"{BRAVE_URL}?{urlencode(parameters)}", {"x-subscription-token": key, "accept": "application/json"}
    )


def brave_results(body: JsonValue) -> list[SearchResult]:
    web = body.get("web") if isinstance(body, dict) else None
    return _results(web, ("description", "extra_snippets"), ("page_age", "age"))


def tavily_request(query: Query, key: str) -> SearchRequest:
    body: JsonObject = {
        "query": query.text,
        "max_results": query.count,
        "include_domains": [*query.allowed],
        "exclude_domains": [*query.blocked],
    }
    return SearchRequest(TAVILY_URL, {"authorization": f"Bearer {key}"}, body)


def tavily_results(body: JsonValue) -> list[SearchResult]:
    return _results(body, ("content",), ("published_date",))


def exa_request(query: Query, key: str) -> SearchRequest:
    body: JsonObject = {
        "query": query.text,
        "type": "auto",
        "numResults": query.count,
        "contents": {"highlights": True},
    }
    if query.allowed:
        body["includeDomains"] = [*query.allowed]
    if query.blocked:
        body["excludeDomains"] = [*query.blocked]
    return SearchRequest(EXA_URL, {"x-api-key": key}, body)


def exa_results(body: JsonValue) -> list[SearchResult]:
    return _results(body, ("highlights", "summary", "text"), ("publishedDate",))


def searxng_request(query: Query, key: str) -> SearchRequest:
    """Return the request to a server of one's own; `key` is its URL."""
    parts = urlsplit(key.rstrip("/").removesuffix("/search"))
    login, mark, host = parts.netloc.rpartition("@")
    # Not in the URL, which may be logged.
    headers = {"authorization": f"Basic {b64encode(unquote(login).encode()).decode()}"} if mark else {}
    base = urlunsplit((parts.scheme, host, parts.path, "", ""))
    parameters = {"q": query.with_operators, "format": "json"}
    return SearchRequest(f"{base}/search?{urlencode(parameters)}", {"accept": "application/json", **headers})


def searxng_results(body: JsonValue) -> list[SearchResult]:
    return _results(body, ("content",), ("publishedDate",))


class SearchService(Struct, frozen=True):
    """Wire format of a search service."""

    label: str
    """Name for users."""
    request: Callable[[Query, str], SearchRequest]
    """Returns the request for a query, by key or URL."""
    results: Callable[[JsonValue], list[SearchResult]]
    """Returns the results in a response."""


SERVICES: Mapping[str, SearchService] = {
    "brave": SearchService("Brave Search", brave_request, brave_results),
    "tavily": SearchService("Tavily", tavily_request, tavily_results),
    "exa": SearchService("Exa", exa_request, exa_results),
    "searxng": SearchService("SearXNG", searxng_request, searxng_results),
}

Names: TypeAlias = Sequence[str]


def _results(body: JsonValue, excerpts: Names, dates: Names) -> list[SearchResult]:
    """Return the entries of `results` that have a URL; whatever else is not as expected is left out."""
    found = body.get("results") if isinstance(body, dict) else None
    results: list[SearchResult] = []
    for entry in found if isinstance(found, list) else ():
        url = entry.get("url") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and isinstance(url, str) and url.startswith(("http://", "https://")):
            title = _line(entry.get("title")) or url
            results.append(SearchResult(_line(url), title[:300], _excerpt(entry, excerpts), _date(entry, dates)))
    return results


def _excerpt(entry: JsonObject, names: Names) -> str:
    parts: list[str] = []
    for name in names:
        value = entry.get(name)
        parts += [_line(each) for each in (value if isinstance(value, list) else [value])]
    text = " … ".join(dict.fromkeys(part for part in parts if part))
    return text if len(text) <= LONGEST_EXCERPT else f"{text[:LONGEST_EXCERPT]}…"


def _date(entry: JsonObject, names: Names) -> str:
    found = next((line for name in names if (line := _line(entry.get(name)))), "")
    # The time of day does not matter.
    return found[:10] if re.match(r"\d{4}-\d\d-\d\dT", found) else found[:40]


def _line(value: JsonValue) -> str:
    return " ".join(cleaned_text(unescape(_TAG.sub("", value))).split()) if isinstance(value, str) else ""
