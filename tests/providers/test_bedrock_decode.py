from __future__ import annotations

import json
import struct
from itertools import pairwise
from zlib import crc32

import pytest
from fakes.bedrock_judge import read_frames, understood
from fakes.bedrock_wire import event, events, exception, frame
from fakes.script import Reply
from hypothesis import given
from hypothesis import strategies as st

from harness.agent.reply import ReplyBuilder
from harness.deltas import BlockStart, Delta, Done
from harness.errors import (
    AuthenticationFailed,
    ContextWindowOverflow,
    ModelNotFound,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
    RequestRejected,
    StreamError,
)
from harness.messages import AssistantMessage, ModelSpec, Text, Thinking, ToolCall, Usage
from providers.bedrock.decode import ConverseDecoder
from providers.bedrock.frames import FrameDecoder
from providers.endpoint import Endpoint
from providers.net.stream import decoded
from providers.preset import presets

ENDPOINT = Endpoint(presets()["bedrock"], "https://bedrock-runtime.eu-west-1.amazonaws.com")

RECORDED = b"".join(
    (
        event("messageStart", {"role": "assistant"}),
        event("contentBlockDelta", {"delta": {"reasoningContent": {"text": "Erst "}}, "contentBlockIndex": 0}),
        event("contentBlockDelta", {"delta": {"reasoningContent": {"text": "prüfen 🔍"}}, "contentBlockIndex": 0}),
        event("contentBlockDelta", {"delta": {"reasoningContent": {"signature": "EqQBCkYI"}}, "contentBlockIndex": 0}),
        event("contentBlockStop", {"contentBlockIndex": 0}),
        event(
            "contentBlockDelta", {"delta": {"reasoningContent": {"redactedContent": "ZW5j"}}, "contentBlockIndex": 1}
        ),
        event("contentBlockStop", {"contentBlockIndex": 1}),
        event("contentBlockDelta", {"delta": {"text": "Ich sehe "}, "contentBlockIndex": 2}),
        event("contentBlockDelta", {"delta": {"text": "nach."}, "contentBlockIndex": 2}),
        event("contentBlockStop", {"contentBlockIndex": 2}),
        event(
            "contentBlockStart",
            {"start": {"toolUse": {"toolUseId": "tooluse_kZJMlvQm", "name": "read_file"}}, "contentBlockIndex": 3},
        ),
        event("contentBlockDelta", {"delta": {"toolUse": {"input": ""}}, "contentBlockIndex": 3}),
        event("contentBlockDelta", {"delta": {"toolUse": {"input": '{"path": "a'}}, "contentBlockIndex": 3}),
        event("contentBlockDelta", {"delta": {"toolUse": {"input": '.py"}'}}, "contentBlockIndex": 3}),
        event("contentBlockStop", {"contentBlockIndex": 3}),
        event(
            "contentBlockStart",
            {"start": {"toolUse": {"toolUseId": "tooluse_Xy12", "name": "todo"}}, "contentBlockIndex": 4},
        ),
        event("contentBlockStop", {"contentBlockIndex": 4}),
        event("messageStop", {"stopReason": "tool_use"}),
        event(
            "metadata",
            {
                "usage": {
                    "inputTokens": 30,
                    "outputTokens": 12,
                    "totalTokens": 1142,
                    "cacheReadInputTokens": 1000,
                    "cacheWriteInputTokens": 100,
                },
                "metrics": {"latencyMs": 1275},
            },
        ),
    )
)


def deltas_of(body: bytes, cuts: list[int] | None = None) -> list[Delta]:
    frames, decoder = FrameDecoder(), ConverseDecoder(ENDPOINT)
    edges = [0, *sorted(cut % (len(body) + 1) for cut in cuts or ()), len(body)]
    deltas = [delta for start, end in pairwise(edges) for delta in decoded(decoder, frames.feed(body[start:end]))]
    assert decoder.is_complete
    return [*deltas, *decoder.finish()]


