from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from fakes.gemini_wire import events
from fakes.judges import gemini_event
from fakes.script import Reply
from hypothesis import given
from hypothesis import strategies as st

from harness.agent.reply import ReplyBuilder
from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done, UsageReport
from harness.errors import (
    AuthenticationFailed,
    ContextWindowOverflow,
    InvalidReply,
    ModelNotFound,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
    QuotaExhausted,
    StreamError,
)
from harness.messages import ModelSpec, Text, Thinking, ToolCall, Usage
from providers.endpoint import Endpoint
from providers.gemini.decode import ContentDecoder
from providers.net.framing import EventDecoder
from providers.net.stream import decoded as decoded_events
from providers.preset import presets

ENDPOINT = Endpoint(presets()["gemini"], "https://generativelanguage.googleapis.com")
COUNTS = {"promptTokenCount": 9, "candidatesTokenCount": 4}

# A reply of a Gemini 3 model as it is sent: thoughts in pieces, text, two calls of which the first is signed.
RECORDED = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "**Looking**\\n\\nFirst the ","thought": true}],'
    b'"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 1021,"totalTokenCount": 1057,'
    b'"cachedContentTokenCount": 800,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 1021}],'
    b'"thoughtsTokenCount": 36},"modelVersion": "gemini-3.8-flash","responseId": "x0-aabb"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "files.\\n\\n","thought": true}],"role": "model"},'
    b'"index": 0}],"usageMetadata": {"promptTokenCount": 1021,"totalTokenCount": 1080,"thoughtsTokenCount": 59},'
    b'"modelVersion": "gemini-3.8-flash","responseId": "x0-aabb"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "Ich sehe nach \xf0\x9f\x91\x80."}],"role": "model"},'
    b'"index": 0}],"modelVersion": "gemini-3.8-flash","responseId": "x0-aabb"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "read_file","args": {"path": "a.py",'
    b'"limit": 20},"id": "h1k2"},"thoughtSignature": "EjQKMgG+Pvb/wA=="},{"functionCall": {"name": "list",'
    b'"args": {}}}],"role": "model"},"index": 0}],"modelVersion": "gemini-3.8-flash","responseId": "x0-aabb"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": ""}],"role": "model"},"finishReason": "STOP",'
    b'"index": 0}],"usageMetadata": {"promptTokenCount": 1021,"candidatesTokenCount": 41,"totalTokenCount": 1121,'
    b'"cachedContentTokenCount": 800,"thoughtsTokenCount": 59},"modelVersion": "gemini-3.8-flash",'
    b'"responseId": "x0-aabb"}\r\n\r\n'
)


def chunk(*parts: dict[str, Any], finish: str = "", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [*parts], "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": COUNTS, "responseId": "r1", **more}


def call(name: str, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"x": 1}, **fields}}


def decoded(*sent: Any) -> list[Delta]:
    decoder = ContentDecoder(ENDPOINT)
    deltas = [delta for event in sent for delta in decoder.take(event)]
    assert decoder.is_complete
    return [delta for delta in (*deltas, *decoder.finish()) if not isinstance(delta, UsageReport)]


def built(deltas: list[Delta]) -> ReplyBuilder:
    builder = ReplyBuilder(ModelSpec("gemini", "m"))
    for delta in deltas:
        builder.take(delta)
    return builder


def test_the_fake_server_sends_what_the_vendors_own_types_accept() -> None:
    reply = Reply("Hi", thinking="Hm", calls=[("bash", {"command": "ls"})], usage=Usage(5, 6, 7))

    sent = [json.loads(event.removeprefix(b"data: ")) for event in events(reply, "m", 1)]

    assert all(gemini_event(event) for event in sent)


@given(st.lists(st.integers(min_value=0), max_size=12))
def test_a_recorded_reply_is_the_same_wherever_its_bytes_are_cut(cuts: list[int]) -> None:
    reader, decoder = EventDecoder(), ContentDecoder(ENDPOINT)
    edges = [0, *sorted(cut % (len(RECORDED) + 1) for cut in cuts), len(RECORDED)]

    deltas = [d for start, end in pairwise(edges) for d in decoded_events(decoder, reader.feed(RECORDED[start:end]))]
    message = built([*deltas, *decoder.finish()]).finish()

    *said, unnamed = message.content
    assert said == [
        Thinking("**Looking**\n\nFirst the files.\n\n"),
        Text("Ich sehe nach 👀."),
        ToolCall("h1k2", "read_file", {"path": "a.py", "limit": 20}, signature="EjQKMgG+Pvb/wA=="),
    ]
    assert isinstance(unnamed, ToolCall)
    assert (unnamed.name, unnamed.arguments, bool(unnamed.id)) == ("list", {}, True)
    assert (message.stop_reason, message.response_id) == ("tool_use", "x0-aabb")
    assert message.usage == Usage(input=221, output=100, cache_read=800)


