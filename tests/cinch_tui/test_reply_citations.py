from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from fakes.cited_chat_tapes import NASA, PERPLEXITY, SKY, TEXT
from fakes.talk import written

from cinch_tui.reports.citations import Source, sources_markdown, sources_of, sources_text, text_with_sources
from harness.codec import decode, encode
from harness.deltas import BlockEnd
from harness.events import Event, MessageEnd, MessageUpdate
from harness.messages import AssistantMessage, Citation, Text, ToolCall, user
from harness.session.reading import parse, read_assistant
from harness.session.resume import load_session

CITED = Text(TEXT, None, (Citation(SKY, "Sky", "It is blue", 0, 5), Citation(NASA)))


def test_markers_in_the_text_refer_to_list_positions_even_for_repeated_pages() -> None:
    sources = sources_of((Text(TEXT, None, (*PERPLEXITY.citations, Citation(""), Citation(NASA))),))

    assert [(each.number, each.url) for each in sources] == [(1, SKY), (2, NASA), (3, SKY), (5, NASA)]


def test_each_source_is_listed_once_in_order_of_first_mention() -> None:
    first = Text("One.", None, (Citation(SKY, "", "a", 0, 2), Citation(NASA, "Blue", "", 1, 2)))
    second = Text("Two.", None, (Citation("", "b.pdf"), Citation(SKY, "Sky", "c"), Citation("", "b.pdf", "d")))

    sources = sources_of((first, ToolCall("a", "look", {}), second))

    assert sources == (Source(1, SKY, "Sky"), Source(2, NASA, "Blue"), Source(3, "", "b.pdf"))


def test_marker_at_a_citation_is_its_number() -> None:
    text = f"Blue [[2]]({NASA}) and wide [[1]]({SKY}), says [b]({SKY}b)."
    cited = []
    for url, mark in ((NASA, f"[[2]]({NASA})"), (SKY, f"[[1]]({SKY})"), (f"{SKY}b", f"[b]({SKY}b)")):
        start = text.index(mark)
        cited.append(Citation(url, mark[2] if mark[1] == "[" else "", "", start, start + len(mark)))

    sources = sources_of((Text(text, None, tuple(cited)),))

    assert [(each.number, each.url, each.title) for each in sources] == [
        (1, SKY, ""),
        (2, NASA, ""),
        (3, f"{SKY}b", ""),
    ]


def test_two_pages_with_the_same_marker_get_different_numbers() -> None:
    text = Text("Blue[1].", None, (Citation(SKY, "", "", 4, 7), Citation(NASA, "", "", 4, 7)))

    assert [(each.number, each.url) for each in sources_of((text,))] == [(1, SKY), (2, NASA)]


def test_reply_without_sources_has_no_list() -> None:
    assert sources_of((Text("So [1] it is."),)) == ()
    assert text_with_sources(AssistantMessage((Text("So\n"),))) == "So\n"


@pytest.mark.parametrize(
    ("url", "link", "host"),
    [
        (SKY, SKY, "en.wikipedia.org"),
        ("HTTP://A.example:80?x=1", "HTTP://A.example:80?x=1", "A.example:80"),
        ("https://bank.example@evil.example/", "https://bank.example@evil.example/", "evil.example"),
        ("https://bank.example\\@evil.example/", "", ""),
        ("javascript:alert(1)", "", ""),
        ("file:///etc/passwd", "", ""),
        ("gs://bucket/a.pdf", "", ""),
        ("https://a.example/\x1b]8;;https://evil.example", "", ""),
        ("https://a.example/a b", "", ""),
        ("https://", "", ""),
        ("", "", ""),
    ],
)
def test_only_web_pages_are_links(url: str, link: str, host: str) -> None:
    assert (Source(1, url).link, Source(1, url).host) == (link, host)


def test_list_is_printable_and_safe() -> None:
    sources = (Source(1, SKY, "The\n sky\x1b[2J"), Source(2, "", "b.pdf"), Source(12, NASA))

    assert sources_text(sources) == f"Sources:\n[1] The sky [2J – {SKY}\n[2] b.pdf\n[12] {NASA}"


def test_title_is_escaped_in_markdown() -> None:
    sources = (Source(1, SKY, "a](https://evil.example) *b*"), Source(2, "javascript:alert(1)", "c"))

    assert sources_markdown(sources) == (
        f"Sources:\n\n- \\[1\\] [a\\](https://evil.example) \\*b\\*](<{SKY}>)\n- \\[2\\] c"
    )


@pytest.mark.parametrize(
    "event",
    [
        MessageEnd(message=AssistantMessage((CITED, Text("So", "s1", CITED.citations)))),
        MessageUpdate(message_id="m", delta=BlockEnd(0, citations=CITED.citations)),
    ],
    ids=["message", "delta"],
)
def test_sources_round_trip_through_event_json(event: Event) -> None:
    assert decode(Event, json.loads(json.dumps(encode(event)))) == event


def test_sources_survive_the_session_file(tmp_path: Path) -> None:
    said = AssistantMessage((Text("first"), CITED, Text("last", "s", (Citation(NASA),))), "m", "p")

    path = written(tmp_path, user("go"), said)

    assert load_session(path).messages[1].content == said.content


def test_session_text_blocks_contain_no_cinch_sources(tmp_path: Path) -> None:
    path = written(tmp_path, user("go"), AssistantMessage((CITED,), "m", "p"))

    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    blocks = [line["message"]["content"] for line in lines if line["type"] == "assistant"]
    assert blocks == [[{"type": "text", "text": TEXT}]]


def test_messages_api_citations_are_read_from_foreign_files() -> None:
    cited = [
        {
            "type": "web_search_result_location",
            "url": SKY,
            "title": "Sky",
            "cited_text": "Blue",
            "encrypted_index": "E",
        },
        {"type": "char_location", "document_title": "b.pdf", "document_index": 0, "cited_text": "It is"},
        {"type": "search_result_location", "source": "kb/7", "title": None},
        {"type": "char_location"},
        7,
    ]
    block = {"type": "text", "text": TEXT, "citations": cited}
    line = {"type": "assistant", "uuid": str(uuid.uuid4()), "message": {"content": [block]}}

    message = read_assistant([parse(json.dumps(line).encode()) or {}])

    assert message.content == (
        Text(TEXT, None, (Citation(SKY, "Sky", "Blue"), Citation("", "b.pdf", "It is"), Citation("kb/7"))),
    )


@pytest.mark.parametrize("odd", [7, "x", [7], [{"url": 7}], [{"type": "elsewhere"}], {}])
def test_malformed_sources_in_a_session_file_lose_no_reply(odd: object) -> None:
    block = {"type": "text", "text": TEXT, "citations": odd}
    line = {"type": "assistant", "uuid": "a", "message": {"content": [block]}, "cinch": {"citations": odd}}

    message = read_assistant([parse(json.dumps(line).encode()) or {}])

    assert message.text == TEXT
    assert sources_of(message.content) == ()
