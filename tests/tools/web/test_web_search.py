"""web_search with each service, emulated by a local server in its wire format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fakes.contexts import tool_context
from fakes.web_site import WebSite, text

from harness.errors import InvalidArguments
from harness.ports.tool import ToolOutput
from harness.views import ListingView
from tools.web import search_services
from tools.web.options import WebOptions
from tools.web.search import SearchTool

BRAVE = {
    "type": "search",
    "query": {"original": "retry", "more_results_available": True},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Retries &amp; timeouts",
                "url": "https://docs.example.com/retries",
                "description": "How to <strong>retry</strong> a request.",
                "page_age": "2026-05-01T08:00:00",
                "extra_snippets": ["With back-off.", 7],
            },
            {"title": "No URL"},
            {"title": "A script", "url": "javascript:alert(1)"},
            {"title": "", "url": "https://b.example.org/x"},
        ],
    },
}
TAVILY = {
    "query": "retry",
    "response_time": 1.1,
    "results": [
        {"title": "Retries", "url": "https://docs.example.com/retries", "content": "How to retry.", "score": 0.9},
        {"title": "B", "url": "https://b.example.org/x", "content": "", "published_date": "2026-05-01", "score": 0.1},
    ],
}
EXA = {
    "requestId": "1",
    "results": [
        {
            "id": "https://docs.example.com/retries",
            "title": "Retries",
            "url": "https://docs.example.com/retries",
            "publishedDate": "2026-05-01T00:00:00.000Z",
            "author": None,
            "highlights": ["How to retry.", "With back-off."],
            "highlightScores": [0.5, 0.4],
        },
        {"id": "b", "title": None, "url": "https://b.example.org/x"},
    ],
}
SEARXNG = {
    "query": "retry",
    "number_of_results": 2,
    "results": [
        {
            "url": "https://docs.example.com/retries",
            "title": "Retries",
            "content": "How to retry.",
            "engine": "duckduckgo",
            "publishedDate": "2026-05-01T00:00:00",
        },
        {"url": "https://b.example.org/x", "title": "B", "content": None, "publishedDate": None},
    ],
    "answers": [],
    "unresponsive_engines": [],
}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebSite]:
    with WebSite() as opened:
        monkeypatch.setattr(search_services, "BRAVE_URL", f"{opened.url}/res/v1/web/search")
        monkeypatch.setattr(search_services, "TAVILY_URL", f"{opened.url}/search")
        monkeypatch.setattr(search_services, "EXA_URL", f"{opened.url}/exa")
        yield opened


async def find(folder: Path, service: str, key: str = "the-key", **arguments: Any) -> ToolOutput:
    def find_key(name: str, variables: Sequence[str]) -> str:
        return key if name == service and variables else ""

    tool = SearchTool(WebOptions(service=service, find_key=find_key))
    return await tool.run(tool.validate({"query": "retry", **arguments}), tool_context(folder))


async def test_brave(site: WebSite, tmp_path: Path) -> None:
    site.page("/res/v1/web/search", json.dumps(BRAVE), "application/json")

    output = await find(tmp_path, "brave", count=5, blocked_domains=["spam.example.net"])

    request = site.requests[0]
    assert request.headers["x-subscription-token"] == "the-key"
    sent = parse_qs(urlsplit(request.path).query)
    assert (sent["q"], sent["count"]) == (["retry -site:spam.example.net"], ["5"])
    assert (
        "1. Retries & timeouts (2026-05-01)\nhttps://docs.example.com/retries\n"
        "How to retry a request. … With back-off.\n\n"
        "2. https://b.example.org/x\nhttps://b.example.org/x\n"
    ) in text(output)
    assert '<untrusted_content source="Brave Search: retry">' in text(output)
    assert isinstance(output.view, ListingView)
    assert output.view.total == 2


async def test_tavily(site: WebSite, tmp_path: Path) -> None:
    site.page("/search", json.dumps(TAVILY), "application/json")

    output = await find(tmp_path, "tavily", allowed_domains=["example.com", "*.example.org"])

    request = site.requests[0]
    assert request.headers["authorization"] == "Bearer the-key"
    assert request.json == {
        "query": "retry",
        "max_results": 8,
        "include_domains": ["example.com", "example.org"],
        "exclude_domains": [],
    }
    assert "1. Retries\nhttps://docs.example.com/retries\nHow to retry.\n\n2. B (2026-05-01)" in text(output)


async def test_exa(site: WebSite, tmp_path: Path) -> None:
    site.page("/exa", json.dumps(EXA), "application/json")

    output = await find(tmp_path, "exa", count=2, allowed_domains=["example.com"])

    request = site.requests[0]
    assert request.headers["x-api-key"] == "the-key"
    assert request.json == {
        "query": "retry",
        "type": "auto",
        "numResults": 2,
        "contents": {"highlights": True},
        "includeDomains": ["example.com"],
    }
    assert "1. Retries (2026-05-01)\nhttps://docs.example.com/retries\nHow to retry. … With back-off." in text(output)
    # The service returned a domain that was not asked for.
    assert "b.example.org" not in text(output)


async def test_searxng(site: WebSite, tmp_path: Path) -> None:
    site.page("/searx/search", json.dumps(SEARXNG), "application/json")
    url = f"http://ada:se%40cret@127.0.0.1:{site.port}/searx/"

    output = await find(tmp_path, "searxng", url, allowed_domains=["example.com", "b.example.org"])

    request = site.requests[0]
    sent = parse_qs(urlsplit(request.path).query)
    assert sent == {"q": ["retry (site:example.com OR site:b.example.org)"], "format": ["json"]}
    assert request.headers["authorization"] == "Basic YWRhOnNlQGNyZXQ="
    assert "1. Retries (2026-05-01)" in text(output)
    assert "2. B\nhttps://b.example.org/x" in text(output)


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, '{"detail": "bad token"}', "Brave Search: HTTP 401: the key is not valid"),
        (429, "", "the limit of requests is reached"),
        (500, "<html>", "HTTP 500: the service failed"),
        (200, "no json", "the response is not JSON"),
        (200, "[" * 100_000, "the response is not JSON"),
    ],
)
async def test_rejection_is_explained(site: WebSite, tmp_path: Path, status: int, body: str, message: str) -> None:
    site.page("/res/v1/web/search", body, "application/json", status=status)

    output = await find(tmp_path, "brave")

    assert output.is_error
    assert message in text(output)
    assert "the-key" not in text(output)


@pytest.mark.parametrize("body", [[], {}, {"web": []}, {"web": {"results": "x"}}, {"web": {"results": [1, None, []]}}])
async def test_response_of_another_form_is_no_result(site: WebSite, tmp_path: Path, body: object) -> None:
    site.page("/res/v1/web/search", json.dumps(body), "application/json")

    assert "found nothing for 'retry'" in text(await find(tmp_path, "brave"))


async def test_missing_key_names_the_variables(tmp_path: Path) -> None:
    output = await find(tmp_path, "brave", "")

    assert output.is_error
    assert "BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY, SEARXNG_URL" in text(output)


@pytest.mark.parametrize(
    "arguments", [{"query": ""}, {"query": "x" * 500}, {"allowed_domains": ["x y"]}, {"blocked_domains": ["a b OR c"]}]
)
def test_invalid_query_is_rejected(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        SearchTool().validate({"query": "x", **arguments})
