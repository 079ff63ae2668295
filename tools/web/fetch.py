"""web_fetch: the main text of a web page, or another document, from a URL."""

from __future__ import annotations

import asyncio
import hashlib
import time
from base64 import b64decode
from collections import OrderedDict
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from harness.messages import Image, JsonObject, Text
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import ImageView, TextView, View
from http_client.addresses import is_loopback
from tools.deadline import TooComplex, in_thread
from tools.private_files import write_private
from tools.typed import Parameters, TypedTool
from tools.untrusted_text import framed
from tools.web.addresses import AddressPolicy, BlockedAddress, WebUrl, parse_url, written_host
from tools.web.content import Page, page_of
from tools.web.download import Download, FetchError, Redirected, download
from tools.web.options import WebOptions
from tools.web.robots import RobotsCache

PAGE_CHARS = 40_000
FRAME_CHARS = 1_000
"""Most characters around a part of a page, without its URL."""
LONGEST_ERROR = 2_000
CONVERSION_SECONDS = 30.0
CACHE_SECONDS = 15 * 60.0
MOST_CACHED = 50
MOST_CACHED_CHARS = 20_000_000
_HINTS = {
    401: "The page needs a login, and no credentials are sent.",
    403: "The site refuses programs, or the page needs a login.",
    404: "Check the URL, or search for the page.",
    410: "The page was removed; search for another one.",
    429: "The site received too many requests; try later, or use another source.",
}


class FetchParameters(Parameters):
    url: str
    offset: Annotated[int, Meta(ge=0, description="Character to continue at.")] = 0
    raw: Annotated[bool, Meta(description="Return the source.")] = False

    def __post_init__(self) -> None:
        try:
            parse_url(self.url)
        except BlockedAddress as error:
            raise ValueError(str(error)) from error


class FetchTool(TypedTool[FetchParameters]):
    """Fetches URLs; keeps what it fetched for a while, so that long pages are downloaded once.

    Args:
        options: Options of the web tools.
    """

    name = "web_fetch"
    label = "Fetch page"
    Arguments = FetchParameters

    def __init__(self, options: WebOptions | None = None) -> None:
        self._options = options or WebOptions()
        self._policy = AddressPolicy(self._options.allow_private)
        self._robots = RobotsCache()
        self._cache = PageCache()

    def summary(self, arguments: JsonObject) -> str:
        url = arguments.get("url")
        if not isinstance(url, str):
            return ""
        try:
            return str(parse_url(url))
        except BlockedAddress:
            return url

    def risk_of(self, arguments: FetchParameters) -> Risk:
        return Risk("read", subject=str(parse_url(arguments.url)), access="shared", is_remote=True)

    async def preview_of(self, arguments: FetchParameters, context: ToolContext) -> View | ToolOutput | None:
        url = parse_url(arguments.url)
        try:
            self._policy.check_name(url.host)
        except BlockedAddress as error:
            return ToolOutput.failure(str(error))
        lines = [str(url)]
        if name := written_host(url.host):
            lines.append(f"\nThe host is written {name}, with letters that can look like others.")
        if url.scheme == "http" and not is_loopback(url.host):
            lines.append("\nNot encrypted: the URL and the page can be read on the network.")
        return TextView("\n".join(lines))

    async def execute(self, arguments: FetchParameters, context: ToolContext) -> ToolOutput:
        try:
            page = await self._page(parse_url(arguments.url), raw=arguments.raw)
        except Redirected as redirect:
            return ToolOutput.text(
                f"{arguments.url} redirects to another host (HTTP {redirect.status}), so it was not followed. "
                f"Fetch the new URL if you need it: {redirect.target}"
            )
        except BlockedAddress as error:
            return ToolOutput.failure(str(error))
        except FetchError as error:
            return _failure(error, arguments.url)
        if page.image is not None:
            return await _shown_image(page, page.image, context.spill_dir)
        return _shown(page, arguments.offset, context.output_limit(PAGE_CHARS))

    async def _page(self, url: WebUrl, *, raw: bool) -> Page:
        key = f"{'raw ' if raw else ''}{url}"
        if page := self._cache.get(key):
            return page
        await self._check_robots(url)
        response = await download(url, self._policy)
        if response.url != str(url):
            await self._check_robots(parse_url(response.url))
        page = await _converted(response, raw=raw)
        if response.status >= 300:
            raise _http_error(response.status, page)
        self._cache.add(key, page)
        return page

    async def _check_robots(self, url: WebUrl) -> None:
        if self._options.robots and not await self._robots.allows(url, self._policy):
            raise FetchError(
                f"robots.txt of {url.host} does not allow programs to fetch {url}. Use another source, or ask the user "
                "to open the page. The setting web.robots = false turns this check off."
            )


