from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.judges import openai_chunk
from fakes.openai_wire import events
from fakes.script import Reply

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done, UsageReport
from harness.errors import (
    ContextWindowOverflow,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
    QuotaExhausted,
)
from harness.messages import Usage
from providers.endpoint import Endpoint
from providers.openai_chat.decode import ChatDecoder
from providers.preset import presets

ENDPOINT = Endpoint(presets()["openrouter"], "https://openrouter.ai/api/v1")


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(arguments: object = "", **fields: Any) -> dict[str, Any]:
    function = {"name": fields.pop("name")} if "name" in fields else {}
    return chunk(tool_calls=[{**fields, "function": {**function, "arguments": arguments}}])


def decoded(*sent: dict[str, Any]) -> list[Delta]:
    decoder = ChatDecoder(ENDPOINT)
    deltas = [delta for event in sent for delta in decoder.take(event)]
    assert decoder.is_complete
    return [*deltas, *decoder.finish()]


def calls_in(deltas: list[Delta]) -> list[tuple[str, str, str]]:
    return [
        (
            start.call_id,
            start.name,
            "".join(d.text for d in deltas if isinstance(d, BlockDelta) and d.index == start.index),
        )
        for start in deltas
        if isinstance(start, BlockStart) and start.kind == "tool_call"
    ]


def test_the_fake_server_sends_what_the_vendors_own_types_accept() -> None:
    reply = Reply("Hi", thinking="Hm", calls=[("bash", {"command": "ls"})], usage=Usage(5, 6, 7))

    sent = [event.removeprefix(b"data: ").strip() for event in events(reply, "m", 1)]

    assert sent.pop() == b"[DONE]"
    assert all(openai_chunk(json.loads(event)) for event in sent)


@pytest.mark.parametrize(
    "sent",
    [
        [
            call(index=0, id="a", name="bash"),
            call(index=1, id="b", name="grep"),
            call('{"x"', index=0),
            call("{}", index=1),
            call(":1}", index=0),
        ],
        [call('{"x":1}', index=0, id="a", name="bash"), call("{}", index=0, id="b", name="grep")],
        [call('{"x":1}', id="a", name="bash"), call("{}", id="b", name="grep")],
        [call('{"x"', id="a", name="bash"), call(":1}"), call("{", id="b", name="grep"), call("}")],
        [call('{"x"', id="a", name="bash"), call("{", id="b", name="grep"), call(":1}", id="a"), call("}", id="b")],
        [call({"x": 1}, index=0, id="a", name="bash"), call(None, index=1, id="b", name="grep"), call("{}", index=1)],
        [call('{"x"', index=0, id="a"), call(":1}", index=0, name="bash"), call("{}", index=1, id="b", name="grep")],
        [
            call('{"x":', index=0, id="a", name="bash"),
            call("1}", index=0, id="a", name="bash"),
            call("{}", index=1, id="b", name="grep"),
        ],
    ],
    ids=["by index", "all index 0", "whole", "by order", "by id", "as objects", "late name", "repeated head"],
)
def test_calls_are_put_together_however_a_server_numbers_them(sent: list[dict[str, Any]]) -> None:
    deltas = decoded(*sent, chunk("tool_calls"))

    written = [(call_id, name, json.loads(arguments)) for call_id, name, arguments in calls_in(deltas)]
    assert written == [("a", "bash", {"x": 1}), ("b", "grep", {})]
    assert deltas[-1] == Done("tool_use", Usage(), "c1")


def test_calls_without_ids_get_ids_of_their_own() -> None:
    deltas = decoded(call("{}", name="bash"), call("{}", name="bash"), chunk("stop"))

    ids = [call_id for call_id, _, _ in calls_in(deltas)]
    assert all(ids)
    assert len(set(ids)) == 2
    assert deltas[-1] == Done("tool_use", Usage(), "c1")


def test_the_old_form_of_a_call_is_read() -> None:
    deltas = decoded(
        chunk(function_call={"name": "bash", "arguments": "{"}),
        chunk(function_call={"arguments": "}"}),
        chunk("function_call"),
    )

    assert [(name, arguments) for _, name, arguments in calls_in(deltas)] == [("bash", "{}")]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_read_from_any_field_and_the_field_is_noted(field: str) -> None:
    deltas = decoded(
        chunk(**{field: "H"}),
        chunk(**{field: "m", "content": ""}),
        chunk(content="\n\n"),
        chunk(content="Hi"),
        chunk("stop"),
    )

    assert deltas[:-1] == [
        BlockStart(0, "thinking"),
        BlockDelta(0, "H"),
        BlockDelta(0, "m"),
        BlockEnd(0, json.dumps(field)),
        BlockStart(1, "text"),
        BlockDelta(1, "Hi"),
        BlockEnd(1),
    ]


