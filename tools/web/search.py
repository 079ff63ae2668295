"""web_search: web search by the service that the user has configured."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from harness.errors import ProviderError
from harness.messages import JsonObject, JsonValue
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import ListingView
from http_client.connection_errors import connection_error
from http_client.pool import Pool
from http_client.responses import fill, open_response
from http_client.text import plain
from tools.typed import Parameters, TypedTool
from tools.untrusted_text import framed
from tools.web.download import FetchError
from tools.web.options import SEARCH_KEYS, WebOptions
from tools.web.search_services import MOST_RESULTS, SERVICES, Query, SearchRequest, SearchResult, SearchService

SECONDS = 20.0
LONGEST_QUERY = 400
MOST_DOMAINS = 20
LARGEST_RESPONSE = 4 * 1024 * 1024
_DOMAIN = re.compile(r"(?:\*\.)?[\w-]+(?:\.[\w-]+)*")
_REJECTED = {
    401: "the key is not valid",
    402: "the credit is used up",
    403: "the key is not valid, or the server does not offer results as JSON (search.formats in its settings.yml)",
    422: "the key or the query is not valid",
    429: "the limit of requests is reached; try later",
    432: "the limit of the plan is reached",
}


class SearchParameters(Parameters):
    query: Annotated[str, Meta(min_length=1)]
    count: Annotated[int, Meta(ge=1, le=MOST_RESULTS)] = 8
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.query) > LONGEST_QUERY or len((*self.allowed_domains, *self.blocked_domains)) > MOST_DOMAINS:
            raise ValueError(f"a query has at most {LONGEST_QUERY} characters and {MOST_DOMAINS} domains")
        for domain in (*self.allowed_domains, *self.blocked_domains):
            if not _DOMAIN.fullmatch(domain):
                raise ValueError(f"{domain!r} is not a domain such as docs.python.org")


class SearchTool(TypedTool[SearchParameters]):
    """Searches with the service that the options name.

    Args:
        options: Options of the web tools.
    """

    name = "web_search"
    label = "Search the web"
    Arguments = SearchParameters

    def __init__(self, options: WebOptions | None = None) -> None:
        self._options = options or WebOptions()

    def summary(self, arguments: JsonObject) -> str:
        query = arguments.get("query")
        return query if isinstance(query, str) else ""

    def risk_of(self, arguments: SearchParameters) -> Risk:
        service = SERVICES.get(self._options.service)
        reason = f"the query is sent to {service.label}" if service else ""
        return Risk("read", reason, access="shared", is_remote=True)

    async def execute(self, arguments: SearchParameters, context: ToolContext) -> ToolOutput:
        name = self._options.service
        service = SERVICES.get(name)
        key = await asyncio.to_thread(self._options.find_key, name, SEARCH_KEYS.get(name, ())) if service else ""
        if service is None or not key:
            return ToolOutput.failure(_MISSING)
        query = Query(
            arguments.query.strip(),
            arguments.count,
            tuple(domain.removeprefix("*.") for domain in arguments.allowed_domains),
            tuple(domain.removeprefix("*.") for domain in arguments.blocked_domains),
        )
        try:
            found = await search(service, query, key)
        except (FetchError, ProviderError) as error:
            return ToolOutput.failure(f"{service.label}: {error}")
        return _shown(service, query, found)


_MISSING = (
    "No search service is configured. Tell the user that web_search needs a key in one of the environment variables "
    f"{', '.join(names[0] for names in SEARCH_KEYS.values())}, and use other sources meanwhile."
)


class SearchRejected(FetchError):
    """A service rejected a request; `status` is the HTTP status."""

    def __init__(self, status: int, content: bytes) -> None:
        super().__init__(_rejection(status, content))
        self.status = status


async def search(service: SearchService, query: Query, key: str) -> list[SearchResult]:
    """Return what a service finds, at most as many results as asked for.

    Raises:
        FetchError: The service rejected the request (`SearchRejected`), or its response is invalid.
        ProviderError: The service is unreachable.
    """
    request = service.request(query, key)
    try:
        async with asyncio.timeout(SECONDS):
            body = await _response(request)
    except TimeoutError as error:
        raise FetchError(f"no response within {SECONDS:.0f} s") from error
    results = [each for each in service.results(body) if _is_wanted(each, query)]
    return results[: query.count]


async def _response(request: SearchRequest) -> JsonValue:
    parts = urlsplit(request.url)
    where = f"{parts.scheme}://{parts.hostname}"
    pool = Pool(request.url)
    content = bytearray()
    try:
        async with pool.client() as client:
            method = "GET" if request.body is None else "POST"
            sent = client.build_request(
                method, request.url, json=request.body, headers=dict(request.headers), timeout=SECONDS
            )
            with connection_error(where, pool.proxy):
                async with open_response(client, sent) as response:
                    await fill(content, response, LARGEST_RESPONSE)
    finally:
        await pool.close()
    if response.status_code != 200:
        raise SearchRejected(response.status_code, bytes(content))
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FetchError("the response is not JSON") from error


def _rejection(status: int, content: bytes) -> str:
    why = _REJECTED.get(status, "the service failed" if status >= 500 else "the service rejected the request")
    detail = plain(content[:400].decode("utf-8", "replace"))
    return f"HTTP {status}: {why}" + (f" ({detail})" if detail and not detail.startswith("<") else "")


def _is_wanted(result: SearchResult, query: Query) -> bool:
    """Return True if the domains of a query include a result: not every service keeps to them."""
    host = f".{urlsplit(result.url).hostname or ''}"
    is_allowed = not query.allowed or any(host.endswith(f".{domain.lower()}") for domain in query.allowed)
    return is_allowed and not any(host.endswith(f".{domain.lower()}") for domain in query.blocked)


def _shown(service: SearchService, query: Query, results: list[SearchResult]) -> ToolOutput:
    if not results:
        return ToolOutput.text(
            f"{service.label} found nothing for {query.text!r}. Try other words, or fewer domains.",
            view=ListingView(query.text, (), 0),
        )
    lines = (_entry(number, each) for number, each in enumerate(results, 1))
    titles = tuple(f"{each.title} – {each.url}" for each in results)
    found: list[JsonValue] = [{"url": each.url, "title": each.title, "date": each.date} for each in results]
    return ToolOutput.text(
        framed("\n\n".join(lines), f"{service.label}: {query.text}"),
        view=ListingView(query.text, titles, len(results)),
        details={"service": service.label, "results": found},
    )


def _entry(number: int, result: SearchResult) -> str:
    date = f" ({result.date})" if result.date else ""
    return "\n".join(part for part in (f"{number}. {result.title}{date}", result.url, result.excerpt) if part)
