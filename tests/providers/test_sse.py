from __future__ import annotations

from itertools import pairwise

import pytest
from httpx_sse._decoders import SSEDecoder, SSELineDecoder
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import StreamError
from providers.net import framing
from providers.net.framing import EventDecoder

LINES = st.sampled_from(
    [
        "data: {}",
        "data:no space",
        "data:  two spaces",
        "data",
        "data:",
        ": comment",
        "event: x",
        "id: 1",
        "retry: 5",
        "datax: y",
        "data: snow ☃ line\u2028sep\u0085nel\x0bvt",
        "data: 🌍👩‍👩‍👧",
        "",
        "",
    ]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def decoded(body: bytes, *cuts: int) -> list[str]:
    decoder = EventDecoder()
    edges = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    events = [event for start, end in pairwise(edges) for event in decoder.feed(body[start:end])]
    return events + decoder.finish()


def judged(body: str) -> list[str]:
    lines, events = SSELineDecoder(), SSEDecoder()
    found = [events.decode(line) for line in [*lines.decode(body), *lines.flush()]]
    return [event.data for event in found if event is not None and event.data]


@given(st.lists(st.tuples(LINES, ENDS)), st.lists(st.integers(min_value=0), max_size=8))
def test_any_stream_cut_anywhere_is_read_as_the_standard_reads_it(
    lines: list[tuple[str, str]], cuts: list[int]
) -> None:
    body = "".join(line + end for line, end in lines) + "\n\n"

    events = decoded(body.encode(), *cuts)

    assert [event for event in events if event] == judged(body)


def test_an_event_is_handed_on_with_its_last_byte() -> None:
    decoder = EventDecoder()

    assert decoder.feed(b"data: a\r\n\r") == ["a"]
    assert decoder.feed(b"\ndata: b\n") == []
    assert decoder.feed(b"\n") == ["b"]


def test_the_last_event_needs_no_blank_line() -> None:
    assert decoded(b"data: a\n\ndata: b") == ["a", "b"]


def test_a_byte_order_mark_is_no_text() -> None:
    assert decoded(b"\xef\xbb\xbfdata: a\n\n", 2) == ["a"]


def test_broken_utf8_is_replaced_and_the_rest_is_read() -> None:
    assert decoded(b"data: a\xff\n\ndata: b\n\n") == ["a\ufffd", "b"]


def test_an_event_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "LONGEST_LINE", 100)
    decoder = EventDecoder()
    decoder.feed(b"data: " + b"x" * 60 + b"\n")

    with pytest.raises(StreamError, match="that is too long"):
        decoder.feed(b"data: " + b"x" * 60 + b"\n")


def test_many_events_in_many_chunks_are_not_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "LONGEST_LINE", 100)

    assert len(decoded(b"data: hello\n\n" * 100, 7)) == 100


def test_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "LONGEST_LINE", 100)
    decoder = EventDecoder()
    decoder.feed(b"data: " + b"x" * 90)

    with pytest.raises(StreamError, match="that is too long"):
        decoder.feed(b"x" * 90)
