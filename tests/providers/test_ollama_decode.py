from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from fakes.ollama_wire import events
from fakes.script import Reply
from hypothesis import given
from hypothesis import strategies as st
from ollama import ChatResponse

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done
from harness.errors import ContextWindowOverflow, ModelOverloaded, NetworkError, ProviderError, RequestRejected
from harness.messages import Usage
from providers.endpoint import Endpoint
from providers.net.framing import LineDecoder
from providers.net.stream import decoded
from providers.ollama.decode import LineReplyDecoder
from providers.preset import Secret, presets

ENDPOINT = Endpoint(presets()["ollama"], "http://127.0.0.1:11434", Secret("sk-quoted", "a test"))
STREAM = (
    b'{"model":"qwen3","message":{"role":"assistant","content":"","thinking":"Sch\xc3\xb6n"},"done":false}\n'
    b'{"model":"qwen3","message":{"role":"assistant","content":"","thinking":" \xf0\x9f\x8c\x8d"},"done":false}\r\n'
    b"\n"
    b'{"model":"qwen3","message":{"role":"assistant","content":"\\n\\n"},"done":false}\n'
    b'{"model":"qwen3","message":{"role":"assistant","content":"L\xe2\x80\xa8s","images":null},"done":false}\n'
    b'{"model":"qwen3","message":{"role":"assistant","content":"","tool_calls":['
    b'{"id":"call_k2v8","function":{"index":0,"name":"bash","arguments":{"command":"ls \xc3\xbc"}}},'
    b'{"id":"call_9fj3","function":{"index":1,"name":"todo","arguments":{}}}]},"done":false}\n'
    b'{"model":"qwen3","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",'
    b'"total_duration":5,"prompt_eval_count":26,"eval_count":298}'
)


def line(done: str = "", **message: Any) -> dict[str, Any]:
    end = {"done_reason": done, "prompt_eval_count": 7, "eval_count": 3} if done else {}
    return {"model": "m", "message": {"role": "assistant", "content": "", **message}, "done": bool(done), **end}


def call(name: str, arguments: object, **fields: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **fields}


def taken(*lines: dict[str, Any]) -> list[Delta]:
    decoder = LineReplyDecoder(ENDPOINT)
    deltas = [delta for each in lines for delta in decoder.take(each)]
    assert decoder.is_complete
    return [*deltas, *decoder.finish()]


def read(chunks: list[bytes]) -> list[Delta]:
    framing, decoder = LineDecoder(), LineReplyDecoder(ENDPOINT)
    deltas = [delta for chunk in chunks for delta in decoded(decoder, framing.feed(chunk))]
    deltas += decoded(decoder, framing.finish())
    return [*deltas, *decoder.finish()]


def test_a_recorded_stream_is_read_whole() -> None:
    assert read([STREAM]) == [
        BlockStart(0, "thinking"),
        BlockDelta(0, "Schön"),
        BlockDelta(0, " 🌍"),
        BlockEnd(0),
        BlockStart(1, "text"),
        BlockDelta(1, "L\u2028s"),
        BlockEnd(1),
        BlockStart(2, "tool_call", "call_k2v8", "bash"),
        BlockDelta(2, '{"command": "ls ü"}'),
        BlockEnd(2),
        BlockStart(3, "tool_call", "call_9fj3", "todo"),
        BlockDelta(3, "{}"),
        BlockEnd(3),
        Done("tool_use", Usage(26, 298)),
    ]


@given(st.lists(st.integers(min_value=0, max_value=len(STREAM)), max_size=12))
def test_a_recorded_stream_of_lines_may_be_cut_at_any_byte(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]

    assert read([STREAM[start:end] for start, end in pairwise(edges)]) == read([STREAM])


def test_the_fake_server_sends_what_the_sdks_types_accept() -> None:
    reply = Reply("Hi", thinking="Hm", calls=[("bash", {"command": "ls"})])

    assert all(ChatResponse.model_validate_json(each) for each in events(reply, "m", 1))


@pytest.mark.parametrize("given", [{}, {"id": ""}, {"id": "call_1"}])
def test_calls_without_an_id_of_their_own_get_one(given: dict[str, str]) -> None:
    turns = [taken(line(tool_calls=[call("bash", {}, **given), call("bash", {}, **given)]), line("stop"))] * 2

    for deltas in turns:
        ids = [delta.call_id for delta in deltas if isinstance(delta, BlockStart)]
        assert all(ids)
        assert len(set(ids)) == 2


def test_ids_differ_between_replies() -> None:
    ids = {
        delta.call_id
        for _ in range(3)
        for delta in taken(line(tool_calls=[call("bash", {})]), line("stop"))
        if isinstance(delta, BlockStart)
    }

    assert len(ids) == 3


@pytest.mark.parametrize(
    ("arguments", "written"), [({"a": "ü"}, '{"a": "ü"}'), ('{"a": 1', '{"a": 1'), (None, "{}"), ("", "{}")]
)
def test_arguments_come_as_objects_and_are_handed_on_as_text(arguments: object, written: str) -> None:
    deltas = taken(line(tool_calls=[call("bash", arguments)]), line("stop"))

    assert deltas[1] == BlockDelta(0, written)


@pytest.mark.parametrize(
    ("reason", "stop", "error"),
    [
        ("stop", "stop", None),
        ("length", "length", None),
        ("load", "error", "the service stopped the reply: load"),
    ],
)
def test_each_done_reason_has_a_meaning(reason: str, stop: str, error: str | None) -> None:
    assert taken(line(reason)) == [Done(stop, Usage(7, 3), error=error)]


def test_the_end_event_may_have_more_fields_and_no_reason() -> None:
    end = {**line(content="Hi"), "done": True}

    assert taken(end)[-1] == Done("stop", Usage())
    assert BlockDelta(0, "Hi") in taken(end)


def test_a_stream_without_its_end_is_not_complete() -> None:
    decoder = LineReplyDecoder(ENDPOINT)

    decoder.take(line(content="Hi"))

    assert not decoder.is_complete


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("an error was encountered while running the model", NetworkError),
        ("the input length exceeds the context length", ContextWindowOverflow),
        ("the prompt is longer than the context length currently available to the model", ContextWindowOverflow),
        ("server overloaded, please try again", ModelOverloaded),
        ("model requires more system memory (18.4 GiB) than is available (7.1 GiB)", RequestRejected),
        ({"message": "upstream failed with sk-quoted"}, NetworkError),
    ],
)
def test_an_error_within_the_lines_is_classified(said: object, error: type[ProviderError]) -> None:
    decoder = LineReplyDecoder(ENDPOINT)
    decoder.take(line(content="so far"))

    with pytest.raises(error) as caught:
        decoder.take({"error": said})

    assert type(caught.value) is error
    assert "sk-quoted" not in str(caught.value)


@pytest.mark.parametrize("broken", ["{", "[1]", '{"message": 5}', '{"message": {"tool_calls": [7]}}'])
def test_lines_that_are_none_break_the_stream(broken: str) -> None:
    with pytest.raises(ProviderError, match="invalid"):
        list(decoded(LineReplyDecoder(ENDPOINT), [json.dumps(line(content="x")), broken]))
