from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.asking import Asker, ModelAt, Serve
from fakes.judges import responses_event
from fakes.model_server import Failure, ModelServer
from fakes.responses_wire import events
from fakes.runs import results_of
from fakes.script import Reply
from fakes.simple_tools import SimpleTool

from harness.agent.agent import Agent
from harness.agent.reply import ReplyBuilder
from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done
from harness.errors import ContextWindowOverflow, ModelThrottled, NetworkError, ProviderError, QuotaExhausted
from harness.messages import Usage
from providers import connect
from providers.endpoint import Endpoint
from providers.openai_responses.decode import ResponseDecoder
from providers.preset import presets

ENDPOINT = Endpoint(presets()["openai"], "https://api.openai.com/v1")
COMPLETED = {"type": "response.completed", "response": {"id": "r", "usage": None}}


def decoded(*sent: dict[str, Any]) -> list[Delta]:
    decoder = ResponseDecoder(ENDPOINT)
    deltas = [delta for event in sent for delta in decoder.take(event)]
    assert decoder.is_complete
    return [*deltas, *decoder.finish()]


def item(kind: str, index: int, of: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": {"type": of, **fields}}


def test_the_fake_server_sends_what_the_vendors_own_types_accept() -> None:
    reply = Reply("Hi", thinking="Hm", calls=[("bash", {"command": "ls"})], usage=Usage(5, 6, 7))

    sent = [event.partition(b"data: ")[2].strip() for event in events(reply, "m", 1)]

    assert all(responses_event(json.loads(event)) for event in sent)


def test_items_are_in_the_order_of_the_output_whoever_ends_first() -> None:
    deltas = decoded(
        item("added", 0, "function_call", call_id="a", name="one", arguments=""),
        item("added", 1, "function_call", call_id="b", name="two", arguments=""),
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{}"},
        item("done", 1, "function_call", call_id="b", name="two", arguments="{}"),
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"x": 1}'},
        item("done", 0, "function_call", call_id="a", name="one", arguments='{"x": 1}'),
        COMPLETED,
    )

    builder = ReplyBuilder(connect("demo").spec)
    for delta in deltas:
        builder.take(delta)
    assert [(call.id, call.name, call.arguments) for call in builder.finish().tool_calls] == [
        ("a", "one", {"x": 1}),
        ("b", "two", {}),
    ]


def test_an_item_that_comes_whole_is_taken_whole() -> None:
    text = [{"type": "output_text", "text": "all at once", "annotations": []}]

    deltas = decoded(item("done", 0, "message", content=text), COMPLETED)

    assert deltas[:3] == [BlockStart(0, "text"), BlockDelta(0, "all at once"), BlockEnd(0)]


def test_a_thought_keeps_what_the_model_needs_to_read_it_again() -> None:
    summary = [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}]
    part = {"type": "response.reasoning_summary_part.added", "output_index": 0, "part": {}}
    deltas = decoded(
        item("added", 0, "reasoning", id="rs_1", summary=[]),
        {**part, "summary_index": 0},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "first"},
        {**part, "summary_index": 1},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "second"},
        item("done", 0, "reasoning", id="rs_1", summary=summary, encrypted_content="c2VjcmV0"),
        COMPLETED,
    )

    end = next(delta for delta in deltas if isinstance(delta, BlockEnd))
    assert "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta)) == "first\n\nsecond"
    assert json.loads(end.signature or "") == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": summary,
        "encrypted_content": "c2VjcmV0",
    }


def test_unrequested_event_types_are_skipped() -> None:
    deltas = decoded(
        item("added", 0, "file_search_call", id="fs"),
        {"type": "response.file_search_call.searching", "output_index": 0},
        item("done", 0, "file_search_call", id="fs"),
        {"type": "response.unheard_of"},
        COMPLETED,
    )

    assert [type(delta) for delta in deltas] == [Done]


