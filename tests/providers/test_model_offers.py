from __future__ import annotations

from random import Random
from typing import Any

import pytest
from fakes import model_lists as lists
from fakes.asking import Serve
from fakes.list_server import ListServer

from harness.errors import ConfigError, NetworkError, ProviderError
from harness.ports.provider import ModelInfo, Price
from providers import endpoint_of
from providers.installed import service_at
from providers.model_catalog.metadata import MetadataSource, ModelMetadata
from providers.model_catalog.offers import Offer, capabilities_by_name, newest_first, priced_offers, served_offers
from providers.model_catalog.prices import PricedModelInfo
from providers.preset import presets


async def offered(preset: str, answers: dict[str, Any], path: str = "/v1") -> tuple[list[Offer], list[str]]:
    with ListServer(answers) as server:
        return await served_offers(presets()[preset], base_url=server.url + path), server.asked


async def test_the_server_takes_precedence_and_the_price_data_fills_the_gaps() -> None:
    answer = {"data": [{"id": "claude-sonnet-4-5", "max_input_tokens": 5_000}, {"id": "claude-of-tomorrow-99"}]}

    offers, _ = await offered("anthropic", {"/v1/models": answer}, path="")

    known, unknown = offers[1].metadata, offers[0].metadata
    assert [offer.name for offer in offers] == ["anthropic/claude-of-tomorrow-99", "anthropic/claude-sonnet-4-5"]
    assert (known.context_window, known.tools, known.images, known.thinking) == (5_000, True, True, True)
    assert known.price == Price(3, 15, 0.3, 3.75, 6, searches=10)
    assert (unknown.context_window, unknown.price) == (None, None)


async def test_models_are_sorted_by_age_if_known_else_alphabetically() -> None:
    models = [{"id": "b"}, {"id": "old", "created": 10}, {"id": "new", "created": 20}, {"id": "a"}]

    offers, _ = await offered("openai-chat", {"/v1/models": {"data": models}})

    assert [offer.model_id for offer in offers] == ["new", "old", "a", "b"]


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ({"/api/v1/models": lists.LM_STUDIO_V1}, ["/api/v1/models"]),
        ({"/api/v0/models": lists.LM_STUDIO_V0}, ["/api/v1/models", "/api/v0/models"]),
        (
            {"/api/v1/models": {"error": "Unexpected endpoint"}, "/api/v0/models": lists.LM_STUDIO_V0},
            ["/api/v1/models", "/api/v0/models"],
        ),
        (
            {"/v1/models": {"data": [{"id": "plain"}]}},
            ["/api/v1/models", "/api/v0/models", "/v1/models", "/api/v0/models"],
        ),
    ],
)
async def test_the_most_detailed_list_is_queried_first(answers: dict[str, Any], asked: list[str]) -> None:
    offers, paths = await offered("lmstudio", answers)

    assert paths == asked
    assert len(offers) == 1


async def test_litellm_and_xai_report_more_in_lists_of_their_own() -> None:
    litellm, _ = await offered("litellm", {"/model/info": lists.LITELLM, "/v1/models": {"data": [{"id": "no"}]}})
    xai, _ = await offered("xai", {"/v1/language-models": lists.XAI, "/v1/models": {"data": [{"id": "no"}]}})

    assert [(offer.name, offer.metadata.context_window) for offer in litellm] == [("litellm/house-model", 272_000)]
    assert [(offer.name, offer.metadata.price) for offer in xai] == [("xai/grok-4.7", Price(3, 15, 0.75, 3))]


async def test_a_llama_cpp_server_is_queried_for_its_properties() -> None:
    answers = {"/v1/models": lists.LLAMA_CPP, "/props": lists.LLAMA_CPP_PROPS}

    offers, _ = await offered("llamacpp", answers)

    assert offers == [Offer("llamacpp", "gemma-3-4b", ModelMetadata(16_384, images=True, tools=True))]


async def test_ollama_is_queried_about_each_of_its_models(serve: Serve) -> None:
    server = serve([])
    server.models = ("qwen3:8b", "gpt-oss:20b")

    offers = await served_offers(presets()["ollama"], base_url=server.url)

    assert [offer.name for offer in offers] == ["ollama/gpt-oss:20b", "ollama/qwen3:8b"]
    assert offers[1].metadata == ModelMetadata(32_768, images=True, tools=True, thinking=True)


async def test_ollama_embedding_models_are_not_listed() -> None:
    tags = {"models": [{"name": "all-minilm:22m", "model": "all-minilm:22m"}]}

    offers, _ = await offered("ollama", {"/api/tags": tags, "/api/show": {"capabilities": ["vectors"]}}, path="")

    assert offers == []


