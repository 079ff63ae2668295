from __future__ import annotations

import pytest
from fakes import model_lists as lists

from harness.messages import JsonValue
from harness.ports.provider import ModelInfo, Price
from providers.bedrock.provider import models_in
from providers.model_catalog.listing import is_chat_model, listed, metadata_in
from providers.model_catalog.metadata import ListedModel, ModelMetadata

EACH: dict[str, tuple[JsonValue, dict[str, ModelMetadata]]] = {
    "anthropic": (
        lists.ANTHROPIC,
        {"claude-opus-5": ModelMetadata(1_000_000, 128_000, images=True, thinking=True)},
    ),
    "openai": (lists.OPENAI, {"gpt-5": ModelMetadata()}),
    "gemini": (lists.GEMINI, {"gemini-3-pro": ModelMetadata(1_048_576, 65_536, thinking=True)}),
    "openrouter": (
        lists.OPENROUTER,
        {
            "qwen/qwen3-coder": ModelMetadata(
                262_144, 65_536, Price(0.22, 0.95, 0.02, 0.22), images=False, tools=True, thinking=False
            ),
            "acme/vision:free": ModelMetadata(32_768, None, Price(0, 0, 0, 0), images=True, tools=False, thinking=True),
            "openrouter/auto": ModelMetadata(2_000_000, images=False, tools=False, thinking=False),
        },
    ),
    "mistral": (
        lists.MISTRAL,
        {"magistral-medium-2509": ModelMetadata(131_072, images=False, tools=True, thinking=True)},
    ),
    "groq": (lists.GROQ, {"openai/gpt-oss-120b": ModelMetadata(131_072, 65_536)}),
    "together": (
        lists.TOGETHER,
        {"zai-org/GLM-5": ModelMetadata(202_752, price=Price(1, 3.2, 1, 1)), "acme/only-rented": ModelMetadata(4_096)},
    ),
    "fireworks": (
        lists.FIREWORKS,
        {"accounts/fireworks/models/glm-5": ModelMetadata(202_752, images=False, tools=True)},
    ),
    "github-models": (lists.GITHUB, {"openai/gpt-4.1": ModelMetadata(1_048_576, 32_768, images=True, tools=True)}),
    "huggingface": (
        lists.HUGGING_FACE,
        {"zai-org/GLM-5": ModelMetadata(131_072, price=Price(1, 3.2, 1, 1), images=False, tools=True)},
    ),
    "moonshot": (lists.MOONSHOT, {"kimi-k3": ModelMetadata(1_048_576, images=True, thinking=True)}),
    "xai": (lists.XAI, {"grok-4.7": ModelMetadata(256_000, price=Price(3, 15, 0.75, 3), images=True)}),
    "bedrock": (lists.BEDROCK, {"amazon.nova-pro-v1:0": ModelMetadata(images=True)}),
    "lmstudio v0": (lists.LM_STUDIO_V0, {"qwen2-vl-7b-instruct": ModelMetadata(8_192, images=True, tools=True)}),
    "lmstudio v1": (
        lists.LM_STUDIO_V1,
        {"qwen/qwen3.5-9b": ModelMetadata(65_536, images=True, tools=True, thinking=True)},
    ),
    "vllm": (lists.VLLM, {"Qwen/Qwen3-8B": ModelMetadata(40_960)}),
    "litellm": (
        lists.LITELLM,
        {
            "house-model": ModelMetadata(
                272_000, 128_000, Price(1.25, 10, 0.125, 1.25), images=True, tools=True, thinking=True
            )
        },
    ),
    "llamacpp": (lists.LLAMA_CPP, {"gemma-3-4b": ModelMetadata()}),
}


@pytest.mark.parametrize(("answer", "known"), EACH.values(), ids=EACH)
def test_each_list_reports_its_facts_and_omits_other_models(answer: JsonValue, known: dict[str, ModelMetadata]) -> None:
    assert {model.id: model.metadata for model in listed(answer)} == known


def test_a_llama_cpp_server_describes_the_one_model_that_it_has() -> None:
    assert metadata_in(lists.LLAMA_CPP_PROPS) == ModelMetadata(16_384, images=True, tools=True)


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("no list", []),
        ({"error": "Unexpected endpoint or method. (GET /api/v1/models)"}, []),
        ({"data": None}, []),
        ({"data": [{"id": "a", "created": True}, {"id": 5}, None, {"id": "a"}, {"id": ""}, "b"]}, ["a", "b"]),
        ({"data": [{"id": "a", "pricing": {"prompt": "much", "completion": []}, "context_length": "wide"}]}, ["a"]),
        ({"data": [{"id": "a", "pricing": "on request", "providers": "many", "created_at": "lately"}]}, ["a"]),
    ],
)
def test_any_response_is_read_as_far_as_it_is_a_list(answer: JsonValue, names: list[str]) -> None:
    assert listed(answer) == [ListedModel(name) for name in names]


def test_the_release_date_of_a_model_is_read_as_timestamp_and_text() -> None:
    assert [model.created for model in listed(lists.ANTHROPIC)] == [1_772_323_200]
    assert [model.created for model in listed(lists.MOONSHOT)] == [1_770_000_000]


def test_a_profile_of_bedrock_knows_what_its_model_knows() -> None:
    models: JsonValue = {
        "modelSummaries": [
            {"modelId": "acme.old", "inputModalities": ["TEXT"], "inferenceTypesSupported": ["ON_DEMAND"]},
            {"modelId": "acme.new", "inputModalities": ["IMAGE"], "inferenceTypesSupported": ["INFERENCE_PROFILE"]},
        ]
    }
    profiles: JsonValue = {"inferenceProfileSummaries": [{"inferenceProfileId": "eu.acme.new"}, {"type": "other"}]}

    assert models_in(profiles, models) == [
        ListedModel("eu.acme.new", ModelMetadata(images=True)),
        ListedModel("acme.old", ModelMetadata(images=False)),
    ]


@pytest.mark.parametrize(
    "name", ["gpt-5-codex", "claude-opus-5", "qwen3-coder", "gemini-3-pro", "adamant", "grok-4-speechless", "kimi-k3"]
)
def test_a_model_that_talks_is_not_taken_for_another(name: str) -> None:
    assert is_chat_model(name)


def test_metadata_of_one_source_completes_that_of_another() -> None:
    served = ModelMetadata(8_192, tools=False)
    priced = ModelMetadata(128_000, price=Price(1, 2), tools=True)

    known = served.completed_by(priced)

    assert known == ModelMetadata(8_192, price=Price(1, 2), tools=False)
    assert known.model_info == ModelInfo(8_192, None, Price(1, 2), tools=False)
    assert ModelMetadata().model_info == ModelInfo()


@pytest.mark.parametrize("name", ["evil\x1b[31mmodel", "a\u202eb", "x" * 300, "two\nlines", ""])
def test_untypable_names_are_no_models(name: str) -> None:
    assert listed({"data": [{"id": name}, name, {"id": "qwen3"}]}) == [ListedModel("qwen3")]
