from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Set

import pytest
from fakes.asking import Serve
from fakes.model_server import Failure, Raw, Reply

from harness.deltas import BlockDelta, Delta
from harness.errors import RequestRejected
from harness.messages import ModelSpec, user
from harness.ports.provider import Request
from providers import connect
from providers.endpoint import Endpoint
from providers.http_provider import MAX_ATTEMPTS, HttpProvider
from providers.preset import presets

REFUSAL = "temperature is not supported"
BEGUN = (
    b'data: {"type":"response.created","response":{"id":"r"}}\n\n'
    b'data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}\n\n'
    b'data: {"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text"}}\n\n'
    b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hel"}\n\n'
    b'data: {"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"temperature is not '
    b'supported"}}}\n\n'
)
ASKED = Request(ModelSpec("openai", "a", "off"), "", (user("Go"),), temperature=0.5)


def said(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta))


async def keep(answer: AsyncIterator[Delta], deltas: list[Delta]) -> None:
    async for delta in answer:
        deltas.append(delta)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


async def test_rejected_parameter_is_left_out_and_the_request_repeated(serve: Serve) -> None:
    server = serve([Failure(400, {"error": {"message": REFUSAL}}), Reply("Hello")])
    model = connect("openai/a", base_url=server.openai_url)

    deltas = [delta async for delta in model.provider.stream(ASKED)]
    await model.provider.close()

    assert said(deltas) == "Hello"
    assert ["temperature" in sent.body for sent in server.requests] == [True, False]


async def test_an_answer_that_has_begun_is_not_begun_again(serve: Serve) -> None:
    server = serve([Raw(BEGUN), Reply("Hello")])
    model = connect("openai/a", base_url=server.openai_url)
    deltas: list[Delta] = []

    with pytest.raises(RequestRejected):
        await keep(model.provider.stream(ASKED), deltas)
    await model.provider.close()

    assert said(deltas) == "Hel"
    assert len(server.requests) == 1


async def test_a_service_that_refuses_without_end_is_left_in_the_end() -> None:
    attempts = 0

    class Refused(HttpProvider):
        async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
            nonlocal attempts
            attempts += 1
            raise RequestRejected("no", status=400)

        def _adapts(self, request: Request, without: set[str], error: RequestRejected) -> bool:
            return True

    with pytest.raises(RequestRejected):
        _ = [delta async for delta in Refused(Endpoint(presets()["openai"], "http://127.0.0.1:9")).stream(ASKED)]

    assert attempts == MAX_ATTEMPTS + 1
