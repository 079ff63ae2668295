"""Our lines are read by types; the reader of any line must read the same messages from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.talk import call, reply, result, tour, written

from harness.messages import (
    AssistantMessage,
    Citation,
    Cost,
    Image,
    ModelMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    synthetic,
    user,
)
from harness.session.line_index import scan
from harness.session.own_lines import read_own_line
from harness.session.reading import parse
from harness.session.resume import load_session
from harness.session.session_messages import MessageReader
from harness.views import DiffView, TerminalView

USAGE = Usage(10, 20, 30, 40, Cost(0.5, 1.0, 0, 0.25, 0.02), searches=2)
CONVERSATION: list[ModelMessage] = [
    *tour(),
    UserMessage((Text("see "), Image("image/png", "AAAA"), Text("\u4e09"))),
    AssistantMessage(
        (
            Thinking("long thought", signature="s1"),
            Thinking("", redacted="hidden"),
            Text("cited", "proof", (Citation("https://example.com", "Title", start=1, end=2),)),
            ToolCall("t1", "bash", {"command": "ls", "deep": [{"a": None}]}, signature="proof"),
            ToolCall("t2", "bash", {}, partial_json='{"comm'),
        ),
        "claude-x",
        "anthropic",
        USAGE,
        "tool_use",
        response_id="r1",
    ),
    ToolResult("t1", "bash", (Text("one"), Image("image/png", "BBBB")), view=TerminalView("ls", "one", 0)),
    ToolResult("t2", "bash", (Text("bad"),), is_error=True, details={"denied": True, "n": 1.5}),
    synthetic("a reminder"),
    AssistantMessage(
        (Thinking("Web search: x", '{"type":"server_tool_use"}'),), "claude-x", "anthropic", stop_reason="pause"
    ),
    AssistantMessage((Thinking("not for others"), Text("fine")), "gpt-x", "openai", Usage(cost=Cost()), "stop"),
    user("go on"),
    reply("x" * 3_000, call("t3", path="a.py")),
    ToolResult("t3", "edit_file", (Text("y" * 9_000),), view=DiffView("a.py", "z" * 4_000, "w")),
    AssistantMessage((Text("cut"),), "m", "p", stop_reason="aborted", error="stopped by the user"),
    user("again"),
    AssistantMessage((), "m", "p", stop_reason="error", error="overloaded"),
    user("and again"),
    reply("done", "twice"),
    result("gone", "a result without a call"),
]


def test_messages_of_own_lines_equal_those_of_any_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = written(tmp_path, *CONVERSATION)
    reader = MessageReader()
    scan(path, on_line=reader.add)
    reader.finish()
    typed = list(load_session(path).messages)

    monkeypatch.setattr("harness.session.session_messages.read_own_line", refuse)
    monkeypatch.setattr("harness.session.line_index.read_own_line", refuse)
    expected = list(load_session(path).messages)

    assert typed == expected
    assert len(typed) == len(CONVERSATION)
    # The only line of the failed reply has another form.
    assert [len(reader.short), len(reader.outlines)] == [len(typed) - 1 - 4, 4]


def refuse(raw: bytes) -> None:
    """Leave a line to the reader of any line."""


def test_lines_of_other_forms_are_left_to_the_reader_of_any_line(tmp_path: Path):
    lines = written(tmp_path, user("one"), reply("two", call("c")), result("c", "three")).read_bytes().splitlines()
    one, two, _, three = (line for line in lines if line.startswith(b'{"parentUuid"'))
    assert all(map(read_own_line, (one, two, three)))

    changes = (
        (one, b'"external"', b'"external","isMeta":true'),
        (one, b'"content":"one"', b'"content":7'),
        (two, b'"cinch":{', b'"cinch":{"closing":true,'),
        (two, b'"provider":"', b'"vendor":"'),
        (two, b'"type":"text"', b'"type":"server_tool_use"'),
        (two, b'"isSidechain":false', b'"isSidechain":0'),
        (three, b'"content":"three"', b'"content":[1]'),
        (three, b'"uuid":"', b'"uuid":7,"id":"'),
    )

    for line, old, new in changes:
        assert old in line
        changed = line.replace(old, new, 1)
        assert parse(changed)
        assert read_own_line(changed) is None, new


def test_each_damaged_byte_of_a_line_is_noticed_or_harmless(tmp_path: Path):
    path = written(tmp_path, user("one"), reply("two", call("c", path="a.py")), result("c", "three"))
    lines = [line for line in path.read_bytes().splitlines() if line.startswith(b'{"parentUuid"')]

    accepted = [
        changed
        for line in lines
        for place in range(len(line))
        for byte in (b"\x01", b'"', b"\\", b"}")
        if read_own_line(changed := line[:place] + byte + line[place + 1 :]) and parse(changed) is None
    ]

    assert accepted == []