@pytest.mark.parametrize(
    ("reason", "stop", "reported"),
    [
        ("max_output_tokens", "length", None),
        ("content_filter", "error", "content_filter"),
        (None, "error", "no reason"),
    ],
)
def test_an_incomplete_reply_gives_the_reason(reason: str | None, stop: str, reported: str | None) -> None:
    ending = {"type": "response.incomplete", "response": {"id": "r", "incomplete_details": {"reason": reason}}}

    done = decoded(ending)[-1]

    assert isinstance(done, Done)
    assert done.stop_reason == stop
    assert (done.error is None) if reported is None else reported in (done.error or "")


def test_a_refusal_is_an_error_with_the_models_text() -> None:
    delta = {"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "I will not."}

    done = decoded(item("added", 0, "message"), delta, COMPLETED)[-1]

    assert done == Done("error", Usage(), "r", "the model refused: I will not.")


def test_cached_tokens_are_not_counted_twice() -> None:
    counts = {
        "input_tokens": 100,
        "output_tokens": 9,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
    }

    done = decoded({"type": "response.completed", "response": {"id": "r", "usage": counts}})[-1]

    assert isinstance(done, Done)
    assert done.usage == Usage(10, 9, 60, 30)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "rate_limit_exceeded", "message": "slow down"}, ModelThrottled),
        ({"code": "insufficient_quota", "message": "check your plan and billing details"}, QuotaExhausted),
        ({"code": "context_length_exceeded", "message": "exceeds the context window"}, ContextWindowOverflow),
        ({"code": "server_error", "message": "sorry"}, NetworkError),
    ],
)
@pytest.mark.parametrize("as_event", [True, False])
def test_an_error_inside_a_stream_is_the_error_it_is(
    error: dict[str, str], kind: type[ProviderError], as_event: bool
) -> None:
    failed = {"type": "response.failed", "response": {"id": "r", "error": error}}

    with pytest.raises(kind):
        decoded({"type": "error", **error} if as_event else failed)


async def test_a_run_with_tools_and_thoughts_goes_over_the_wire_and_back(serve: Serve) -> None:
    server: ModelServer = serve(
        [
            Reply("I look.", thinking="Where?", calls=[("look", {"at": "a"}), ("look", {"at": "b"})]),
            Reply("Both seen.", usage=Usage(50, 5, 40)),
        ]
    )
    model = connect("openai/gpt-5.6-terra", base_url=server.openai_url, thinking="high")
    agent = Agent(model, [SimpleTool("look")])

    result = await agent.prompt("look at both")
    await agent.close()

    assert (result.text, result.stop_reason) == ("Both seen.", "stop")
    assert len(results_of(agent)) == 2
    sent = server.requests[1].body["input"]
    kinds = [entry["type"] for entry in sent]
    assert kinds == ["message", "reasoning", "message", *["function_call"] * 2, *["function_call_output"] * 2]
    assert sent[1]["encrypted_content"] == "c2lnbmF0dXJl"
    assert [entry["call_id"] for entry in sent[3:5]] == [entry["call_id"] for entry in sent[5:7]]


@pytest.mark.parametrize(
    ("refusal", "field"),
    [
        ("Unsupported parameter: 'include'", "include"),
        ("Unknown parameter: 'reasoning.summary'", "reasoning"),
    ],
)
async def test_fields_a_server_rejects_are_not_sent_again(
    serve: Serve, model_at: ModelAt, ask: Asker, refusal: str, field: str
) -> None:
    server = serve([Failure(400, refusal), Reply("one"), Reply("two")])
    model = connect("openai/gpt-5.6-terra", base_url=server.openai_url)

    for _ in range(2):
        await ask(model)
    await model.provider.close()

    assert [field in request.body for request in server.requests] == [True, False, False]


async def test_thoughts_that_cannot_be_read_again_are_left_out(serve: Serve, ask: Asker) -> None:
    server = serve(
        [
            Reply("one", thinking="hm", calls=[("look", {})]),
            Failure(400, "The encrypted content gAAA could not be verified."),
            Reply("two"),
        ]
    )
    agent = Agent(connect("openai/gpt-5.6-terra", base_url=server.openai_url), [SimpleTool("look")])

    result = await agent.prompt("go")
    await agent.close()

    assert result.text == "two"
    assert [["reasoning" in str(entry["type"]) for entry in r.body["input"]].count(True) for r in server.requests] == [
        0,
        1,
        0,
    ]
