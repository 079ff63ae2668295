from __future__ import annotations

import json
from typing import Any

import pytest
from fakes import bedrock_wire
from fakes.asking import Asker, ModelAt, Serve
from fakes.model_server import Failure, Raw, Reply
from msgspec.structs import replace

from harness.deltas import Done
from harness.errors import RequestRejected
from harness.messages import ModelSpec, Usage, user
from harness.ports.provider import NO_CACHE, CacheStrategy, Request, ToolSpec
from providers.endpoint import Endpoint
from providers.openai_chat.provider import ChatProvider
from providers.preset import presets

HOUR = CacheStrategy(lifetime="1h")
LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "FIREWORKS_API_KEY"):
        monkeypatch.setenv(variable, "sk-test")


def refused(words: str) -> Failure:
    return Failure(400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}})


def marks_in(body: dict[str, Any]) -> tuple[int, int]:
    """How much is marked, and how much of that for an hour."""
    text = json.dumps(body)
    return text.count('"cache_control"') + text.count('"cachePoint"'), text.count('"ttl": "1h"')


async def test_a_server_that_rejects_cache_marks_gets_none_from_then_on(serve: Serve, model_at: ModelAt) -> None:
    server = serve(
        [
            refused("system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted"),
            refused("tools.0.custom.cache_control: Extra inputs are not permitted"),
            Reply("one"),
            Reply("two"),
        ]
    )
    provider = model_at(server, "anthropic").provider
    asked = Request(ModelSpec("anthropic", "some-model"), "Be brief.", (user("Hi"),), (LOOK,), cache=HOUR)

    for _ in range(2):
        assert [delta async for delta in provider.stream(asked)]

    assert [marks_in(recorded.body) for recorded in server.requests] == [(3, 3), (3, 0), (0, 0), (0, 0)]


async def test_a_refusal_of_marks_that_were_not_made_is_reported(serve: Serve, model_at: ModelAt) -> None:
    server = serve([refused("cache_control: no")])
    provider = model_at(server, "anthropic").provider
    asked = Request(ModelSpec("anthropic", "some-model"), "Be brief.", (user("Hi"),), cache=NO_CACHE)

    with pytest.raises(RequestRejected, match="cache_control: no"):
        assert [delta async for delta in provider.stream(asked)]

    assert len(server.requests) == 1


async def test_bedrock_model_without_one_hour_caching_caches_for_minutes(serve: Serve, model_at: ModelAt) -> None:
    server = serve([Failure(400, {"message": "ttl: 1h is not supported for this model"}), Reply("one")])
    provider = model_at(server, "bedrock").provider
    spec = ModelSpec("bedrock", "us.anthropic.claude-sonnet-4-5")

    assert [delta async for delta in provider.stream(Request(spec, "Be brief.", (user("Hi"),), (LOOK,), cache=HOUR))]

    assert [marks_in(recorded.body) for recorded in server.requests] == [(3, 3), (3, 0)]


async def test_a_chat_server_that_rejects_cache_marks_gets_none_from_then_on(serve: Serve) -> None:
    refusal = {"error": {"message": "messages.0.content.0.cache_control is not supported", "code": 400}}
    server = serve([Failure(400, refusal), Reply("one"), Reply("two")])
    preset = replace(presets()["openrouter"], base_url=server.openai_url)
    provider = ChatProvider(Endpoint(preset, server.openai_url))
    asked = Request(ModelSpec("openrouter", "anthropic/claude-sonnet-5.5"), "Be brief.", (user("Hi"),), session_id="s")

    for _ in range(2):
        assert [delta async for delta in provider.stream(asked)]
    await provider.close()

    assert [marks_in(recorded.body)[0] for recorded in server.requests] == [2, 0, 0]


@pytest.mark.parametrize(("is_own", "cache", "said"), [(True, HOUR, "s 1"), (True, NO_CACHE, ""), (False, HOUR, "")])
async def test_only_the_service_itself_receives_the_conversation_id(
    serve: Serve, is_own: bool, cache: CacheStrategy, said: str
) -> None:
    server = serve([Reply("one")])
    url = server.openai_url
    preset = replace(presets()["fireworks"], base_url=url if is_own else "https://elsewhere/v1")
    provider = ChatProvider(Endpoint(preset, url))
    asked = Request(ModelSpec("fireworks", "some-model"), "", (user("Hi"),), session_id="s 1", cache=cache)

    assert [delta async for delta in provider.stream(asked)]
    await provider.close()

    header = server.requests[0].headers.get("x-session-affinity", "")
    assert header[:1] == said[:1]
    assert header.isascii()
    assert " " not in header


async def test_anthropic_one_hour_cache_writes_are_distinguished(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    written = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200}
    usage = {"input_tokens": 9, "cache_creation_input_tokens": 300, "cache_creation": written, "output_tokens": 1}
    events = (
        {"type": "message_start", "message": {"id": "m", "usage": usage}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    )
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)

    deltas = await ask(model_at(serve([Raw(stream)]), "anthropic"))

    assert deltas[-1] == Done("stop", Usage(9, 4, 0, 300, cache_write_1h=200), "m")


@pytest.mark.parametrize(("cache", "kept"), [(HOUR, 300), (CacheStrategy(), 0)])
async def test_openrouter_cache_writes_count_with_the_requested_lifetime(
    serve: Serve, cache: CacheStrategy, kept: int
) -> None:
    counts = {"prompt_tokens": 309, "completion_tokens": 4, "prompt_tokens_details": {"cache_write_tokens": 300}}
    chunk = {"id": "c", "choices": [{"delta": {}, "finish_reason": "stop"}], "usage": counts}
    server = serve([Raw(b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n")])
    preset = replace(presets()["openrouter"], base_url=server.openai_url)
    provider = ChatProvider(Endpoint(preset, server.openai_url))
    asked = Request(ModelSpec("openrouter", "anthropic/claude-sonnet-5.5"), "", (user("Hi"),), cache=cache)

    deltas = [delta async for delta in provider.stream(asked)]
    await provider.close()

    assert deltas == [Done("stop", Usage(9, 4, 0, 300, cache_write_1h=kept), "c")]


async def test_bedrock_one_hour_cache_writes_are_distinguished(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    details = [{"ttl": "5m", "inputTokens": 100}, {"ttl": "1h", "inputTokens": 200}]
    counts = {"inputTokens": 9, "outputTokens": 4, "totalTokens": 313, "cacheWriteInputTokens": 300}
    frames = (
        bedrock_wire.event("messageStop", {"stopReason": "end_turn"}),
        bedrock_wire.event("metadata", {"usage": counts | {"cacheDetails": details}}),
    )
    stream = Raw(b"".join(frames), content_type=bedrock_wire.CONTENT_TYPE)

    deltas = await ask(model_at(serve([stream]), "bedrock"))

    assert deltas == [Done("stop", Usage(9, 4, 0, 300, cache_write_1h=200))]