def built(deltas: list[Delta]) -> AssistantMessage:
    builder = ReplyBuilder(ModelSpec("bedrock", "m"))
    for delta in deltas:
        builder.take(delta)
    return builder.finish()


def ended(stop: str) -> Done:
    last = deltas_of(event("messageStop", {"stopReason": stop}))[-1]
    assert isinstance(last, Done)
    return last


@given(st.lists(st.integers(min_value=0), max_size=12))
def test_a_reply_is_the_same_wherever_its_bytes_are_cut(cuts: list[int]) -> None:
    message = built(deltas_of(RECORDED, cuts))

    assert message.content == (
        Thinking("Erst prüfen 🔍", signature="EqQBCkYI"),
        Thinking("", redacted="ZW5j"),
        Text("Ich sehe nach."),
        ToolCall("tooluse_kZJMlvQm", "read_file", {"path": "a.py"}),
        ToolCall("tooluse_Xy12", "todo", {}),
    )
    assert message.stop_reason == "tool_use"
    assert message.usage == Usage(input=30, output=12, cache_read=1000, cache_write=100)


def test_frames_are_read_as_the_vendors_own_library_reads_them() -> None:
    ours = [json.loads(text) for text in FrameDecoder().feed(RECORDED)]

    assert ours == [{kind: data} for kind, data in read_frames(RECORDED)]


def test_the_fake_server_sends_what_the_service_is_known_to_send() -> None:
    reply = Reply("Hi", thinking="Hm", calls=[("bash", {"command": "ls"})], usage=Usage(5, 6, 7))
    body = b"".join(events(reply, "m", 1))

    kinds = {kind for kind, _ in read_frames(body)}

    assert [next(iter(known)) for known in understood(body)] == [kind for kind, _ in read_frames(body)]
    assert all(any(known.values()) for known in understood(body))
    assert kinds >= {"messageStart", "contentBlockStart", "contentBlockDelta", "messageStop", "metadata"}


@pytest.mark.parametrize("place", [0, 5, 9, 20, 60, len(RECORDED) // 2, -1])
def test_a_damaged_byte_is_noticed(place: int) -> None:
    damaged = bytearray(RECORDED)
    damaged[place] ^= 0x40

    with pytest.raises(StreamError):
        FrameDecoder().feed(bytes(damaged))


def test_values_of_other_types_in_headers_are_passed_over() -> None:
    plain = frame(b"{}", event_type="messageStart")
    extra = b"\x01a\x00\x01b\x01\x01c\x02\x07\x01d\x03\x00\x01\x01e\x04" + bytes(4) + b"\x01f\x05" + bytes(8)
    extra += b"\x01g\x06\x00\x02hi\x01i\x08" + bytes(8) + b"\x01j\x09" + bytes(16)

    sent = reframed(plain, extra)

    assert FrameDecoder().feed(sent) == ['{"messageStart":{}}']
    assert read_frames(sent) == [("messageStart", {})]


def reframed(sent: bytes, extra_headers: bytes) -> bytes:
    head_length = int.from_bytes(sent[4:8]) + len(extra_headers)
    prelude = struct.pack("!II", len(sent) + len(extra_headers), head_length)
    body = prelude + struct.pack("!I", crc32(prelude)) + extra_headers + sent[12:-4]
    return body + struct.pack("!I", crc32(body))


def test_headers_that_end_nowhere_break_the_stream() -> None:
    with pytest.raises(StreamError, match="invalid headers"):
        FrameDecoder().feed(reframed(frame(b"{}", event_type="x"), b"\x01a\x63"))


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("something_new", "stop"),
    ],
)
def test_every_stop_reason_has_its_meaning(stop: str, reason: str) -> None:
    assert (ended(stop).stop_reason, ended(stop).error) == (reason, None)


