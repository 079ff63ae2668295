from __future__ import annotations

import pytest
from fakes.asking import Serve, said_in
from fakes.model_server import Failure, Reply
from fakes.script import Item
from msgspec.structs import replace

from harness.messages import AssistantMessage, ModelMessage, ModelSpec, Text, Thinking, ToolCall, ToolResult, user
from harness.ports.provider import Request, ToolSpec
from providers import Secret, endpoint_of
from providers.endpoint import Endpoint
from providers.openai_chat.dialect import dialect_of
from providers.openai_chat.provider import ChatProvider
from providers.preset import presets

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})


def own(name: str, **changes: str) -> Endpoint:
    preset = replace(presets()[name], **changes)
    return Endpoint(preset, preset.base_url, Secret("sk-test", "a test"))


def talk(model: str, provider: str) -> tuple[ModelMessage, ...]:
    thought = (Thinking("Hm", '"reasoning_content"'), ToolCall("AbC123xyZ", "look", {}))
    return (
        user("Go"),
        AssistantMessage(thought, model, provider),
        ToolResult("AbC123xyZ", "look", (Text("seen"),)),
        user("More"),
    )


async def replies_sent(serve: Serve, provider: str, model: str, refusal: str) -> list[list[dict[str, object]]]:
    """The messages of the model, as they went to a service that refused the first request, and to it from then on."""
    script: list[Item] = [Failure(400, {"error": {"message": refusal}}), Reply("one"), Reply("two")]
    server = serve(script)
    service = ChatProvider(own(provider, base_url=server.openai_url, own_urls=""))
    asked = Request(ModelSpec(provider, model, "high"), "", talk(model, provider), (LOOK,))
    for _ in range(2):
        assert [delta async for delta in service.stream(asked)]
    await service.close()
    return [[m for m in said_in(sent.body) if m["role"] == "assistant"] for sent in server.requests]


@pytest.mark.parametrize(
    "refusal",
    [
        "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported",
        "'messages.1' : must satisfy [('messages.1' : property 'reasoning_content' is unsupported)]",
        "body.messages.1.assistant.reasoning_content: Extra inputs are not permitted",
    ],
)
async def test_a_service_that_rejects_thinking_gets_none_from_then_on(serve: Serve, refusal: str) -> None:
    sent = await replies_sent(serve, "cerebras", "gpt-oss-120b", refusal)

    assert ["reasoning_content" in replies[0] for replies in sent] == [True, False, False]


@pytest.mark.parametrize(
    "refusal",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ],
)
async def test_a_service_that_requires_thinking_gets_it_from_then_on(serve: Serve, refusal: str) -> None:
    server = serve([Failure(400, {"error": {"message": refusal}}), Reply("one")])
    service = ChatProvider(own("nvidia", base_url=server.openai_url, own_urls=""))
    asked = Request(ModelSpec("nvidia", "deepseek-v4", "high"), "", talk("other", "anthropic"), (LOOK,))

    assert [delta async for delta in service.stream(asked)]
    await service.close()

    first, second = ([m for m in said_in(sent.body) if m["role"] == "assistant"] for sent in server.requests)
    assert ("reasoning_content" in first[0], second[0]["reasoning_content"]) == (False, "")


async def test_a_model_that_must_speak_between_results_and_a_prompt_does_so_from_then_on(serve: Serve) -> None:
    sent = await replies_sent(serve, "nvidia", "mistralai/m", "Unexpected role 'user' after role 'tool'")

    assert [len(replies) for replies in sent] == [1, 2, 2]


@pytest.mark.parametrize(
    "refusal",
    [
        "reasoning_effort: Input should be 'none' or 'high'",
        "`reasoning_effort` must be one of `none` or `default`",
        "This model does not support disabling thinking; please use low, high, or max for reasoning_effort",
    ],
)
async def test_an_unknown_thinking_level_is_omitted_from_then_on(serve: Serve, refusal: str) -> None:
    server = serve([Failure(400, {"error": {"message": refusal}}), Reply("one"), Reply("two")])
    service = ChatProvider(own("groq", base_url=server.openai_url, own_urls=""))
    asked = Request(ModelSpec("groq", "qwen/qwen3-32b", "high"), "", (user("Hi"),))

    for _ in range(2):
        assert [delta async for delta in service.stream(asked)]
    await service.close()

    assert ["reasoning_effort" in sent.body for sent in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("name", "variable", "host"),
    [
        ("groq", "GROQ_BASE_URL", "https://api.groq.com"),
        ("cerebras", "CEREBRAS_BASE_URL", "https://api.cerebras.ai"),
        ("together", "TOGETHER_BASE_URL", "https://api.together.ai"),
        ("fireworks", "FIREWORKS_BASE_URL", "https://api.fireworks.ai"),
    ],
)
def test_a_host_as_that_vendors_own_library_takes_it_is_its_own_address(
    name: str, variable: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, host)
    monkeypatch.setenv(presets()[name].key_variables[0], "sk-test")

    endpoint = endpoint_of(presets()[name])

    assert (endpoint.base_url, endpoint.is_vendors_own) == (presets()[name].base_url, True)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("moonshot", "https://api.moonshot.cn/v1"),
        ("moonshot", "https://api.kimi.com/coding/v1"),
        ("zai", "https://api.z.ai/api/coding/paas/v4"),
        ("together", "https://api.together.xyz/v1"),
        ("minimax", "https://api.minimaxi.com/v1"),
        ("alibaba", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
        ("cohere", "https://api.cohere.com/compatibility/v1"),
        ("deepseek", "https://api.deepseek.com/v1"),
    ],
)
def test_another_address_of_the_same_service_is_spoken_to_in_its_dialect(name: str, url: str) -> None:
    preset = presets()[name]

    assert dialect_of(Endpoint(preset, url)) == dialect_of(Endpoint(preset, preset.base_url))


@pytest.mark.parametrize(
    ("name", "model", "field"),
    [
        ("mistral", "mistral-medium-3-5", "reasoning_effort"),
        ("azure-chat", "gpt-5", "prompt_cache_key"),
        ("groq", "qwen/qwen3-32b", "stream_options"),
        ("zai", "glm-4.7", "tool_stream"),
    ],
)
async def test_a_field_that_a_service_refuses_is_left_out_from_then_on(
    name: str, model: str, field: str, serve: Serve
) -> None:
    refusal = {"detail": [{"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs"}]}
    server = serve([Failure(422, {"object": "error", "message": refusal}), Reply("one"), Reply("two")])
    provider = ChatProvider(own(name, base_url=server.openai_url, own_urls=""))
    asked = Request(ModelSpec(name, model, "high"), "", (user("Hi"),), (LOOK,), session_id="s1")

    for _ in range(2):
        assert [delta async for delta in provider.stream(asked)]

    assert [field in recorded.body for recorded in server.requests] == [True, False, False]
    await provider.close()
