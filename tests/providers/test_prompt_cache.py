from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from fakes.prompt_cache import PromptCache, blocks_of, last_mark
from fakes.targets import TARGETS
from msgspec.structs import replace

from harness.messages import AssistantMessage, ModelMessage, Text, ToolCall, ToolResult, user
from harness.ports.provider import NO_CACHE, CacheStrategy, Request, ToolSpec
from providers.openai_responses.encode import encode as encode_responses
from providers.preset import presets

MARKED = ("anthropic", "bedrock", "openrouter")
LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
HOUR = CacheStrategy(lifetime="1h")
MOST_MARKS = 4


def request_to(name: str, history: Sequence[ModelMessage] = (), cache: CacheStrategy | None = None) -> Request:
    asked = tuple(history) or (user("Go"), AssistantMessage((Text("Yes"),)), user("On"))
    return Request(TARGETS[name].spec, "Be brief.", asked, (LOOK,), session_id="s", cache=cache or CacheStrategy())


def lifetimes(name: str, cache: CacheStrategy) -> list[str]:
    """The marks of the tool, the system prompt and three messages."""
    target = TARGETS[name]
    return [block.lifetime for block in blocks_of(target.protocol, target.encode(request_to(name, cache=cache)))]


def turn(number: int, calls: int) -> list[ModelMessage]:
    """So many calls at once, and their results."""
    ids = [f"call_{number}_{each}" for each in range(calls)]
    asked = AssistantMessage((Text(f"Turn {number}"), *(ToolCall(each, "look", {"at": each}) for each in ids)))
    return [asked, *(ToolResult(each, "look", (Text(f"seen {each}"),)) for each in ids)]


@pytest.mark.parametrize("calls", [1, 12, 60])
@pytest.mark.parametrize("name", MARKED)
def test_each_request_finds_all_that_the_one_before_has_cached(name: str, calls: int) -> None:
    target, cache = TARGETS[name], PromptCache()
    history: list[ModelMessage] = [user("Go")]
    earlier = 0

    for number in range(8):
        blocks = blocks_of(target.protocol, target.encode(request_to(name, history)))

        assert cache.read(blocks) == earlier
        assert sum(bool(block.lifetime) for block in blocks) <= MOST_MARKS
        assert last_mark(blocks) == len(blocks)
        earlier = len(blocks)
        history += turn(number, calls)


@pytest.mark.parametrize("name", MARKED)
def test_a_repeated_turn_with_more_content_hits_the_cache(name: str) -> None:
    target, cache = TARGETS[name], PromptCache()
    history: list[ModelMessage] = [user("Go"), *turn(1, 30)]
    blocks = blocks_of(target.protocol, target.encode(request_to(name, history)))
    cache.read(blocks)

    again = blocks_of(target.protocol, target.encode(request_to(name, [*history, user("Be quick!")])))

    assert cache.read(again) == len(blocks)


@pytest.mark.parametrize(
    ("cache", "places"),
    [
        (CacheStrategy(), (True, True, True)),
        (NO_CACHE, (False, False, False)),
        (replace(NO_CACHE, tools=True), (True, False, False)),
        (replace(NO_CACHE, system=True), (False, True, False)),
        (replace(NO_CACHE, messages=True), (False, False, True)),
    ],
)
@pytest.mark.parametrize("name", MARKED)
def test_only_what_the_strategy_names_is_marked(name: str, cache: CacheStrategy, places: tuple[bool, ...]) -> None:
    tool, system, first, reply, last = map(bool, lifetimes(name, cache))

    # Chat Completions have no mark for tools.
    assert (tool, system, first, last) == (places[0] and name != "openrouter", places[1], places[2], places[2])
    assert not reply


@pytest.mark.parametrize("name", MARKED)
def test_all_cache_marks_last_an_hour_if_requested(name: str) -> None:
    marks = {lifetime for lifetime in lifetimes(name, HOUR) if lifetime}

    assert marks == {"1h"}
    if name != "openrouter":
        assert TARGETS[name].accepts(TARGETS[name].encode(request_to(name, cache=HOUR)))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("bedrock", "amazon.nova-pro-v1:0"),
        ("bedrock", "us.anthropic.claude-3-7-sonnet-20250219-v1:0"),
        ("openrouter", "qwen/qwen3-coder-plus"),
    ],
)
def test_models_without_one_hour_caching_get_no_one_hour_marks(name: str, model: str) -> None:
    asked = request_to(name, cache=HOUR)

    body = TARGETS[name].encode(replace(asked, spec=replace(asked.spec, model_id=model)))

    assert {block.lifetime for block in blocks_of(TARGETS[name].protocol, body)} == {"", "5m"}


@pytest.mark.parametrize("model", ["google/gemini-3.8-flash", "openai/gpt-5.6-terra", "qwen/qwen3-32b"])
def test_models_that_cache_by_themselves_get_no_marks(model: str) -> None:
    asked = request_to("openrouter")

    body = TARGETS["openrouter"].encode(replace(asked, spec=replace(asked.spec, model_id=model)))

    assert "cache_control" not in json.dumps(body)


@pytest.mark.parametrize("name", ["openai", "openai-chat", "moonshot", "mistral", "openrouter"])
def test_a_conversation_is_led_to_its_cache_unless_caching_is_off(name: str) -> None:
    key = presets()[name].cache.key

    kept, off = (TARGETS[name].encode(request_to(name, cache=cache)) for cache in (CacheStrategy(), NO_CACHE))

    assert (kept[key], key in off) == ("s", False)
    assert name == "openrouter" or TARGETS[name].accepts(kept)


@pytest.mark.parametrize(
    ("model", "cache", "fields"),
    [
        ("gpt-5.1-codex", HOUR, {"prompt_cache_retention": "24h"}),
        ("gpt-4.1", HOUR, {"prompt_cache_retention": "24h"}),
        ("gpt-5.1", CacheStrategy(), {}),
        ("gpt-5.6-terra", HOUR, {}),
        ("gpt-4o", HOUR, {}),
        ("gpt-5.6-terra", NO_CACHE, {"prompt_cache_options": {"mode": "explicit"}}),
        ("gpt-6.1-sol", NO_CACHE, {"prompt_cache_options": {"mode": "explicit"}}),
        ("gpt-5.5", NO_CACHE, {}),
    ],
)
@pytest.mark.parametrize("name", ["openai", "openai-chat"])
def test_openai_retention_is_sent_only_for_models_that_support_it(
    name: str, model: str, cache: CacheStrategy, fields: dict[str, object]
) -> None:
    asked = request_to(name, cache=cache)
    asked = replace(asked, spec=replace(asked.spec, model_id=model))

    own = encode_responses(asked, (), presets()["openai"].cache) if name == "openai" else TARGETS[name].encode(asked)

    said = {field: value for field, value in own.items() if field.startswith("prompt_cache_") and field[-4:] != "_key"}
    assert said == fields
    assert TARGETS[name].accepts(own)