def test_usage_is_reported_before_the_end() -> None:
    decoder = ContentDecoder(ENDPOINT)

    deltas = list(decoded_events(decoder, EventDecoder().feed(RECORDED)))

    assert [delta for delta in deltas if isinstance(delta, UsageReport)] == [UsageReport(Usage(221, 36, 800))]


def test_the_recorded_events_are_what_the_vendors_own_types_accept() -> None:
    assert all(gemini_event(json.loads(event)) for event in EventDecoder().feed(RECORDED))


def test_calls_without_ids_get_ids_of_their_own() -> None:
    deltas = decoded(chunk(call("a"), call("a")), chunk(call("b"), finish="STOP"))

    ids = [delta.call_id for delta in deltas if isinstance(delta, BlockStart)]
    assert all(ids)
    assert len(set(ids)) == 3


def test_a_signature_ends_the_block_it_came_with() -> None:
    deltas = decoded(
        chunk({"text": "Hm", "thought": True, "thoughtSignature": "s1"}),
        chunk({"text": "one "}),
        chunk({"text": "two", "thoughtSignature": "s2"}),
        chunk({"text": "three"}),
        chunk({"text": "", "thoughtSignature": "s3"}, finish="STOP"),
    )

    assert built(deltas).finish().content == (Thinking("Hm", "s1"), Text("one two", "s2"), Text("three", "s3"))


def test_a_signature_without_text_is_kept_in_its_place() -> None:
    signed = {**call("a", id="1"), "thoughtSignature": "s1"}

    deltas = decoded(chunk(signed), chunk({"thoughtSignature": "s2"}, finish="STOP"))

    assert built(deltas).finish().content == (ToolCall("1", "a", {"x": 1}, signature="s1"), Text("", "s2"))


def test_deltas_are_in_order_and_every_block_ends() -> None:
    deltas = decoded(
        chunk({"text": "Hm", "thought": True}), chunk({"text": "Hi"}, call("a", id="1")), chunk(finish="STOP")
    )

    assert deltas == [
        *(BlockStart(0, "thinking"), BlockDelta(0, "Hm"), BlockEnd(0)),
        *(BlockStart(1, "text"), BlockDelta(1, "Hi"), BlockEnd(1)),
        *(BlockStart(2, "tool_call", "1", "a"), BlockDelta(2, '{"x": 1}'), BlockEnd(2)),
        Done("tool_use", Usage(9, 4), "r1"),
    ]


def test_unrequested_events_are_skipped() -> None:
    deltas = decoded(
        {"responseId": "r1"},
        {"candidates": [{"index": 0}], "modelVersion": "m"},
        {"candidates": [{"content": {"role": "model"}, "index": 0}]},
        chunk({"executableCode": {"code": "1"}}, {"videoMetadata": {"fps": 1}}, {"text": "Hi"}),
        {"candidates": [], "usageMetadata": {}},
        chunk({"inlineData": {"mimeType": "image/png", "data": ""}}, finish="STOP", createTime="2026-11-21T00:00:00Z"),
    )

    assert deltas == [BlockStart(0, "text"), BlockDelta(0, "Hi"), BlockEnd(0), Done("stop", Usage(9, 4), "r1")]


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 3}, Usage(9, 7)),
        ({"promptTokenCount": 9, "cachedContentTokenCount": 5, "toolUsePromptTokenCount": 2}, Usage(6, 0, 5)),
        ({"promptTokenCount": None, "candidatesTokenCount": 4}, Usage(0, 4)),
        ({"promptTokenCount": 5, "cachedContentTokenCount": 9}, Usage(0, 0, 9)),
    ],
)
def test_thinking_counts_as_output_and_cached_tokens_not_as_input(counts: dict[str, int | None], usage: Usage) -> None:
    assert decoded(chunk(finish="STOP", usageMetadata=counts)) == [Done("stop", usage, "r1")]


def test_usage_after_the_last_text_is_counted() -> None:
    last = chunk({"text": "Hi"}, finish="STOP", usageMetadata=None)

    deltas = decoded(last, {"usageMetadata": COUNTS, "responseId": "r1"})

    assert deltas[-1] == Done("stop", Usage(9, 4), "r1")


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("STOP", "stop"), ("MAX_TOKENS", "length"), ("CONTINUATION", "length")],
)
def test_each_reason_to_stop_has_a_meaning(reason: str, stop: str) -> None:
    assert decoded(chunk(finish=reason)) == [Done(stop, Usage(9, 4), "r1")]


