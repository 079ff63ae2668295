"""Web site on a local port, whose pages tests define."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from fakes.contexts import tool_context
from fakes.local_http import Handler, LocalHttp

from harness.messages import Text
from harness.ports.tool import ToolOutput
from tools.web.fetch import FetchTool
from tools.web.options import WebOptions

Reply: TypeAlias = "Callable[[Handler], None]"


class WebSite(LocalHttp):
    """Serves `pages` by path; everything else is 404. `requests` has the requests in order."""

    def __init__(self) -> None:
        super().__init__(_SiteHandler)
        self.pages: dict[str, Reply] = {}
        self.requests: list[SeenRequest] = []

    def page(self, path: str, body: bytes | str, content_type: str = "text/html; charset=utf-8", **more: Any) -> str:
        """Serve a body and return its URL; `status` and other headers may be given."""
        content = body.encode() if isinstance(body, str) else body
        headers = {"content-type": content_type, **more.get("headers", {})}
        self.pages[path] = lambda handler: handler.send_body(more.get("status", 200), content, headers)
        return self.url + path

    def redirect(self, path: str, target: str, status: int = 302) -> str:
        return self.page(path, "", headers={"location": target}, status=status)

    def paths(self) -> list[str]:
        """Return the paths of the requests."""
        return [request.path for request in self.requests]


class SeenRequest:
    """A request as it arrived."""

    def __init__(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        self.path = path
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class _SiteHandler(Handler):
    def do_GET(self) -> None:
        site: WebSite = self.server.fake
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        site.requests.append(SeenRequest(self.path, dict(self.headers), body))
        reply = site.pages.get(self.path) or site.pages.get(urlsplit(self.path).path)
        if reply is None:
            self.send_body(404, b"not here", {"content-type": "text/plain"})
        else:
            reply(self)

    do_POST = do_GET


LOCAL = WebOptions(allow_private=("127.0.0.1",), robots=False)
"""Options with which a site of the tests may be fetched."""


async def fetched(folder: Path, url: str, options: WebOptions = LOCAL) -> ToolOutput:
    """Return the result of web_fetch."""
    return await call(FetchTool(options), folder, url)


async def call(tool: FetchTool, folder: Path, url: str, **more: Any) -> ToolOutput:
    return await tool.run(tool.validate({"url": url, **more}), tool_context(folder))


def text(output: ToolOutput) -> str:
    """Return what the model reads."""
    return "\n".join(block.text for block in output.content if isinstance(block, Text))