async def test_a_server_that_takes_too_long_is_an_error_and_so_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with ListServer({}) as server:
        server.released.clear()
        with pytest.raises(NetworkError, match="did not list its models within"):
            await served_offers(presets()["vllm"], base_url=server.url + "/v1", seconds=0.2)
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="no key for Groq"):
        await served_offers(presets()["groq"])
    with pytest.raises(ProviderError):
        await served_offers(presets()["vllm"], base_url="http://127.0.0.1:1/v1")


async def test_free_models_of_openrouter_have_a_price_of_zero() -> None:
    free = [offer for offer in await priced_offers(presets()["openrouter"]) if offer.model_id.endswith(":free")]

    assert free
    assert {offer.metadata.price for offer in free} == {Price(0, 0)}


async def test_the_price_data_lists_models_that_can_be_selected_by_name() -> None:
    anthropic = {offer.name: offer for offer in await priced_offers(presets()["anthropic"])}
    gemini = await priced_offers(presets()["gemini"])

    known = anthropic["anthropic/claude-sonnet-4-5"]
    assert not known.is_listed
    assert known.metadata.context_window
    assert known.metadata.price
    assert known.metadata.tools
    assert all(offer.model_id.startswith("gemini-") and "embed" not in offer.model_id for offer in gemini)
    assert await priced_offers(presets()["azure"]) == []
    assert await priced_offers(presets()["fireworks"]) == []
    assert await priced_offers(presets()["nvidia"]) == []


@pytest.mark.parametrize(
    ("preset", "name", "images", "tools", "thinking"),
    [
        ("anthropic", "claude-opus-5", True, True, True),
        ("anthropic", "claude-3-5-haiku-latest", True, True, None),
        ("anthropic", "claude-2", None, None, None),
        ("bedrock", "us.anthropic.claude-3-7-sonnet-20250219-v1:0", True, True, True),
        ("openai", "gpt-4o", True, True, None),
        ("openai", "o3", True, True, True),
        ("openai", "o3-mini", False, None, True),
        ("groq", "openai/gpt-oss-120b", False, None, True),
        ("gemini", "gemini-2.0-flash", True, True, None),
        ("gemini", "gemini-flash-latest", None, None, True),
        ("zai", "glm-5.3", None, None, True),
        ("perplexity", "sonar-pro", None, False, None),
        ("mistral", "mistral-nemo", None, None, None),
    ],
)
def test_a_name_implies_only_what_holds_for_its_family(
    preset: str, name: str, images: bool | None, tools: bool | None, thinking: bool | None
) -> None:
    assert capabilities_by_name(presets()[preset], name) == ModelMetadata(images=images, tools=tools, thinking=thinking)


async def test_a_model_the_price_data_does_not_know_is_looked_up_on_its_services_list_once() -> None:
    with ListServer({"/v1/models": lists.MOONSHOT}) as server:
        service = service_at(endpoint_of(presets()["moonshot"], f"{server.url}/v1"))
        assert isinstance(service, MetadataSource)
        facts = PricedModelInfo(presets()["nvidia"], "kimi-k3", service)
        before = facts.now

        loaded = [await facts.load(), await facts.load()]
        await service.close()

    assert before == ModelInfo()
    assert loaded == [ModelInfo(1_048_576, images=True, thinking=True)] * 2
    assert server.asked == ["/v1/models"]


async def test_a_model_in_the_price_data_sends_no_request_and_a_failing_list_is_no_error() -> None:
    with ListServer({}, status=500) as server:
        service = service_at(endpoint_of(presets()["moonshot"], f"{server.url}/v1"))
        assert isinstance(service, MetadataSource)
        known = await PricedModelInfo(presets()["anthropic"], "claude-sonnet-4-5", service).load()
        asked = list(server.asked)
        unknown = await PricedModelInfo(presets()["anthropic"], "claude-of-tomorrow-99", service).load()
        await service.close()

    assert known.price
    assert asked == []
    assert unknown == ModelInfo()


@pytest.mark.parametrize(
    "names",
    [
        [
            "claude-opus-5-5",
            "claude-opus-5",
            "claude-haiku-4-5-20251001",
            "claude-sonnet-4-20250514",
            "claude-3-7-sonnet",
        ],
        ["gemini-flash-latest", "gemini-3.8-flash", "gemini-2.5-pro", "gemini-2.0-flash", "gemini-pro"],
        ["gpt-5.10", "gpt-5.6-terra", "gpt-5", "gpt-4.1-mini", "gpt-4-32k", "gpt-4o", "gpt-3.5-turbo"],
        ["qwen3:8b", "qwen2.5-coder:32b", "qwen:72b"],
        ["anthropic/claude-opus-5", "anthropic/claude-3-haiku", "z-ai/glm-5.3", "z-ai/glm-4.7"],
        ["llama-4-scout-17b-16e", "llama-3.3-70b", "llama-70b"],
    ],
)
def test_the_highest_version_of_a_family_comes_first(names: list[str]) -> None:
    shuffled = Random(4).sample(names, len(names))

    assert sorted(shuffled, key=newest_first) == names
