"""HTTP server in threads of this process, on a local port: the common base of the fake services."""

from __future__ import annotations

import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class LocalHttp:
    """Context manager. A handler finds it as `self.server.fake`."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        self._http = _HttpServer(("127.0.0.1", port), handler)
        self._http.fake = self
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        # A test may have ended the server already.
        if self._http.is_closing:
            return
        self._http.is_closing = True
        # A connection ends the wait for the next one; `serve_forever` would look at intervals whether it should end.
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self.let_go()
        self._http.server_close()

    def _serve(self) -> None:
        while not self._http.is_closing:
            self._http.handle_request()

    def let_go(self) -> None:
        """Refuse new connections and end the open ones."""


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    fake: Any
    is_closing = False

    def verify_request(self, request: object, client_address: object) -> bool:
        del request, client_address
        return not self.is_closing

    def handle_error(self, request: object, client_address: object) -> None:
        # Clients that disconnect before their answer are expected.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType] - passed on as it came


class Handler(BaseHTTPRequestHandler):
    """Handler without a log."""

    server: _HttpServer  # pyright: ignore[reportIncompatibleVariableOverride] - the standard library's way to it

    def log_message(self, format: str, *args: object) -> None:
        del format, args

    def send_body(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
