from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from fakes.bedrock_judge import understood
from fakes.cited_chat_tapes import NASA, OPENAI, OPENAI_CHAT, PERPLEXITY, SKY, TEXT, Tape, chat
from fakes.cited_tapes import ANTHROPIC, BEDROCK, GEMINI, TAPES, VERTEX
from fakes.judges import anthropic_event, gemini_event, openai_chunk, responses_event
from fakes.targets import TARGETS, Target
from hypothesis import given
from hypothesis import strategies as st

from harness.agent.reply import ReplyBuilder
from harness.deltas import BlockEnd, Delta, Done
from harness.messages import AssistantMessage, Citation, ModelMessage, ModelSpec, Text, user
from harness.ports.provider import Request
from providers.endpoint import Endpoint
from providers.net.stream import decoded
from providers.openai_chat.decode import ChatDecoder
from providers.preset import presets
from providers.wire.citations import MAX_CITATIONS, citation

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["url", "title", "type"]), inner),
    max_leaves=6,
)


def read(tape: Tape, cuts: list[int]) -> list[Delta]:
    body, decoder, framing = tape.body, tape.decoder(tape.endpoint), tape.framing()
    edges = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    deltas = [delta for start, end in pairwise(edges) for delta in decoded(decoder, framing.feed(body[start:end]))]
    return [*deltas, *decoder.finish()]


def message_of(deltas: list[Delta]) -> AssistantMessage:
    builder = ReplyBuilder(ModelSpec("p", "m"))
    for delta in deltas:
        builder.take(delta)
    return builder.finish()


def said(*events: Mapping[str, Any]) -> AssistantMessage:
    decoder = ChatDecoder(Endpoint(presets()["perplexity"], "http://127.0.0.1"))
    return message_of([*(delta for event in events for delta in decoder.take(event)), *decoder.finish()])  # pyright: ignore[reportArgumentType] as a service may send it


@pytest.mark.parametrize("name", [*TAPES])
def test_each_service_reports_its_citations(name: str) -> None:
    message = message_of(read(TAPES[name], []))

    (text,) = (block for block in message.content if isinstance(block, Text))
    assert (text.text, text.citations) == (TEXT, TAPES[name].citations)


@given(st.sampled_from([*TAPES]), st.lists(st.integers(min_value=0), max_size=10))
def test_a_stream_with_sources_may_be_cut_at_any_byte(name: str, cuts: list[int]) -> None:
    assert read(TAPES[name], cuts) == read(TAPES[name], [])


@pytest.mark.parametrize("name", [*TAPES])
def test_a_block_with_sources_ends_once_and_before_the_reply(name: str) -> None:
    deltas = read(TAPES[name], [])

    assert [type(delta) for delta in deltas if isinstance(delta, BlockEnd | Done)] == [BlockEnd, Done]


def test_the_tapes_are_what_the_vendors_own_types_accept() -> None:
    assert all(map(anthropic_event, ANTHROPIC.events))
    assert all(map(openai_chunk, OPENAI_CHAT.events))
    # The SDK reads `citationSources` under another name.
    assert all(gemini_event(event) for event in (*GEMINI.events, *VERTEX.events) if "citationSources" not in str(event))
    assert all(responses_event(event) for event in OPENAI.events if event["type"] != "response.completed")
    assert [each["contentBlockDelta"]["delta"] for each in understood(BEDROCK.body) if "contentBlockDelta" in each] == [
        each["contentBlockDelta"]["delta"] for each in BEDROCK.events if "contentBlockDelta" in each
    ]


def test_a_list_keeps_its_places_whatever_is_in_it() -> None:
    message = said(*chat(citations=[SKY, None, {"url": 7}, SKY, NASA, 5]))

    assert message.content == (Text(TEXT, None, tuple(Citation(url) for url in (SKY, "", "", SKY, NASA))),)


def test_no_reply_has_more_sources_than_can_be_kept() -> None:
    many = [f"https://example.com/{number}" for number in range(MAX_CITATIONS + 50)]

    message = said(*chat(citations=many))

    assert isinstance(message.content[0], Text)
    assert [each.url for each in message.content[0].citations] == many[:MAX_CITATIONS]


@given(JSON, JSON, JSON)
def test_odd_sources_cost_no_reply(lists: Any, mentions: Any, item: Any) -> None:
    reported = {"citations": lists, "search_results": mentions, "web_search": item}

    message = said(*chat({"annotations": mentions}, {"executed_tools": lists}, **reported))

    assert message.text == TEXT


@pytest.mark.parametrize(
    ("reported", "kept"),
    [
        ((" https://a.example ", "  A  "), Citation("https://a.example", "A")),
        (("https://a.example", "", "", 5, 2), Citation("https://a.example")),
        (("https://a.example", "", "", True, 2), Citation("https://a.example")),
        (("https://a.example", "", "", -1, 2), Citation("https://a.example")),
        (("https://a.example/" + "x" * 3_000, "A"), Citation("", "A")),
        ((None, None), None),
        (({}, []), None),
    ],
)
def test_malformed_citation_is_dropped(reported: tuple[Any, ...], kept: Citation | None) -> None:
    assert citation(*reported) == kept


def test_a_search_before_a_call_belongs_to_the_text_before_it() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "look", "arguments": "{}"}}
    events = chat({"tool_calls": [call]}, each={"citations": [SKY]})

    message = said(*events)

    assert message.content[0] == Text(TEXT, None, (Citation(SKY),))
    assert len(message.tool_calls) == 1


CITED = Text(TEXT, None, PERPLEXITY.citations)


@pytest.mark.parametrize("target", TARGETS.values(), ids=[*TARGETS])
def test_sources_are_never_sent_back(target: Target) -> None:
    spec = target.spec

    def asked(text: Text) -> Any:
        reported = AssistantMessage((text,), model=spec.model_id, provider=spec.provider, id="b", time=1.0)
        history: tuple[ModelMessage, ...] = (user("Why is the sky blue?"), reported, user("Go on"))
        return target.encode(Request(spec, "Be brief.", history))

    assert asked(CITED) == asked(Text(TEXT))
    assert SKY not in str(asked(CITED))
