"""Tests of the provider: installed (`pip install -e .`), against a scripted server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from echo_server import EchoServer

from harness import (
    Agent,
    BlockDelta,
    Delta,
    Done,
    ModelThrottled,
    NetworkError,
    Request,
    Usage,
    tool,
    user,
)
from providers import connect, list_models

DONE = {"end": "done", "read": 5, "wrote": 2}


async def deltas_of(server: EchoServer) -> AsyncIterator[Delta]:
    model = connect("echo/parrot", base_url=server.url)
    try:
        async for delta in model.provider.stream(Request(model.spec, "Be brief.", (user("Hello"),))):
            yield delta
    finally:
        await model.provider.close()


async def test_text_is_streamed_in_deltas() -> None:
    with EchoServer([[{"say": "Hel"}, {"say": "lo"}, DONE]]) as server:
        deltas = [delta async for delta in deltas_of(server)]

    assert [delta.text for delta in deltas if isinstance(delta, BlockDelta)] == ["Hel", "lo"]
    assert deltas[-1] == Done("stop", Usage(input=5, output=2))
    assert server.asked[0]["turns"] == [{"who": "user", "says": "Hello"}]


async def test_tool_call_runs_and_its_result_is_sent() -> None:
    @tool(risk="read")
    def weather(city: str) -> str:
        """Return the weather of a city."""
        return f"rain in {city}"

    call = {"use": {"id": "u1", "tool": "weather", "with": {"city": "Oslo"}}}
    with EchoServer([[call, DONE], [{"say": "It rains."}, DONE]]) as server:
        model = connect("echo/parrot", base_url=server.url)
        result = await Agent(model, [weather]).prompt("How is the weather in Oslo?")
        await model.provider.close()

    assert result.text == "It rains."
    assert server.asked[1]["turns"][-1] == {"who": "tool", "id": "u1", "says": "rain in Oslo", "failed": False}


@pytest.mark.parametrize("answer", [429, [{"problem": {"status": 429, "text": "one at a time"}}]])
async def test_error_status_and_error_event_raise_the_same_error(answer: Any) -> None:
    with EchoServer([answer]) as server, pytest.raises(ModelThrottled, match="Echo: too many requests"):
        [delta async for delta in deltas_of(server)]


async def test_response_without_end_is_truncated() -> None:
    with EchoServer([[{"say": "Hel"}]]) as server, pytest.raises(NetworkError, match="closed early"):
        [delta async for delta in deltas_of(server)]


async def test_models_are_listed_by_the_server() -> None:
    with EchoServer([]) as server:
        assert await list_models("echo", base_url=server.url) == ["parrot", "raven"]