@pytest.mark.parametrize(
    ("stop", "reported"),
    [
        ("guardrail_intervened", "guardrail"),
        ("content_filtered", "content filter"),
        ("malformed_model_output", "could not parse"),
        ("malformed_tool_use", "tool call"),
    ],
)
def test_a_stopped_reply_gives_the_reason(stop: str, reported: str) -> None:
    assert ended(stop).stop_reason == "error"
    assert reported in (ended(stop).error or "")


@pytest.mark.parametrize(
    ("kind", "message", "error"),
    [
        ("throttlingException", "Too many tokens, please wait before trying again.", ModelThrottled),
        ("serviceUnavailableException", "Bedrock is unable to process your request.", ModelOverloaded),
        ("internalServerException", "The system encountered an unexpected error.", NetworkError),
        ("modelStreamErrorException", "Retry your request.", NetworkError),
        ("modelTimeoutException", "Took too long.", NetworkError),
        ("somethingNewException", "?", NetworkError),
        ("validationException", "The text field is blank.", RequestRejected),
        ("validationException", "Input is too long for requested model.", ContextWindowOverflow),
        ("validationException", "Number of input tokens exceeds maximum length.", ContextWindowOverflow),
        ("validationException", "The provided model identifier is invalid.", ModelNotFound),
        ("accessDeniedException", "You don't have access to the model.", AuthenticationFailed),
    ],
)
def test_an_exception_inside_the_stream_has_its_own_error(kind: str, message: str, error: type[ProviderError]) -> None:
    with pytest.raises(error) as caught:
        deltas_of(event("messageStart", {"role": "assistant"}) + exception(kind, message))

    assert type(caught.value) is error
    assert message in str(caught.value)


def test_an_error_that_is_reported_in_headers_is_one() -> None:
    sent = frame(b"", message_type="error", error_code="InternalFailure", error_message="It broke.")

    with pytest.raises(NetworkError, match=r"It broke\."):
        deltas_of(sent)


def test_without_the_counts_at_its_end_a_reply_is_complete() -> None:
    frames, decoder = FrameDecoder(), ConverseDecoder(ENDPOINT)

    said = [*decoded(decoder, frames.feed(event("messageStop", {"stopReason": "end_turn"})))]

    assert (said, decoder.is_complete, decoder.is_over) == ([], True, False)
    assert decoder.finish() == (Done("stop"),)


def test_half_a_frame_is_no_event() -> None:
    frames = FrameDecoder()

    assert frames.feed(event("messageStop", {"stopReason": "end_turn"})[:-1]) == []
    assert frames.finish() == []


def test_a_block_that_changes_its_kind_is_two_and_an_unknown_one_is_none() -> None:
    sent = b"".join(
        (
            event("contentBlockDelta", {"delta": {"reasoningContent": {"text": "Hm"}}, "contentBlockIndex": 0}),
            event("contentBlockDelta", {"delta": {"text": "Yes"}, "contentBlockIndex": 0}),
            event("contentBlockStart", {"start": {"image": {"format": "png"}}, "contentBlockIndex": 1}),
            event("contentBlockDelta", {"delta": {"image": {}}, "contentBlockIndex": 1}),
            event("contentBlockDelta", {"delta": {"toolResult": [{"text": "t"}]}, "contentBlockIndex": 0}),
            event("contentBlockStop", {"contentBlockIndex": 1}),
            event("messageStop", {"stopReason": "end_turn"}),
        )
    )

    assert built(deltas_of(sent)).content == (Thinking("Hm"), Text("Yes"))


def test_calls_without_ids_get_ids_of_their_own() -> None:
    start = {"toolUse": {"name": "look"}}
    sent = b"".join(event("contentBlockStart", {"start": start, "contentBlockIndex": place}) for place in (0, 1))

    ids = [
        d.call_id
        for d in deltas_of(sent + event("messageStop", {"stopReason": "tool_use"}))
        if isinstance(d, BlockStart)
    ]

    assert all(ids)
    assert len(set(ids)) == 2
