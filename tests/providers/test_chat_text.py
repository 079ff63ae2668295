from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agent.reply import ReplyBuilder
from harness.deltas import Delta, Done
from harness.errors import AuthenticationFailed, ModelThrottled, ProviderError, QuotaExhausted
from harness.messages import AssistantMessage, ModelSpec, Text, Thinking, ToolCall, Usage
from harness.ports.provider import ToolSpec
from providers.endpoint import Endpoint
from providers.openai_chat.decode import ChatDecoder
from providers.preset import presets

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
THOUGHT = "<think>\nIs it <b>?\n</think>\n\nIt is."
CALLING = 'I look.\n<tool_call>\n{"name": "look", "arguments": {"at": "here"}}\n</tool_call>'


def decoder_at(name: str, base_url: str = "") -> ChatDecoder:
    preset = presets()[name]
    return ChatDecoder(Endpoint(preset, base_url or preset.base_url), (LOOK,))


def chunk(delta: dict[str, Any], finish: str | None = None) -> Any:
    return {"id": "r1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def message_of(decoder: ChatDecoder, pieces: list[str]) -> AssistantMessage:
    builder = ReplyBuilder(ModelSpec("x", "y"))
    deltas: list[Delta] = []
    for piece in pieces:
        deltas += decoder.take(chunk({"content": piece}))
    deltas += decoder.take(chunk({}, "stop"))
    for delta in [*deltas, *decoder.finish()]:
        builder.take(delta)
    return builder.finish()


def cut(text: str, places: set[int]) -> list[str]:
    bounds = [0, *sorted(place % len(text) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(bounds) if start < end]


@given(places=st.sets(st.integers(0, 99), max_size=20))
def test_thinking_in_the_text_is_recognized_wherever_it_is_cut(places: set[int]) -> None:
    message = message_of(decoder_at("llamacpp"), cut(THOUGHT, places))

    assert [type(block) for block in message.content] == [Thinking, Text]
    assert (message.text, message.stop_reason) == ("It is.", "stop")


@given(places=st.sets(st.integers(0, 99), max_size=20))
def test_a_call_in_the_text_of_a_model_on_this_machine_is_a_call(places: set[int]) -> None:
    message = message_of(decoder_at("vllm"), cut(CALLING, places))

    assert message.text == "I look."
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("look", {"at": "here"})]
    assert message.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("name", "base_url", "parts"),
    [
        ("perplexity", "", 2),
        ("minimax", "", 2),
        ("sambanova", "", 2),
        ("lmstudio", "", 2),
        ("openai-chat", "http://box:8000/v1", 2),
        ("openai-chat", "", 1),
        ("deepseek", "", 1),
        ("openrouter", "", 1),
    ],
)
def test_thinking_in_text_is_parsed_only_for_models_that_write_it(name: str, base_url: str, parts: int) -> None:
    message = message_of(decoder_at(name, base_url), [THOUGHT])

    assert len(message.content) == parts


@pytest.mark.parametrize(("name", "base_url"), [("minimax", ""), ("openai-chat", "http://box/v1"), ("groq", "")])
def test_a_service_away_from_this_machine_makes_calls_in_its_own_form_only(name: str, base_url: str) -> None:
    message = message_of(decoder_at(name, base_url), [CALLING])

    assert message.tool_calls == ()
    assert "<tool_call>" in message.text


def test_withheld_text_precedes_the_next_call() -> None:
    decoder = decoder_at("vllm")
    call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}

    deltas = [
        *decoder.take(chunk({"content": "Is 1 <"})),
        *decoder.take(chunk({"tool_calls": [call]}, "tool_calls")),
        *decoder.finish(),
    ]

    builder = ReplyBuilder(ModelSpec("x", "y"))
    for delta in deltas:
        builder.take(delta)
    assert builder.finish().content == (Text("Is 1 <"), ToolCall("c1", "look", {}))


COUNTS = {"prompt_tokens": 9, "completion_tokens": 4, "cached_tokens": 5}


@pytest.mark.parametrize("event", [{"choices": [], "usage": COUNTS}, {"choices": [{"delta": {}, "usage": COUNTS}]}])
def test_cache_reads_of_moonshot_are_counted_wherever_they_are_reported(event: Any) -> None:
    decoder = decoder_at("moonshot")
    decoder.take(chunk({"content": "Hi"}, "stop"))

    decoder.take(event)

    assert decoder.finish()[-1] == Done("stop", Usage(4, 4, 5), "r1")


@pytest.mark.parametrize(
    ("code", "kind"), [(1002, ModelThrottled), (1004, AuthenticationFailed), (1008, QuotaExhausted)]
)
def test_minimax_errors_with_status_200_are_recognized(code: int, kind: type[ProviderError]) -> None:
    refusal = {"base_resp": {"status_code": code, "status_msg": "not now"}, "choices": None}

    with pytest.raises(kind, match="not now"):
        decoder_at("minimax").take(json.loads(json.dumps(refusal)))


def test_minimax_status_zero_is_no_error() -> None:
    fine: Any = {**chunk({"content": "Hi"}, "stop"), "base_resp": {"status_code": 0, "status_msg": ""}}

    assert decoder_at("minimax").take(fine)
