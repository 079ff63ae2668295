from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fakes.asking import Serve, said_in
from fakes.judges import accepted_by_mistral, accepted_by_openai, accepted_by_responses
from fakes.model_server import Reply
from fakes.simple_tools import SimpleTool
from genai_prices.data_snapshot import get_snapshot
from msgspec.structs import replace

import providers
from harness.agent.agent import Agent
from harness.errors import ConfigError
from harness.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    ModelMessage,
    ModelSpec,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    user,
)
from harness.ports.provider import Model, Request, StaticModelInfo, ToolSpec
from harness.thinking_level import THINKING_LEVELS, ThinkingLevel
from providers import Secret, connect
from providers.endpoint import Endpoint
from providers.openai_chat.dialect import dialect_of
from providers.openai_chat.encode import encode as encode_chat
from providers.openai_chat.provider import ChatProvider
from providers.openai_responses.encode import encode as encode_responses
from providers.openai_responses.provider import ResponsesProvider
from providers.preset import Preset, presets
from providers.wire.encoding import nine_letters

CHAT = [preset for preset in presets().values() if preset.protocol == "openai_chat"]
RESPONSES = [preset for preset in presets().values() if preset.protocol == "openai_responses"]
NAMED_BY_USER = {"proxy", "azure", "azure-chat", "litellm", "ollama", "lmstudio", "llamacpp", "vllm"}
"""Services with models of the user's own: none can be chosen without its name."""
BEYOND_OPENAI = {
    *("reasoning", "thinking", "reasoning_effort", "reasoning_format", "reasoning_split", "enable_thinking"),
    *("tool_stream", "chat_template_kwargs", "chat_template_args", "session_id"),
}
"""Fields that services have over OpenAI's, or with words of their own."""
PIXEL = Image("image/png", "iVBORw0KGgo=")
LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})


def ids(preset: Preset) -> str:
    return preset.name


def own(name: str, **changes: str) -> Endpoint:
    preset = replace(presets()[name], **changes)
    return Endpoint(preset, preset.base_url, Secret("sk-test", "a test"))


def conversation(provider: str, model: str) -> tuple[ModelMessage, ...]:
    """Calls of another vendor's model, of this model with a thought, an image, a failure, and steering."""
    other = AssistantMessage((ToolCall("toolu_01A09q90qw90lq917835lq9", "look", {"at": "a"}),), "claude", "anthropic")
    way = '{"part": {"type": "thinking"}}' if provider == "mistral" else '"reasoning_content"'
    own_turn = (Thinking("Hm", way), Text("So"), ToolCall("AbC123xyZ", "look", {}))
    return (
        user("Go"),
        other,
        ToolResult("toolu_01A09q90qw90lq917835lq9", "look", (Text("seen"), PIXEL)),
        AssistantMessage(own_turn, model, provider),
        ToolResult("AbC123xyZ", "look", (Text("no"),), is_error=True),
        UserMessage((Text("Wait"),)),
        AssistantMessage((Thinking("Ah", way), Text("Done")), model, provider),
        user("More"),
    )


def request_for(preset: Preset, level: ThinkingLevel = "high", model: str = "") -> Request:
    spec = ModelSpec(preset.name, model or preset.default_model or "gpt-5.6-terra", level)
    messages = conversation(preset.name, spec.model_id)
    return Request(spec, "Be brief.", messages, (LOOK,), 500, 0.5, session_id="s1")


def chat_body(name: str, level: ThinkingLevel = "high", model: str = "") -> JsonObject:
    return encode_chat(request_for(presets()[name], level, model), dialect_of(own(name)))


def common(body: JsonObject) -> JsonObject:
    """The body in what OpenAI's own types know."""
    kept = {name: value for name, value in body.items() if name not in BEYOND_OPENAI}
    unthinking = [{k: v for k, v in message.items() if k != "reasoning_content"} for message in said_in(kept)]
    uncached = json.dumps(unthinking).replace(', "cache_control": {"type": "ephemeral"}', "")
    return kept | {"messages": json.loads(uncached)}


def thought_of(name: str, model: str) -> list[JsonObject]:
    """What is said of thinking at each level, from off on."""
    bodies = [chat_body(name, level, model) for level in THINKING_LEVELS]
    of_thinking = sorted(BEYOND_OPENAI - {"tool_stream", "session_id"})
    return [{key: body[key] for key in of_thinking if key in body} for body in bodies]


