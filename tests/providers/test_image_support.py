from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.asking import ModelAt, Serve
from fakes.histories import PICTURE
from fakes.model_server import Failure, Reply
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.deltas import Delta
from harness.errors import (
    AuthenticationFailed,
    ContextWindowOverflow,
    ModelNotFound,
    NetworkError,
    ProviderError,
    RequestRejected,
)
from harness.events import Event, Notice
from harness.messages import AssistantMessage, Image, ModelMessage, ModelSpec, Text, ToolCall, ToolResult, UserMessage
from harness.ports.provider import Model, ModelInfo, Request, StaticModelInfo
from providers.endpoint import Endpoint
from providers.openai_chat.provider import ChatProvider
from providers.preset import presets
from providers.wire.image_support import ImageFallback, rejects_images, without_images

LEFT_OUT = "omitted: this model does not support images"
LOOK = ToolCall("call_1", "look", {})
HISTORY: tuple[ModelMessage, ...] = (
    UserMessage((Text("What is this?"), PICTURE)),
    AssistantMessage((LOOK,), "m", "p"),
    ToolResult("call_1", "look", (Text("seen"), PICTURE)),
)
OPENAI = "Invalid content type. image_url is only supported by certain models."
DENIALS: dict[str, Failure] = {
    "anthropic": Failure(400, {"error": {"message": "This model does not support image input."}}),
    "openai-chat": Failure(400, {"error": {"message": OPENAI, "type": "invalid_request_error", "code": None}}),
    "openai": Failure(400, {"error": {"message": "Image inputs are not supported by this model.", "code": None}}),
    "gemini": Failure(400, {"error": {"message": "Image input modality is not enabled for models/m", "code": 400}}),
    "ollama": Failure(500, {"error": "this model is missing data required for image input"}),
    "proxy": Failure(400, {"error": "the model does not support images"}),
    "bedrock": Failure(400, {"message": "The model doesn't support the image content block that you provided."}),
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.setenv(variable, "sk-test")


def seen_and_left_out(body: dict[str, Any]) -> tuple[int, int]:
    text = json.dumps(body)
    return text.count(PICTURE.data), text.count(LEFT_OUT)


async def answer(model: Model, reported: list[str] | None = None) -> list[Delta]:
    tell = None if reported is None else reported.append
    request = Request(model.spec, "", HISTORY, on_notice=tell)
    return [delta async for delta in model.provider.stream(request)]


def chat_model(url: str, name: str, facts: ModelInfo | None = None, *, is_own: bool = True) -> Model:
    """A model of a preset, at that address, which is its own or only speaks like it."""
    preset_name, _, model_id = name.partition("/")
    preset = replace(presets()[preset_name], base_url=url if is_own else "https://elsewhere/v1", own_urls="")
    endpoint = Endpoint(preset, url)
    known = StaticModelInfo(facts)
    return Model(ImageFallback(ChatProvider(endpoint), endpoint, known), ModelSpec(preset_name, model_id), known)


async def test_a_model_that_rejects_images_gets_placeholders_from_then_on(
    serve: Serve, wire: str, model_at: ModelAt
) -> None:
    server = serve([DENIALS[wire], Reply("one"), Reply("two")])
    model, reported = model_at(server, wire), list[str]()

    for _ in range(2):
        assert await answer(model, reported)

    assert [seen_and_left_out(recorded.body) for recorded in server.requests] == [(2, 0), (0, 2), (0, 2)]
    assert len(reported) == 1
    assert reported[0].startswith(f"{model.spec.name} does not support images")


async def test_a_refusal_without_any_image_is_reported(serve: Serve, model_at: ModelAt) -> None:
    server = serve([DENIALS["openai-chat"]])
    model = model_at(server, "openai-chat")

    with pytest.raises(RequestRejected):
        assert [delta async for delta in model.provider.stream(Request(model.spec, "", (UserMessage((Text("Hi"),)),)))]

    assert len(server.requests) == 1


async def test_an_image_that_is_refused_makes_no_model_blind(serve: Serve, model_at: ModelAt) -> None:
    broken = Failure(400, {"error": {"message": "You uploaded an unsupported image. Supported formats: png, jpeg."}})
    server = serve([broken, Reply("one")])
    model = model_at(server, "openai-chat")

    with pytest.raises(RequestRejected, match="unsupported image"):
        await answer(model)
    await answer(model)

    assert [seen_and_left_out(recorded.body) for recorded in server.requests] == [(2, 0), (2, 0)]


@pytest.mark.parametrize(
    ("name", "facts", "is_own", "is_blind"),
    [
        ("deepseek/deepseek-v4-pro", ModelInfo(), True, True),
        ("deepseek/deepseek-flash", ModelInfo(), True, False),
        ("zai/glm-5.2", ModelInfo(), True, True),
        ("zai/glm-5v-turbo", ModelInfo(), True, False),
        ("groq/openai/gpt-oss-120b", ModelInfo(), True, True),
        ("deepseek/deepseek-v4-pro", ModelInfo(), False, False),
        ("lmstudio/some-model", ModelInfo(images=False), False, True),
        ("lmstudio/some-model", ModelInfo(images=True), False, False),
    ],
)
async def test_a_model_that_is_known_to_be_blind_is_shown_nothing(
    serve: Serve, name: str, facts: ModelInfo, is_own: bool, is_blind: bool
) -> None:
    server = serve([Reply("one")])
    model = chat_model(server.openai_url, name, facts, is_own=is_own)

    await answer(model)
    await model.provider.close()

    assert [seen_and_left_out(each.body) for each in server.requests] == [(0, 2) if is_blind else (2, 0)]


async def test_a_model_that_sees_gets_the_images_that_a_blind_one_did_not(serve: Serve, model_at: ModelAt) -> None:
    server = serve([Reply("I see nothing."), Reply("A cat."), Reply("So I hear.")])
    blind = chat_model(server.openai_url, "deepseek/deepseek-v4-pro")
    agent = Agent(blind, [])
    heard: list[Event] = []
    agent.subscribe(heard.append)

    await agent.prompt((PICTURE, Text("What is this?")))
    agent.set_model(model_at(server, "anthropic"))
    await agent.prompt("And now?")
    agent.set_model(blind)
    await agent.prompt("And you?")
    await blind.provider.close()

    assert [seen_and_left_out(each.body) for each in server.requests] == [(0, 1), (1, 0), (0, 1)]
    assert [event.text.partition(":")[0] for event in heard if isinstance(event, Notice)] == [
        "deepseek/deepseek-v4-pro does not support images"
    ]


def test_each_image_becomes_a_placeholder_and_all_else_stays() -> None:
    large = Image("image/jpeg", "A" * 45_333)

    asked, called, result, other = without_images([*HISTORY, UserMessage((large,))])

    assert asked == replace(HISTORY[0], content=(Text("What is this?"), Text(f"[image/png, 1 kB: {LEFT_OUT}]")))
    assert called is HISTORY[1]
    assert result == replace(HISTORY[2], content=(Text("seen"), Text(f"[image/png, 1 kB: {LEFT_OUT}]")))
    assert other.content == (Text(f"[image/jpeg, 34 kB: {LEFT_OUT}]"),)


@pytest.mark.parametrize(
    "error",
    [
        RequestRejected("HTTP 400: messages[0]: unknown variant `image_url`, expected `text`", status=400),
        RequestRejected("OpenRouter: HTTP 404: No endpoints found that support image input", status=404),
        ModelNotFound("no such model (HTTP 404): No endpoints found that support image input", status=404),
        NetworkError("HTTP 500: image input is not supported - hint: you may need to provide the mmproj", status=500),
        RequestRejected("HTTP 400: At most 0 image(s) may be provided in one prompt.", status=400),
        RequestRejected("HTTP 400: some-model is not a multimodal model", status=400),
        RequestRejected("HTTP 400: 'messages.0' : for 'role:user', 'content' must be a string", status=400),
        RequestRejected("HTTP 400: Model does not support images. Please use a model that does.", status=400),
        RequestRejected("HTTP 400: messages.content.type is invalid, allowed values: ['text']", status=400),
        RequestRejected("HTTP 400: Content type 'image_url' is not supported by model x", status=400),
        RequestRejected("HTTP 400: This model doesn't support image content", status=400),
        RequestRejected("HTTP 400: Image input is not enabled for this model", status=400),
        RequestRejected("HTTP 422: Vision is off: the model does not support vision", status=422),
        RequestRejected("HTTP 400: this is a text-only model", status=400),
    ],
    ids=str,
)
def test_errors_about_missing_image_support_are_recognized(error: ProviderError) -> None:
    assert rejects_images(error)


@pytest.mark.parametrize(
    "error",
    [
        RequestRejected("HTTP 400: image/bmp is not supported", status=400),
        RequestRejected("HTTP 400: The service does not support image format bmp", status=400),
        RequestRejected("HTTP 400: unsupported image media type", status=400),
        RequestRejected("HTTP 400: does not support image URLs with redirects", status=400),
        RequestRejected("HTTP 400: Could not process image", status=400),
        RequestRejected("HTTP 400: image exceeds 5 MB maximum", status=400),
        RequestRejected("HTTP 400: the model does not support tools", status=400),
        ContextWindowOverflow("HTTP 400: does not support images of so many tokens", status=400),
        AuthenticationFailed("HTTP 403: your plan does not support images", status=403),
        NetworkError("the connection was cut: does not support images"),
    ],
    ids=str,
)
def test_unrelated_errors_do_not_disable_images(error: ProviderError) -> None:
    assert not rejects_images(error)
