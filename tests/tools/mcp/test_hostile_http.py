from __future__ import annotations

import asyncio
import gzip
import json
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fakes.mcp_servers import call, listed, make_host, running, state_of, text_of

from tools.mcp.server_config import McpServer
from tools.mcp.streams import MAX_MESSAGE_BYTES

SESSION = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "web", "version": "1"},
}
HUGE = MAX_MESSAGE_BYTES * 3
PART = b"x" * 65_536


class Handler(BaseHTTPRequestHandler):
    """MCP server over HTTP without a session, whose tools answer in wrong ways."""

    stopped = threading.Event()

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send_error(405)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        match request["method"]:
            case "initialize":
                self.answer(request, SESSION)
            case "tools/list":
                self.answer(request, {"tools": [listed(name) for name in ("huge", "zipped", "event", "drip", "page")]})
            case "tools/call":
                getattr(self, request["params"]["name"])(request)
            case "server/discover":
                self.send_error(404)
            case _:
                self.send_response(202)
                self.send_header("content-length", "0")
                self.end_headers()

    def answer(self, request: Any, result: dict[str, Any]) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode())

    def send(self, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def send_filled(self, start: bytes, end: bytes, kind: str) -> None:
        """Send a huge answer in parts: this process also measures the memory of the client."""
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(start) + HUGE + len(end)))
        self.end_headers()
        self.wfile.write(start)
        for _ in range(HUGE // len(PART)):
            self.wfile.write(PART)
        self.wfile.write(end)

    def huge(self, request: Any) -> None:
        text: dict[str, Any] = {"content": [{"type": "text", "text": "here"}]}
        start, end = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": text}).encode().split(b"here")
        self.send_filled(start, end, "application/json")

    def zipped(self, request: Any) -> None:
        self.send(gzip.compress(b"x" * HUGE), content_encoding="gzip")

    def event(self, request: Any) -> None:
        self.send_filled(b"event: message\ndata: ", b"\n\n", "text/event-stream")

    def page(self, request: Any) -> None:
        self.send(b"<html>Log in to the hotel network</html>", "text/html")

    def drip(self, request: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        while not self.stopped.wait(0.05):
            self.wfile.write(b": still here\n\n")


@contextmanager
def hostile_server() -> Iterator[McpServer]:
    Handler.stopped.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # the client leaves early
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        yield McpServer("web", url=url, transport="http", timeout=1.0)
        Handler.stopped.set()
        server.shutdown()


@pytest.mark.parametrize("name", ["huge", "zipped", "event", "drip", "page"])
async def test_wrong_answer_over_http_is_an_error_with_bounded_memory(name: str, tmp_path: Path) -> None:
    with hostile_server() as server:
        async with running([server], make_host(tmp_path)) as manager:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            output = await asyncio.wait_for(call(manager, name, tmp_path), 10)
            grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
            phase = state_of(manager, "web").phase

    # The server runs in this process.
    assert grown < 2 * HUGE
    assert output.is_error, text_of(output)[:200]
    assert phase in ("connected", "reconnecting")
