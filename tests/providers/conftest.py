"""What the tests of providers share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator

import pytest
from fakes.asking import AnswerRaw, Asker, ModelAt, Serve
from fakes.model_server import ModelServer
from fakes.script import Script

from harness.deltas import Delta
from harness.messages import ModelMessage, user
from harness.ports.provider import Model, Request
from providers import connect


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is logged in with AWS, and nobody asks the machine who it is."""
    for variable in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    for variable in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(variable, os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[ModelServer] = []

    def start(script: Script) -> ModelServer:
        servers.append(ModelServer(script).__enter__())
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__()


@pytest.fixture
async def answer_raw() -> AsyncIterator[AnswerRaw]:
    """Starts a server that answers everything with these bytes."""
    servers: list[asyncio.Server] = []

    async def start(answer: bytes) -> str:
        async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((line for line in head.lower().splitlines() if line.startswith(b"content-length:")), b":0")
            await reader.readexactly(int(length.partition(b":")[2]))
            writer.write(answer)
            await writer.drain()
            writer.close()

        servers.append(await asyncio.start_server(reply, "127.0.0.1", 0))
        return f"http://127.0.0.1:{servers[-1].sockets[0].getsockname()[1]}"

    yield start
    for server in servers:
        server.close()


@pytest.fixture(params=["anthropic", "openai-chat", "openai", "gemini", "ollama", "proxy", "bedrock"])
def wire(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def model_at() -> AsyncIterator[ModelAt]:
    models: list[Model] = []

    def open_model(server: ModelServer, wire: str) -> Model:
        url = server.url if wire in ("anthropic", "gemini", "bedrock") else server.openai_url
        models.append(connect(f"{wire}/some-model", base_url=url))
        return models[-1]

    yield open_model
    for model in models:
        await model.provider.close()


@pytest.fixture
def ask() -> Asker:
    async def answer(model: Model, *messages: ModelMessage) -> list[Delta]:
        request = Request(model.spec, "Be brief.", messages or (user("Hi"),))
        return [delta async for delta in model.provider.stream(request)]

    return answer
