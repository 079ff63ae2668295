"""A server that gives the same JSON for a path each time, and tells which paths were asked for."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ListServer:
    """A running server on 127.0.0.1; use it as a context manager. `answers` is by path, without its query;
    anything else is answered with `status`.

    While `released` is not set nothing is answered.
    """

    def __init__(self, answers: Mapping[str, Any], *, port: int = 0, status: int = 404) -> None:
        self.answers = answers
        self.status = status
        self.asked: list[str] = []
        self.released = threading.Event()
        self.released.set()
        self._http = _HttpServer(("127.0.0.1", port), _Handler)
        self._http.fake = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ListServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    fake: ListServer

    def handle_error(self, request: object, client_address: object) -> None:
        # A client that goes away before its answer is part of the game.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType] - passed on as it came


class _Handler(BaseHTTPRequestHandler):
    server: _HttpServer  # pyright: ignore[reportIncompatibleVariableOverride] - the standard library's way to it

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer()

    def _answer(self) -> None:
        fake, path = self.server.fake, self.path.partition("?")[0]
        fake.asked.append(path)
        fake.released.wait()
        answer = fake.answers.get(path)
        body = json.dumps({"error": "no such path"} if answer is None else answer).encode()
        self.send_response(fake.status if answer is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        del format, args
