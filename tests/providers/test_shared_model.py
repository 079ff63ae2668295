"""Agents that share a model: closing one of them does not disturb the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from fakes import openai_wire
from fakes.asking import Serve
from fakes.model_server import Reply
from fakes.runs import until

from harness.agent.agent import Agent
from providers import connect

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class PausingServer:
    """Streams the first event of each reply, and the rest once `resume` is set."""

    def __init__(self) -> None:
        self.resume = asyncio.Event()
        self.requests = self.connections = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await self._answer(reader, writer)
        writer.close()
        self.connections -= 1

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
        self.requests += 1
        first, *rest = openai_wire.events(Reply("Hello there"), "m", self.requests)
        writer.write(HEAD + b"%x\r\n%b\r\n" % (len(first), first))
        await writer.drain()
        await self.resume.wait()
        body = b"".join(rest)
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        await writer.drain()


@pytest.fixture
async def server() -> AsyncIterator[PausingServer]:
    pausing = PausingServer()
    async with await asyncio.start_server(pausing.serve, "127.0.0.1", 0) as listening:
        pausing.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        yield pausing


async def test_closing_an_agent_leaves_the_stream_of_another_alone(server: PausingServer) -> None:
    model = connect("openai-chat/m", base_url=server.url)
    first, second = Agent(model), Agent(model)
    run = asyncio.create_task(second.prompt("go"))
    await until(lambda: server.requests == 1)

    await first.close()
    server.resume.set()
    result = await run

    assert (result.stop_reason, result.text, server.requests) == ("stop", "Hello there", 1)


async def test_connections_are_closed_once_the_last_answer_has_ended(server: PausingServer) -> None:
    model = connect("openai-chat/m", base_url=server.url)
    first, second = Agent(model), Agent(model)
    run = asyncio.create_task(second.prompt("go"))
    await until(lambda: server.requests == 1)

    await first.close()
    assert server.connections == 1
    server.resume.set()
    await run
    await second.close()

    await until(lambda: server.connections == 0)


async def test_closing_an_agent_stops_its_own_stream_and_connection(server: PausingServer) -> None:
    agent = Agent(connect("openai-chat/m", base_url=server.url))
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: server.requests == 1)

    await agent.close()

    assert (await run).stop_reason == "aborted"
    server.resume.set()
    await until(lambda: server.connections == 0)


def test_agents_in_two_threads_share_a_model(serve: Serve) -> None:
    """Each call of `prompt_sync` has an event loop of its own, and closes only the connections of that loop."""
    both = threading.Barrier(2, timeout=10)

    def answer(body: object) -> Reply:
        del body
        both.wait()
        return Reply("Hi")

    server = serve(answer)
    model = connect("openai-chat/m", base_url=server.openai_url)
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(Agent(model).prompt_sync("go").text)) for _ in range(2)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (texts, len(server.requests)) == (["Hi", "Hi"], 2)
