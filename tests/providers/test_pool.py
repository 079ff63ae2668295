"""Connections that are kept, lost, and many at once."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from fakes import openai_wire
from fakes.asking import Asker, ModelAt, Serve
from fakes.model_server import Reply
from fakes.relays import Relay

from harness.deltas import Done
from harness.errors import NetworkError
from http_client import pool
from providers import connect

AT_ONCE = 110
"""More than the default limit of httpx."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Forgetful:
    """A server that says nothing about closing a connection, and closes it when the next request comes on it.

    It answers `answers` requests on each connection; with 0, it answers nobody. `requests` counts what came.
    """

    def __init__(self, answers: int) -> None:
        self.connections = self.requests = 0
        self._answers = answers
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                with connection, suppress(OSError):
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        body = b"".join(openai_wire.events(Reply("Hi"), "m", 1))
        for count in range(self._answers + 1):
            read = b""
            while b'"messages"' not in read or not read.endswith(b"}"):
                if not (more := connection.recv(65536)):
                    return
                read += more
            self.requests += 1
            if count < self._answers:
                connection.sendall(HEAD + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))


@pytest.fixture
def forgetful(request: pytest.FixtureRequest) -> Iterator[Forgetful]:
    server = Forgetful(request.param)
    yield server
    server.close()


@pytest.mark.parametrize("forgetful", [1], indirect=True)
async def test_a_dead_pooled_connection_is_replaced_silently(forgetful: Forgetful, ask: Asker) -> None:
    model = connect("openai-chat/m", base_url=forgetful.url)

    answers = [await ask(model) for _ in range(3)]
    await model.provider.close()

    assert [isinstance(answer[-1], Done) for answer in answers] == [True] * 3
    assert (forgetful.connections, forgetful.requests) == (3, 5)


@pytest.mark.parametrize("forgetful", [0], indirect=True)
async def test_a_new_connection_that_breaks_is_reported_and_not_tried_again(forgetful: Forgetful, ask: Asker) -> None:
    model = connect("openai-chat/m", base_url=forgetful.url)

    with pytest.raises(NetworkError, match="was closed early"):
        await ask(model)
    await model.provider.close()

    assert forgetful.requests == 1


async def test_many_turns_share_one_connection(serve: Serve, wire: str, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Reply("Hi")] * 20)
    model = model_at(server, wire)
    # Some services are asked about the model first.
    await ask(model)
    opened = server.connections_opened

    for _ in range(19):
        await ask(model)

    assert server.connections_opened == opened


async def test_all_requests_run_concurrently(ask: Asker) -> None:
    everybody = asyncio.Event()

    class Gate(Relay):
        """Sends everybody away when all have come."""

        async def admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if self.connections == AT_ONCE:
                everybody.set()
            await everybody.wait()

    with Gate(0) as gate:
        model = connect("openai-chat/m", base_url=f"http://127.0.0.1:{gate.port}/v1")
        async with asyncio.timeout(60):
            errors = await asyncio.gather(*(ask(model) for _ in range(AT_ONCE)), return_exceptions=True)
        await model.provider.close()

    assert gate.connections == AT_ONCE
    assert all(isinstance(error, NetworkError) for error in errors)


async def test_a_connection_rests_as_long_as_most_tools_take(
    serve: Serve, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "KEEP_ALIVE_SECONDS", 0.0)
    server = serve([Reply("Hi")] * 2)
    model = model_at(server, "openai-chat")

    await ask(model)
    await ask(model)

    assert server.connections_opened == 2


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system has no such clock")
async def test_a_connection_to_nowhere_is_given_up_by_the_system(
    serve: Serve, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: list[tuple[int, int, int]] = []
    set_option = socket.socket.setsockopt

    def noted(self: socket.socket, *option: int) -> None:
        options.append(option)  # pyright: ignore[reportArgumentType]
        set_option(self, *option)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(socket.socket, "setsockopt", noted)
    model = connect("openai-chat/m", base_url=serve([Reply("Hi")]).openai_url)

    await ask(model)
    await model.provider.close()

    assert (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000) in options