def test_reasoning_details_are_shown_once_and_kept_whole() -> None:
    deltas = decoded(
        chunk(reasoning="H", reasoning_details=[{"type": "reasoning.text", "text": "H", "index": 0}]),
        chunk(reasoning="m", reasoning_details=[{"type": "reasoning.text", "text": "m", "index": 0}]),
        chunk(reasoning_details=[{"type": "reasoning.text", "signature": "sig", "index": 0}]),
        chunk(reasoning_details=[{"type": "reasoning.encrypted", "data": "zzz", "index": 1}]),
        chunk("stop"),
    )

    assert deltas[1:3] == [BlockDelta(0, "H"), BlockDelta(0, "m")]
    end = deltas[-2]
    assert isinstance(end, BlockEnd)
    assert json.loads(end.signature or "") == [
        {"type": "reasoning.text", "text": "Hm", "index": 0, "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "zzz", "index": 1},
    ]


def test_content_may_be_a_list_of_parts() -> None:
    deltas = decoded(chunk(content=[{"type": "text", "text": "Hi"}]), chunk("stop"))

    assert deltas[1] == BlockDelta(0, "Hi")


def test_thoughts_may_be_parts_of_the_content() -> None:
    def thought(text: str, **more: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}

    deltas = decoded(
        chunk(content=[thought("H")]),
        chunk(content=[thought("m", signature="s1"), {"type": "text", "text": "Hi"}]),
        chunk(content=" you"),
        chunk("stop"),
    )

    assert deltas[:-1] == [
        BlockStart(0, "thinking"),
        BlockDelta(0, "H"),
        BlockDelta(0, "m"),
        BlockEnd(0, '{"part": {"type": "thinking", "signature": "s1"}}'),
        BlockStart(1, "text"),
        BlockDelta(1, "Hi"),
        BlockDelta(1, " you"),
        BlockEnd(1),
    ]


@pytest.mark.parametrize(
    ("finish", "stop", "error"),
    [
        ("stop", "stop", None),
        ("length", "length", None),
        ("model_length", "length", None),
        ("tool_calls", "stop", None),
        ("content_filter", "error", "the service stopped the reply: content_filter"),
        ("tomorrow", "stop", None),
    ],
)
def test_each_finish_reason_has_a_meaning(finish: str, stop: str, error: str | None) -> None:
    assert decoded(chunk(finish)) == [Done(stop, Usage(), "c1", error)]


@pytest.mark.parametrize(
    ("finish", "error"),
    [
        ("model_context_window_exceeded", ContextWindowOverflow),
        ("insufficient_system_resource", ModelOverloaded),
        ("network_error", NetworkError),
    ],
)
def test_a_finish_reason_that_is_a_failure_is_raised(finish: str, error: type[ProviderError]) -> None:
    with pytest.raises(error):
        decoded(chunk(content="so far"), chunk(finish))


def test_a_refusal_is_an_error_with_the_reason() -> None:
    assert decoded(chunk(refusal="I "), chunk(refusal="won't"), chunk("stop"))[-1] == Done(
        "error", Usage(), "c1", "the model refused: I won't"
    )


def test_cached_tokens_are_not_counted_twice() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}

    deltas = decoded(chunk("stop"), {"id": "c1", "choices": [], "usage": usage}, {"choices": None, "usage": None})

    assert deltas == [Done("stop", Usage(40, 7, 60), "c1")]


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"error": {"message": "slow down", "code": 429}}, ModelThrottled),
        ({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, ModelThrottled),
        ({"error": {"message": "pay", "code": "insufficient_quota"}}, QuotaExhausted),
        ({"error": {"message": "Provider returned error", "code": "502"}, "choices": []}, NetworkError),
        ({"error": "the model runner has stopped"}, NetworkError),
        (
            {"object": "error", "message": "maximum context length is 4096 tokens", "code": 400},
            ContextWindowOverflow,
        ),
    ],
)
def test_an_error_within_a_good_answer_is_classified(event: dict[str, Any], error: type[ProviderError]) -> None:
    decoder = ChatDecoder(ENDPOINT)
    decoder.take(chunk(content="so far"))

    with pytest.raises(error):
        decoder.take(event)


def counted(output: int, **fields: Any) -> dict[str, Any]:
    return {**chunk(content="x"), "usage": {"prompt_tokens": 9, "completion_tokens": output}, **fields}


def test_usage_with_every_chunk_is_reported_at_intervals() -> None:
    deltas = decoded(*(counted(output) for output in range(1, 301)), chunk("stop"))

    reports = [delta.usage for delta in deltas if isinstance(delta, UsageReport)]
    assert reports == [Usage(9, 1), Usage(9, 101), Usage(9, 201)]
    assert isinstance(deltas[-1], Done)
    assert deltas[-1].usage == Usage(9, 300)


def test_usage_after_the_finish_reason_is_not_reported_twice() -> None:
    deltas = decoded(chunk(content="x"), chunk("stop"), counted(5, choices=[]))

    assert [type(delta) for delta in deltas] == [BlockStart, BlockDelta, BlockEnd, Done]
    assert isinstance(deltas[-1], Done)
    assert deltas[-1].usage == Usage(9, 5)