class PageCache:
    """Pages fetched in the last minutes, bounded in number and size."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, tuple[float, Page]] = OrderedDict()

    def get(self, key: str) -> Page | None:
        """Return a page that has not expired."""
        found = self._pages.get(key)
        return found[1] if found and found[0] > time.monotonic() else None

    def add(self, key: str, page: Page) -> None:
        """Add a page and remove the oldest ones beyond the limits."""
        self._pages.pop(key, None)
        self._pages[key] = (time.monotonic() + CACHE_SECONDS, page)
        while len(self._pages) > MOST_CACHED or self._characters() > MOST_CACHED_CHARS:
            self._pages.popitem(last=False)

    def _characters(self) -> int:
        return sum(len(page.text) + (len(page.image.data) if page.image else 0) for _, page in self._pages.values())


async def _converted(response: Download, *, raw: bool) -> Page:
    try:
        return await in_thread(lambda deadline: page_of(response, deadline, raw=raw), CONVERSION_SECONDS)
    except TooComplex as error:
        raise FetchError(f"{response.url} is too large or complex to be converted; try raw=true.") from error


def _failure(error: FetchError, url: str) -> ToolOutput:
    if not error.page:
        return ToolOutput.failure(str(error))
    return ToolOutput.failure(f"{error}\n{framed(error.page, url)}", view=TextView(f"{error}\n\n{error.page}"))


def _http_error(status: int, page: Page) -> FetchError:
    phrase = next((f" {each.phrase}" for each in HTTPStatus if each == status), "")
    error = f"{page.url} returned HTTP {status}{phrase}. {_HINTS.get(status, '')}".strip()
    return FetchError(error, page.text[:LONGEST_ERROR])


def _shown(page: Page, offset: int, limit: int) -> ToolOutput:
    text, total = page.text, len(page.text)
    if offset and offset >= total:
        return ToolOutput.failure(f"{page.url} has {total:,} characters; offset {offset:,} is past its end.")
    end = _end(text, offset, max(1_000, limit - FRAME_CHARS - 2 * len(page.url)))
    part = text[offset:end]
    # The title is content of the page: inside the frame, not here.
    facts = [page.kind, _range(offset, end, total), *page.notes]
    header = f"{page.url}\n[{' · '.join(fact for fact in facts if fact)}]"
    details: JsonObject = {"url": page.url, "kind": page.kind, "title": page.title, "offset": offset, "end": end}
    title = f"Title: {page.title}\n\n" if page.title else ""
    content = [framed(title + part, page.url)] if part or title else []
    return ToolOutput.text(
        "\n".join([header, *([] if part else ["The page contains no text."]), *content]),
        view=TextView(part, "markdown" if page.kind.startswith("HTML") else ""),
        details={**details, "total": total},
    )


def _end(text: str, offset: int, room: int) -> int:
    """Return the end of a part of at most `room` characters, at the end of a line if one is near."""
    end = offset + room
    if end >= len(text):
        return len(text)
    line = text.rfind("\n", offset + room * 4 // 5, end)
    return line + 1 if line > 0 else end


def _range(offset: int, end: int, total: int) -> str:
    if not offset and end == total:
        return f"{total:,} characters"
    rest = f"; continue with offset={end}" if end < total else ""
    return f"characters {offset:,} to {end:,} of {total:,}{rest}"


async def _shown_image(page: Page, image: Image, folder: Path) -> ToolOutput:
    data = b64decode(image.data)
    file = folder / f"web-{hashlib.sha256(data).hexdigest()[:16]}.{image.media_type.partition('/')[2]}"
    try:
        await asyncio.to_thread(write_private, file, data)
    except OSError:
        # The model sees it all the same.
        file = Path(page.url)
    width, height = page.size
    pixels = f", {width} × {height} pixels" if width else ""
    return ToolOutput(
        (Text(f"{page.url}: {image.media_type}{pixels}, {len(data):,} bytes."), image),
        ImageView(str(file), image.media_type, width, height),
        {"url": page.url, "kind": image.media_type},
    )
