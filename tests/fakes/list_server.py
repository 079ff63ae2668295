"""Server that returns fixed JSON for a path, and records the requested paths."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from fakes.local_http import Handler, LocalHttp


class ListServer(LocalHttp):
    """Server on 127.0.0.1, a context manager. `answers` is by path, without the query; other paths get `status`.

    While `released` is not set, nothing is answered.
    """

    def __init__(self, answers: Mapping[str, Any], *, port: int = 0, status: int = 404) -> None:
        self.answers = answers
        self.status = status
        self.asked: list[str] = []
        self.released = threading.Event()
        self.released.set()
        super().__init__(_Handler, port)

    def let_go(self) -> None:
        self.released.set()


class _Handler(Handler):
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
        status = fake.status if answer is None else 200
        self.send_body(status, body, {"content-type": "application/json"})
