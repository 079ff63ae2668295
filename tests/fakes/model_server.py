"""Local model server that answers from a script, with the wires of Anthropic, OpenAI, Google, Amazon and Ollama.

Run manually: `python tests/fakes/model_server.py --port 9000 script.json`, where the file holds a list of items such as
`{"text": "Hello"}`, `{"calls": [["read_file", {"path": "a.py"}]]}` or `{"type": "failure", "status": 429}`.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

# When run as a script, Python searches modules only in the folder of this file.
if not __package__:
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from fakes import anthropic_wire, bedrock_wire, gemini_wire, ollama_wire, openai_wire, proxy_wire, responses_wire
from fakes.local_http import Handler, LocalHttp
from fakes.script import Cut, Failure, Hang, Item, Raw, Reply, Script, item_from_json

__all__ = ["Cut", "Failure", "Hang", "Item", "ModelServer", "Raw", "Recorded", "Reply"]

WIRES = {
    "/v1/messages": anthropic_wire,
    "/v1/chat/completions": openai_wire,
    "/v1/responses": responses_wire,
    "/api/chat": ollama_wire,
    "/v1/stream": proxy_wire,
}
EXHAUSTED = Failure(400, "the script of the fake model server has no more replies")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A received request; header names are lower-case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class ModelServer(LocalHttp):
    """Server on 127.0.0.1, a context manager.

    `script` is consumed item by item, or called with each request's body. `requests` holds the model requests,
    `connections_opened` the number of connections. `shown` is Ollama's model information, `loaded` its context
    windows in use by name.
    """

    def __init__(self, script: Script = (), *, port: int = 0, models: tuple[str, ...] = ("fake-model",)) -> None:
        self.requests: list[Recorded] = []
        self.connections_opened = 0
        self.models = models
        self.shown: Mapping[str, Any] | Failure = ollama_wire.show_body()
        self.loaded: Mapping[str, int] = {}
        self._script = script
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._connections: set[socket.socket] = set()
        super().__init__(_Handler, port)

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def let_go(self) -> None:
        self._closing.set()
        with self._lock:
            for connection in self._connections:
                _shut_down(connection)

    def connected(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)
            self.connections_opened += 1

    def disconnected(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)

    def next_item(self, recorded: Recorded) -> tuple[Item, int]:
        """Return the answer to a request, and the request's number."""
        with self._lock:
            self.requests.append(recorded)
            number = len(self.requests)
        if callable(self._script):
            return self._script(recorded.body), number
        return (self._script[number - 1] if number <= len(self._script) else EXHAUSTED), number

    def wait_for_the_end(self, connection: socket.socket) -> None:
        """Return when the client hangs up or the server closes."""
        connection.settimeout(0.02)
        while not self._closing.is_set():
            try:
                if not connection.recv(1):
                    return
            except TimeoutError:
                continue
            except OSError:
                return


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.fake.connected(self.connection)

    def finish(self) -> None:
        self.server.fake.disconnected(self.connection)
        super().finish()

    def do_GET(self) -> None:
        if gemini_wire.lists_models(self.path):
            self._send_json(200, gemini_wire.models_body(self.server.fake.models), {})
            return
        if listed := bedrock_wire.listed(self.path, self.server.fake.models):
            self._send_json(200, listed, {})
            return
        if listed := ollama_wire.listed(self.path, self.server.fake.models, self.server.fake.loaded):
            self._send_json(200, listed, {})
            return
        if self.path.split("?")[0].rstrip("/") != "/v1/models":
            self._send_failure(Failure(404, "no such path"))
            return
        wire = anthropic_wire if "anthropic-version" in self.headers else openai_wire
        self._send_json(200, wire.models_body(self.server.fake.models), {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.path == "/api/show":
            self._send_shown()
            return
        if self._known_wire is None:
            self._send_failure(Failure(404, f"no such path: {self.path}"))
            return
        item, number = self.server.fake.next_item(Recorded(self.path, headers, body))
        match item:
            case Reply():
                self._start_stream(self._content_type)
                self._send(_chunks(self._events(item, number, body), item.chunk_size), item.pause_s)
                self._end_stream()
            case Failure():
                self._send_failure(item)
            case Cut():
                self._send_cut(item, list(self._events(item.reply, number, body)))
            case Raw():
                self._start_stream(item.content_type)
                self._send(_chunks([item.body], item.chunk_size), 0)
                self._end_stream()
            case Hang():
                self._start_stream(self._content_type)
                self._send(islice(self._events(item.reply, number, body), item.after_events), item.reply.pause_s)
                self.server.fake.wait_for_the_end(self.connection)
                self.close_connection = True

    def _send_shown(self) -> None:
        shown = self.server.fake.shown
        if isinstance(shown, Failure):
            self._send_failure(shown)
        else:
            self._send_json(200, shown, {})

    @property
    def _known_wire(self) -> Any:
        named_in_path = (wire for wire in (gemini_wire, bedrock_wire) if wire.is_asked(self.path))
        return next(named_in_path, WIRES.get(self.path))

    @property
    def _wire(self) -> Any:
        return self._known_wire or openai_wire

    @property
    def _content_type(self) -> str:
        return getattr(self._wire, "CONTENT_TYPE", "text/event-stream; charset=utf-8")

    def _events(self, reply: Reply, number: int, body: dict[str, Any]) -> Iterator[bytes]:
        return self._wire.events(reply, body.get("model", ""), number)

    def _send_failure(self, failure: Failure) -> None:
        if isinstance(failure.body, str):
            message = failure.body or f"the script says {failure.status}"
            self._send_json(failure.status, self._wire.error_body(failure.status, message), failure.headers)
        else:
            self._send_json(failure.status, failure.body, failure.headers)

    def _send_json(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers, "content-length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _send_cut(self, cut: Cut, events: list[bytes]) -> None:
        self._start_stream(self._content_type)
        kept = b"".join(events[: cut.after_events])[: cut.after_bytes]
        self._send(_chunks([kept], cut.reply.chunk_size), cut.reply.pause_s)
        if cut.clean:
            self._end_stream()
        else:
            _shut_down(self.connection)
            self.close_connection = True

    def _start_stream(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _send(self, chunks: Iterable[bytes], pause_s: float) -> None:
        for chunk in chunks:
            if chunk:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            if pause_s:
                time.sleep(pause_s)

    def _end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


def _chunks(events: Iterable[bytes], size: int) -> Iterable[bytes]:
    if not size:
        return events
    body = b"".join(events)
    return (body[start : start + size] for start in range(0, len(body), size))


def _shut_down(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="A model server that answers from a script.")
    parser.add_argument("script", type=Path, help="a JSON list of items")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", action="append", help="a model to list; may be repeated")
    parser.add_argument("--repeat", action="store_true", help="start again when the script ends")
    options = parser.parse_args()
    items = [item_from_json(item) for item in json.loads(options.script.read_text())]
    script: Script = _repeat(items) if options.repeat else items
    with ModelServer(script, port=options.port, models=tuple(options.model or ["fake-model"])) as server:
        print(f"ANTHROPIC_BASE_URL={server.url} OPENAI_BASE_URL={server.openai_url}", flush=True)  # noqa: T201 - for the hand that started it
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


def _repeat(items: list[Item]) -> Callable[[dict[str, Any]], Item]:
    endless = cycle(items)
    return lambda _: next(endless)


if __name__ == "__main__":
    main()
