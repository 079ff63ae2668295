"""An echo-wire server. `python tests/echo_server.py` repeats every prompt, on port 7007."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Answer: TypeAlias = "Sequence[dict[str, Any]] | int"
"""The lines of a response, or the HTTP status of an error."""


class EchoServer:
    """Scripted server: one item per request, or a function of the request. Use it as a context manager."""

    def __init__(self, script: Sequence[Answer] | Callable[[dict[str, Any]], Answer], *, port: int = 0) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._script = script
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> EchoServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer_to(self, body: dict[str, Any], headers: dict[str, str]) -> Answer:
        self.asked.append(body)
        self.headers.append(headers)
        return self._script(body) if callable(self._script) else self._script[len(self.asked) - 1]


def _handler(server: EchoServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        # Without a content length, the response ends with the connection.
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            self._send(200, "application/json", {"models": [{"name": "parrot"}, {"name": "raven"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            match server.answer_to(body, {name.lower(): value for name, value in self.headers.items()}):
                case int(status):
                    self._send(status, "application/json", {"error": "scripted error"})
                case lines:
                    self._send(200, "application/x-ndjson", *lines)

        def _send(self, status: int, kind: str, *lines: dict[str, Any]) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.end_headers()
            for line in lines:
                self.wfile.write(json.dumps(line).encode() + b"\n")

        def log_request(self, code: object = "-", size: object = "-") -> None:
            del code, size

    return Handler


def parrot(body: dict[str, Any]) -> Answer:
    words = body["turns"][-1]["says"].split(" ")
    return [*({"say": f"{word} "} for word in words), {"end": "done", "read": len(words), "wrote": len(words)}]


if __name__ == "__main__":
    with EchoServer(parrot, port=7007) as running, suppress(KeyboardInterrupt):
        print(f"echo-wire at {running.url}; press Ctrl+C to stop")
        threading.Event().wait()
