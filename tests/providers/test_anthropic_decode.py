from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.anthropic_wire import events
from fakes.judges import anthropic_event
from fakes.script import Reply

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done, UsageReport
from harness.errors import AuthenticationFailed, ContextWindowOverflow, ModelOverloaded, ModelThrottled, ProviderError
from harness.messages import Citation, Usage
from providers.anthropic.decode import MessageDecoder
from providers.endpoint import Endpoint
from providers.preset import presets

ENDPOINT = Endpoint(presets()["anthropic"], "https://api.anthropic.com")
START = {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 9, "output_tokens": 1}}}
STOP = {"type": "message_stop"}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def ending(reason: str, **usage: int | None) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def decoded(*sent: dict[str, Any]) -> list[Delta]:
    decoder = MessageDecoder(ENDPOINT)
    deltas = [delta for event in sent for delta in decoder.take(event)]
    assert decoder.is_complete
    return [delta for delta in (*deltas, *decoder.finish()) if not isinstance(delta, UsageReport)]


def test_the_fake_server_sends_what_the_vendors_own_types_accept() -> None:
    reply = Reply("Hi", thinking="Hm", calls=[("bash", {"command": "ls"})], usage=Usage(5, 6, 7, 8))

    sent = [json.loads(event.split(b"data: ")[1]) for event in events(reply, "m", 1)]

    assert all(anthropic_event(event) for event in sent if event["type"] != "ping")


def test_usage_of_the_input_is_reported_at_the_start() -> None:
    decoder = MessageDecoder(ENDPOINT)

    assert decoder.take(START) == (UsageReport(Usage(9, 1)),)
    assert MessageDecoder(ENDPOINT).take({"type": "message_start", "message": {"id": "msg_1"}}) == ()


def test_thinking_keeps_its_signature_and_its_redacted_part() -> None:
    deltas = decoded(
        START,
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Hm"},
            {"type": "signature_delta", "signature": "si"},
            {"type": "signature_delta", "signature": "gn"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "zzz"}),
        ending("end_turn"),
        STOP,
    )

    assert deltas[:-1] == [
        BlockStart(0, "thinking"),
        BlockDelta(0, "Hm"),
        BlockEnd(0, "sign"),
        BlockStart(1, "thinking"),
        BlockEnd(1, redacted="zzz"),
    ]


def test_citations_may_come_with_the_start_of_a_block() -> None:
    cited = {"type": "web_search_result_location", "url": "https://a.example", "title": "A", "cited_text": "so"}

    deltas = decoded(START, *block(0, {"type": "text", "text": "It is so.", "citations": [cited]}), STOP)

    assert deltas[2] == BlockEnd(0, citations=(Citation("https://a.example", "A", "so"),))


def test_parallel_calls_may_interleave() -> None:
    first, second = ({"type": "tool_use", "id": name, "name": "bash", "input": {}} for name in "ab")

    deltas = decoded(
        START,
        {"type": "content_block_start", "index": 0, "content_block": first},
        {"type": "content_block_start", "index": 1, "content_block": second},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"x":1}'}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"y":2}'}},
        {"type": "content_block_stop", "index": 0},
        ending("tool_use"),
        STOP,
    )

    assert deltas[:2] == [BlockStart(0, "tool_call", "a", "bash"), BlockStart(1, "tool_call", "b", "bash")]
    assert deltas[2:] == [
        BlockDelta(1, '{"x":1}'),
        BlockDelta(0, '{"y":2}'),
        BlockEnd(0),
        BlockEnd(1),
        Done("tool_use", Usage(9, 1), "msg_1"),
    ]


def test_a_compatible_server_may_send_arguments_whole() -> None:
    deltas = decoded(START, *block(0, {"type": "tool_use", "id": "a", "name": "bash", "input": {"x": 1}}), STOP)

    assert deltas[1] == BlockDelta(0, '{"x": 1}')


def test_unknown_events_are_skipped() -> None:
    deltas = decoded(
        {"type": "ping"},
        START,
        {"type": "brand_new_event", "x": 1},
        *block(0, {"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {}}, {"type": "new_delta"}),
        *block(1, {"type": "text", "text": ""}, {"type": "citations_delta"}, {"type": "text_delta", "text": "Hi"}),
        STOP,
    )

    assert deltas[:-1] == [BlockStart(1, "text"), BlockDelta(1, "Hi"), BlockEnd(1)]


def test_later_counts_replace_earlier_ones_and_missing_ones_do_not() -> None:
    start = {"input_tokens": 9, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 1}

    deltas = decoded(
        {"type": "message_start", "message": {"id": "msg_1", "usage": start}},
        ending("end_turn", output_tokens=42, input_tokens=None, cache_read_input_tokens=6),
        STOP,
    )

    assert deltas == [Done("stop", Usage(9, 42, 6, 3), "msg_1")]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "pause"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_use"),
        ("a_reason_of_tomorrow", "stop"),
    ],
)
def test_each_stop_reason_has_a_meaning(reason: str, stop: str) -> None:
    assert decoded(START, ending(reason), STOP) == [Done(stop, Usage(9, 1), "msg_1")]


def test_a_refusal_is_an_error_with_the_reason() -> None:
    refusal = ending("refusal")
    refusal["delta"]["stop_details"] = {"type": "refusal", "explanation": "Not \x1b[31mthis"}

    (done,) = decoded(START, refusal, STOP)

    assert done == Done("error", Usage(9, 1), "msg_1", "the model refused: Not [31mthis")


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("overloaded_error", ModelOverloaded),
        ("rate_limit_error", ModelThrottled),
        ("authentication_error", AuthenticationFailed),
        ("invalid_request_error", ContextWindowOverflow),
        ("request_too_large", ContextWindowOverflow),
    ],
)
def test_an_error_in_the_middle_is_as_exact_as_one_at_the_start(kind: str, error: type[ProviderError]) -> None:
    decoder = MessageDecoder(ENDPOINT)

    with pytest.raises(error, match="prompt is too long"):
        decoder.take({"type": "error", "error": {"type": kind, "message": "prompt is too long: 210000 tokens"}})