@pytest.mark.parametrize(
    ("reason", "reported"),
    [
        ("SAFETY", "the service stopped the reply: the reply may be unsafe (SAFETY)"),
        (
            "RECITATION",
            "the service stopped the reply: it repeated training data, which may be copyrighted (RECITATION)",
        ),
        ("PROHIBITED_CONTENT", "the service stopped the reply: the content is prohibited (PROHIBITED_CONTENT)"),
        ("A_REASON_OF_TOMORROW", "the service stopped the reply: A_REASON_OF_TOMORROW"),
    ],
)
def test_a_stopped_reply_gives_the_reason_and_runs_no_call(reason: str, reported: str) -> None:
    deltas = decoded(chunk({"text": "So"}, call("a")), chunk(finish=reason))

    message = built(deltas).finish()
    assert message.stop_reason == "error"
    assert reported in (message.error or "")
    assert message.content == (Text("So"),)


def test_the_message_of_the_service_comes_before_ours() -> None:
    event = chunk(finish="SAFETY")
    event["candidates"][0]["finishMessage"] = "Not this: print(\x1b[31mx"

    assert decoded(event)[-1].error == "the service stopped the reply: Not this: print( [31mx (SAFETY)"


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"])
def test_a_malformed_reply_is_retried(reason: str) -> None:
    with pytest.raises(InvalidReply, match=f"the model .*{reason}") as caught:
        decoded(chunk({"text": "So"}), chunk(finish=reason))

    assert caught.value.retryable


@pytest.mark.parametrize(
    ("feedback", "reported"),
    [
        ({"blockReason": "SAFETY"}, "the service refused the prompt: the reply may be unsafe (SAFETY)"),
        ({"blockReason": "OTHER", "blockReasonMessage": "no"}, "the service refused the prompt: no (OTHER)"),
    ],
)
def test_a_blocked_prompt_is_an_error_with_the_reason(feedback: dict[str, str], reported: str) -> None:
    assert decoded({"promptFeedback": feedback, "usageMetadata": COUNTS}) == [Done("error", Usage(9, 4), "", reported)]


def test_feedback_that_blocks_nothing_is_no_end() -> None:
    decoder = ContentDecoder(ENDPOINT)

    decoder.take({"promptFeedback": {"safetyRatings": []}, "usageMetadata": COUNTS})

    assert not decoder.is_complete


@pytest.mark.parametrize("reason", ["", "FINISH_REASON_UNSPECIFIED"])
def test_without_a_reason_to_stop_a_reply_is_not_complete(reason: str) -> None:
    decoder = ContentDecoder(ENDPOINT)

    decoder.take(chunk({"text": "Hi"}, call("a"), finish=reason))

    assert not decoder.is_complete
    assert not decoder.is_over


@pytest.mark.parametrize("event", ["[]", "[1]", "{}", '{"kind": "x"}', '{"candidates": {"a": 1}}', '"x"', "null"])
def test_an_invalid_event_breaks_the_stream(event: str) -> None:
    with pytest.raises(StreamError, match="invalid"):
        assert list(decoded_events(ContentDecoder(ENDPOINT), [event]))


def test_an_error_of_a_single_word_is_retryable() -> None:
    with pytest.raises(NetworkError, match="the gateway is tired"):
        decoded({"error": "the gateway is tired"})


PER_MINUTE = [
    {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "quotaValue": "10"}],
    },
    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "26.5s"},
]
PER_DAY = [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}, {"retryDelay": "40s"}]
QUOTA = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("code", "status", "message", "kind"),
    [
        (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", ModelOverloaded),
        (500, "INTERNAL", "An internal error has occurred.", NetworkError),
        (504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.", NetworkError),
        (429, "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later.", ModelThrottled),
        (429, "RESOURCE_EXHAUSTED", QUOTA, QuotaExhausted),
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", AuthenticationFailed),
        (400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", AuthenticationFailed),
        (403, "PERMISSION_DENIED", "Permission 'aiplatform.endpoints.predict' denied", AuthenticationFailed),
        (404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta", ModelNotFound),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1400000) exceeds the maximum number of tokens allowed (1048576).",
            ContextWindowOverflow,
        ),
    ],
)
@pytest.mark.parametrize("form", ["plain", "listed", "without code"])
def test_an_error_in_a_stream_is_as_exact_as_one_at_the_start(
    form: str, code: int, status: str, message: str, kind: type[ProviderError]
) -> None:
    error: dict[str, Any] = {"code": code, "message": message, "status": status}
    if form == "without code":
        del error["code"]

    with pytest.raises(kind) as caught:
        decoded([{"error": error}] if form == "listed" else {"error": error})

    assert type(caught.value) is kind
    assert message.split(".")[0] in str(caught.value)


@pytest.mark.parametrize(
    ("details", "kind", "wait"), [(PER_MINUTE, ModelThrottled, 26.5), (PER_DAY, QuotaExhausted, None)]
)
def test_a_limit_of_a_minute_is_waited_for_and_one_of_a_day_is_not(
    details: list[Any], kind: type[ProviderError], wait: float | None
) -> None:
    with pytest.raises(kind) as caught:
        decoded({"error": {"code": 429, "message": QUOTA, "status": "RESOURCE_EXHAUSTED", "details": details}})

    assert type(caught.value) is kind
    assert caught.value.retry_after == wait