@pytest.mark.parametrize("preset", presets().values(), ids=ids)
def test_every_preset_is_complete(preset: Preset) -> None:
    folder = "gemini" if preset.protocol == "vertex" else preset.protocol
    url = urlsplit(preset.base_url)

    assert preset.label
    assert (Path(providers.__file__).parent / folder).is_dir()
    assert url.scheme == "https" or url.hostname == "127.0.0.1" or preset.name == "proxy"
    assert not preset.base_url.endswith("/")
    assert preset.key_variables
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]+", variable) for variable in preset.variables)
    assert bool(preset.default_model) is (preset.name not in NAMED_BY_USER)
    assert all(re.compile(rule.models) and len(rule.efforts) in (0, 6) for rule in preset.thinking)
    assert all(rule.efforts or rule.on for rule in preset.thinking)


class AnyKey:
    def find(self, preset_name: str, variables: Sequence[str]) -> Secret:
        return Secret("sk-test", "a test")


@pytest.mark.parametrize("preset", [each for each in presets().values() if each.default_model], ids=ids)
def test_a_key_is_all_that_is_needed(preset: Preset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(preset.base_url_variable or "NONE", raising=False)

    assert connect(preset.name, credentials=AnyKey()).spec.name == f"{preset.name}/{preset.default_model}"


@pytest.mark.parametrize("preset", [each for each in presets().values() if each.prices], ids=ids)
def test_prices_are_known_under_the_name_given(preset: Preset) -> None:
    assert preset.prices in {provider.id for provider in get_snapshot().providers}
    if preset.default_model:
        assert get_snapshot().find_provider_model(preset.default_model, None, preset.prices, None)


@pytest.mark.parametrize("preset", [each for each in presets().values() if each.families], ids=ids)
def test_a_missing_preset_is_suggested(preset: Preset) -> None:
    first = next(each for each in presets().values() if set(each.families) & set(preset.families))

    with pytest.raises(ConfigError, match=f"did you mean {first.name}/"):
        connect(f"{preset.families[0]}x-of-tomorrow/y")


@pytest.mark.parametrize("level", THINKING_LEVELS)
@pytest.mark.parametrize("preset", CHAT, ids=ids)
def test_requests_in_each_dialect_of_chat_completions_are_well_formed(preset: Preset, level: ThinkingLevel) -> None:
    body = chat_body(preset.name, level)

    judge = accepted_by_mistral if preset.name == "mistral" else accepted_by_openai
    assert judge(common(body))
    assert preset.name != "mistral" or accepted_by_mistral(body)
    assert ("stream_options" in body) is preset.stream_usage
    assert body.get(preset.max_tokens_field) == 500


@pytest.mark.parametrize("level", THINKING_LEVELS)
@pytest.mark.parametrize("preset", RESPONSES, ids=ids)
def test_requests_to_each_service_that_speaks_responses_are_well_formed(preset: Preset, level: ThinkingLevel) -> None:
    assert accepted_by_responses(encode_responses(request_for(preset, level), set()))


@pytest.mark.parametrize("preset", [*CHAT, *RESPONSES], ids=ids)
async def test_an_agent_works_with_a_tool_at_each_service(preset: Preset, serve: Serve) -> None:
    server = serve([Reply("I look.", calls=[("look", {"at": "ü"}), ("look", {})]), Reply("Found.")])
    endpoint = own(preset.name, base_url=server.openai_url, own_urls="")
    is_chat = preset.protocol == "openai_chat"
    provider = ChatProvider(endpoint) if is_chat else ResponsesProvider(endpoint)
    tool = SimpleTool("look")
    agent = Agent(Model(provider, ModelSpec(preset.name, "some-model"), StaticModelInfo()), [tool])

    result = await agent.prompt("Find it")

    assert (result.text, tool.ran) == ("Found.", [{"at": "ü"}, {}])
    first, second = server.requests
    assert {first.path, second.path} == {"/v1/chat/completions" if is_chat else "/v1/responses"}
    sent = first.headers.get(preset.key_header) if preset.key_header else first.headers["authorization"]
    assert sent == ("sk-test" if preset.key_header else "Bearer sk-test")
    assert ("authorization" in first.headers) is not bool(preset.key_header)
    assert ("tools" in first.body) is ("tools" not in preset.without)
    called = re.findall(r'"(?:tool_call_id|call_id)": "([^"]+)"', json.dumps(said_in(second.body)))
    assert len(set(called)) == 2
    assert all(json.dumps(second.body).count(f'"{call_id}"') >= 2 for call_id in called)
    await provider.close()


def test_ids_go_to_mistral_as_nine_letters_the_same_for_call_and_result() -> None:
    messages = said_in(chat_body("mistral"))

    calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert calls == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", call) for call in calls)
    assert calls[1] == "AbC123xyZ"


def test_mistral_gets_thinking_back_as_a_content_part() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    assert [m["content"] for m in said_in(chat_body("mistral")) if m["role"] == "assistant"] == [
        "",
        "I have read the results.",
        [thought, {"type": "text", "text": "So"}],
        "I have read the results.",
        "Done",
    ]


def test_many_ids_stay_apart_in_nine_letters() -> None:
    assert len({nine_letters(f"call_{number}") for number in range(20_000)}) == 20_000


def test_mistral_never_gets_a_user_message_right_after_a_result() -> None:
    roles = [message["role"] for message in said_in(chat_body("mistral"))]

    assert ("tool", "user") not in set(pairwise(roles))
    assert all(message["content"] for message in said_in(chat_body("mistral")) if "tool_calls" not in message)


@pytest.mark.parametrize("name", ["deepseek", "moonshot", "zai"])
def test_services_that_require_reasoning_get_all_of_it_back(name: str) -> None:
    replies = [message for message in said_in(chat_body(name)) if message["role"] == "assistant"]
    quiet = [message for message in said_in(chat_body(name, "off")) if message["role"] == "assistant"]

    assert [message.get("reasoning_content") for message in replies] == ["", "Hm", "Ah"]
    assert [message.get("reasoning_content") for message in quiet] == [None, "Hm", "Ah"]


def test_other_services_get_only_the_thinking_before_a_call() -> None:
    replies = [message for message in said_in(chat_body("groq")) if message["role"] == "assistant"]

    assert [message.get("reasoning_content") for message in replies] == [None, "Hm", None]


@pytest.mark.parametrize(
    ("name", "model", "reported"),
    [
        ("groq", "openai/gpt-oss-120b", ("low", "low", "high", "high")),
        ("groq", "qwen/qwen3-32b", ("none", "default", "default", "default")),
        ("groq", "qwen/qwen3.8-27b", ("none", "low", "high", "high")),
        ("groq", "llama-3.3-70b-versatile", (None, None, None, None)),
        ("cerebras", "gpt-oss-120b", ("low", "low", "high", "high")),
        ("cerebras", "qwen-3.8-27b", ("none", "low", "high", "high")),
        ("cerebras", "zai-glm-4.7", ("none", None, None, None)),
        ("mistral", "mistral-large-4", ("low", "low", "high", "high")),
        ("mistral", "mistral-large-2512", (None, None, None, None)),
        ("mistral", "zai-glm-5-3", ("low", "low", "high", "max")),
        ("mistral", "mistral-medium-3-5", ("none", "high", "high", "high")),
        ("mistral", "devstral-2512", (None, None, None, None)),
        ("moonshot", "kimi-k3", ("low", "low", "high", "max")),
        ("moonshot", "kimi-k3.1-pro", ("low", "low", "high", "max")),
        ("moonshot", "kimi-for-coding", ("low", "low", "high", "max")),
        ("moonshot", "kimi-k2.7-code", (None, None, None, None)),
        ("deepseek", "deepseek-v4-pro", (None, "low", "high", "max")),
        ("zai", "glm-5.3", ("low", "low", "high", "max")),
        ("zai", "glm-5.2", (None, "low", "high", "max")),
        ("zai", "glm-4.7", (None, None, None, None)),
        ("fireworks", "accounts/fireworks/models/deepseek-v4-pro", ("none", "low", "high", "max")),
        ("fireworks", "accounts/fireworks/models/kimi-k3", ("low", "low", "high", "max")),
        ("fireworks", "accounts/fireworks/models/glm-5p3-flash", ("low", "low", "high", "max")),
        ("huggingface", "zai-org/GLM-5.3", ("low", "low", "high", "max")),
        ("perplexity", "sonar-deep-research", ("low", "low", "high", "high")),
        ("perplexity", "sonar-pro", (None, None, None, None)),
        ("cohere", "command-a-plus-05-2026", ("none", "high", "high", "high")),
        ("cohere", "command-a-03-2025", (None, None, None, None)),
        ("sambanova", "gpt-oss-120b", ("low", "low", "high", "high")),
        ("deepinfra", "zai-org/GLM-5.2", ("none", "low", "high", "xhigh")),
        ("minimax", "MiniMax-M3", (None, None, None, None)),
        ("minimax", "MiniMax-M3.1-Flash", ("low", "low", "high", "xhigh")),
        ("alibaba", "qwen3.7-plus", (None, None, None, None)),
        ("alibaba", "qwen3.8-max", ("low", "low", "xhigh", "xhigh")),
        ("baseten", "zai-org/GLM-5.3", ("low", "low", "high", "max")),
        ("baseten", "moonshotai/Kimi-K3", ("none", "low", "high", "max")),
        ("fireworks", "accounts/fireworks/models/kimi-k2p6", ("low", "low", "high", "high")),
        ("nvidia", "nvidia/nemotron-3-super-120b-a12b", (None, None, None, None)),
    ],
)
def test_levels_use_each_services_terms(
    name: str, model: str, reported: tuple[str | None, str | None, str | None, str | None]
) -> None:
    efforts = [said.get("reasoning_effort") for said in thought_of(name, model)]

    assert (efforts[0], efforts[2], efforts[4], efforts[5]) == reported


@pytest.mark.parametrize(
    ("model", "off", "high", "most"),
    [
        ("grok-4.7", "low", "high", "xhigh"),
        ("grok-4.6", "low", "high", "high"),
        ("grok-4.3", "none", "high", "high"),
        ("grok-4.20-reasoning", None, None, None),
        ("grok-code-fast-1", None, None, None),
    ],
)
def test_grok_gets_the_thinking_parameters_it_supports(
    model: str, off: str | None, high: str | None, most: str | None
) -> None:
    levels: list[ThinkingLevel] = ["off", "high", "extra-high"]
    bodies = [encode_responses(request_for(presets()["xai"], level, model), set()) for level in levels]

    assert [body.get("reasoning", {}).get("effort") for body in bodies] == [off, high, most]


@pytest.mark.parametrize(
    ("name", "model", "off", "on"),
    [
        ("deepseek", "deepseek-v4-pro", {"thinking": {"type": "disabled"}}, {"thinking": {"type": "enabled"}}),
        ("moonshot", "kimi-k2.6", {"thinking": {"type": "disabled"}}, {"thinking": {"type": "enabled"}}),
        (
            "zai",
            "glm-4.7",
            {"thinking": {"type": "disabled"}},
            {"thinking": {"type": "enabled", "clear_thinking": False}},
        ),
        ("together", "zai-org/GLM-5.3", {"reasoning": {"enabled": False}}, {"reasoning": {"enabled": True}}),
        ("together", "zai-org/GLM-5.1", {"reasoning": {"enabled": False}}, {"reasoning": {"enabled": True}}),
        (
            "nvidia",
            "nvidia/nemotron-3-super-120b-a12b",
            {"chat_template_kwargs": {"enable_thinking": False}},
            {"chat_template_kwargs": {"enable_thinking": True}},
        ),
        ("huggingface", "zai-org/GLM-5.3", {}, {}),
        (
            "nvidia",
            "deepseek-ai/deepseek-v4.1-flash",
            {"thinking": {"type": "disabled"}},
            {"thinking": {"type": "enabled"}},
        ),
        ("groq", "qwen/qwen3-32b", {"reasoning_format": "parsed"}, {"reasoning_format": "parsed"}),
        (
            "minimax",
            "MiniMax-M3",
            {"reasoning_split": True, "thinking": {"type": "disabled"}},
            {"reasoning_split": True, "thinking": {"type": "adaptive"}},
        ),
        ("alibaba", "qwen3.7-plus", {"enable_thinking": False}, {"enable_thinking": True}),
        ("alibaba", "qwen3-coder-plus", {}, {}),
        (
            "baseten",
            "zai-org/GLM-5.2",
            {"chat_template_args": {"enable_thinking": False}},
            {"chat_template_args": {"enable_thinking": True}},
        ),
    ],
)
def test_thinking_is_switched_in_each_services_fields(name: str, model: str, off: JsonObject, on: JsonObject) -> None:
    said = [{key: said[key] for key in said if key != "reasoning_effort"} for said in thought_of(name, model)]

    assert said == [off, *[on] * 5]


def test_temperature_is_not_sent_where_there_is_none() -> None:
    assert "temperature" not in chat_body("moonshot")
    assert chat_body("deepseek")["temperature"] == 0.5
    assert "temperature" not in chat_body("azure-chat")


def test_tokens_that_others_use_too_are_neither_hidden_nor_a_reason_to_choose() -> None:
    for name, variable in (("github-models", "GITHUB_TOKEN"), ("huggingface", "HF_TOKEN")):
        assert variable in presets()[name].variables
        assert variable not in presets()[name].own_variables
