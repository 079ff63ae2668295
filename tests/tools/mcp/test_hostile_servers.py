from __future__ import annotations

import asyncio
import os
import resource
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.mcp_servers import (
    ScriptedAnswers,
    call,
    listed,
    make_host,
    raw_server,
    running,
    state_of,
    text_of,
    tool_of,
    until,
)

from tools.child_streams import open_reader
from tools.mcp.state import RequestFailed
from tools.mcp.stdio import _MAX_SKIPPED_BYTES, _Lines
from tools.mcp.streams import MAX_MESSAGE_BYTES


def memory() -> int:
    """Return the peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def test_endless_list_is_cut_off(tmp_path: Path) -> None:
    async with running([raw_server(tools=[listed("echo")], pages="")], make_host(tmp_path)) as manager:
        state = state_of(manager, "raw")

    assert state.phase == "connected"
    assert state.tools == ("mcp__raw__echo",)
    assert "the list of tools does not end; the first 50 are used" in state.problems


async def test_list_with_a_wrong_cursor_is_a_problem_and_no_failure(tmp_path: Path) -> None:
    async with running([raw_server(tools=[listed("echo")], pages=7)], make_host(tmp_path)) as manager:
        state = state_of(manager, "raw")

    assert state.phase == "connected"
    assert state.problems == ("the list of tools is not valid in the protocol",)


async def test_result_of_100_mb_is_an_error_with_bounded_memory(tmp_path: Path) -> None:
    server = raw_server(tools=[listed("huge"), listed("echo")])

    async with running([server], make_host(tmp_path)) as manager:
        before = memory()
        output = await call(manager, "huge", tmp_path, size=100_000_000)
        grown = memory() - before
        after = await call(manager, "echo", tmp_path)

    assert output.is_error
    assert f"the limit is {MAX_MESSAGE_BYTES:,}" in text_of(output)
    assert grown < 4 * MAX_MESSAGE_BYTES
    assert text_of(after) == "echo done"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"jsonrpc": "2.0", "id": 5, "result": {"x": "%s", "rows": [{"id": 1}]}}', 5),
        ('{"result": {"id": 1, "x": "%s", "rows": {"id": 1}}, "id": 5}', 5),
        ('{"result": {"x": "%s", "id": 1}, "id": 5, "jsonrpc": "2.0"}', 5),
        ('{"result": {"x": "%s", "id": 1}}', "end"),
        ('{"result": {"x": "%s", "rows": [{"id": 1}]}, "_meta": {"id": 1}}', "end"),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "%s"}}', "none"),
    ],
)
async def test_answer_that_is_too_large_fails_its_own_request(line: str, expected: int | str) -> None:
    incoming_end, incoming = anyio.create_memory_object_stream[Any](10)
    descriptor, end = os.pipe()
    os.close(end)
    _, transport = await open_reader(descriptor)
    reader = asyncio.StreamReader()
    reader.feed_data((line % ("x" * MAX_MESSAGE_BYTES)).encode() + b"\n")
    reader.feed_data(b'{"jsonrpc": "2.0", "id": 9, "result": {}}\n')
    reader.feed_eof()

    await _Lines(incoming_end, lambda _: None).read((reader, transport))
    async with incoming:
        found = [each.message.id async for each in incoming]

    assert found == {"end": [], "none": [9]}.get(str(expected), [expected, 9])


async def test_line_without_end_ends_the_connection(tmp_path: Path) -> None:
    server = raw_server(tools=[listed("line")], timeout=0)

    async with running([server], make_host(tmp_path)) as manager:
        before = memory()
        output = await call(manager, "line", tmp_path)

        assert output.is_error
        assert memory() - before < _MAX_SKIPPED_BYTES / 4
        assert "the connection ends: the server writes a line without end" in state_of(manager, "raw").log


@pytest.mark.parametrize("before", ["Welcome!\n", "\x1b]0;title\x07{\n", "[]\n", '{"jsonrpc": "2.0"}\n', "\xff\n"])
async def test_garbage_on_stdout_is_logged(before: str, tmp_path: Path) -> None:
    async with running([raw_server(before=before, tools=[listed("garbage")])], make_host(tmp_path)) as manager:
        output = await call(manager, "garbage", tmp_path)
        log = state_of(manager, "raw").log

    assert text_of(output) == "garbage done"
    assert "stdout: this is not JSON" in log
    assert len(log) <= 200
    assert not any("\x1b" in line for line in log)


@pytest.mark.parametrize(
    ("name", "arguments", "last"),
    [
        ("flood", {"count": 1500}, "info: message 1499"),
        # Parsing one of them takes 2 seconds.
        ("large_flood", {"count": 2, "entries": 450_000}, "dropped; the limit is 65,536"),
    ],
)
async def test_flood_of_notifications_does_not_block_the_event_loop(
    name: str, arguments: dict[str, int], last: str, tmp_path: Path
) -> None:
    server = raw_server(tools=[listed(name)])
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.001)
            longest = max(longest, time.monotonic() - began)

    async with running([server], make_host(tmp_path)) as manager:
        watcher = asyncio.create_task(watch())
        output = await call(manager, name, tmp_path, **arguments)
        watcher.cancel()
        log = state_of(manager, "raw").log

    assert text_of(output) == f"{name} done"
    assert log[-1].endswith(last)
    assert longest < 1.5


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("ping", {}),
        ("roots/list", {}),
        ("elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}),
    ],
)
async def test_flood_of_requests_ends_the_connection(method: str, params: dict[str, Any], tmp_path: Path) -> None:
    server = raw_server(tools=[listed("ask")])

    async def never(_: object) -> Any:
        await asyncio.Event().wait()

    async with running([server], make_host(tmp_path, ask=never)) as manager:
        output = await call(manager, "ask", tmp_path, method=method, params=params, count=100_000)
        await until(lambda: state_of(manager, "raw").phase == "connected")

    assert output.is_error
    assert "lost" in text_of(output)


@pytest.mark.parametrize("cancelled", ["other", "ask-{number}"])
async def test_cancellations_do_not_hide_a_flood_of_requests(cancelled: str, tmp_path: Path) -> None:
    server = raw_server(tools=[listed("ask")], timeout=30)

    async with running([server], make_host(tmp_path)) as manager:
        output = await call(manager, "ask", tmp_path, method="ping", params={}, count=10_000, cancelled=cancelled)

    assert "lost" in text_of(output)


async def test_server_that_answers_slowly_does_not_delay_the_others(tmp_path: Path) -> None:
    servers = [raw_server("slow", silent=True), raw_server("fast", tools=[listed("echo")])]

    async with running(servers, make_host(tmp_path), wait=0.1) as manager:
        await until(lambda: state_of(manager, "fast").phase == "connected")

        assert state_of(manager, "slow").phase == "connecting"
        assert text_of(await call(manager, "echo", tmp_path)) == "echo done"


async def test_request_without_an_answer_ends_after_the_timeout(tmp_path: Path) -> None:
    server = raw_server(unanswered=["resources/read", "prompts/get"], timeout=0.3)

    async with running([server], make_host(tmp_path)) as manager, asyncio.timeout(5):
        with pytest.raises(RequestFailed, match=r"no answer within 0\.3 s"):
            await manager.read_resource("raw", "file:///a")
        with pytest.raises(RequestFailed, match=r"no answer within 0\.3 s"):
            await manager.get_prompt("raw", "hello", {})


async def test_names_and_texts_are_cleaned(tmp_path: Path) -> None:
    tools = [
        listed("\x1b[31mred\x1b[0m", description="\x1b[2JHidden\U000e0041 text\u202e", title="\x1b[1mBold"),
        listed("n" * 10_000),
        listed("long_" + "n" * 200, description="d" * 50_000),
        listed("a.b"),
        listed("a_b"),
        listed("twice"),
        listed("twice", description="Another."),
        listed("bash", title="Run command"),
        listed(""),
    ]
    server = raw_server(tools=tools, title="\x1b[31mEvil\x1b[0m", instructions="\x1b]52;c;AAAA\x07Use me.")

    async with running([server], make_host(tmp_path)) as manager:
        state, found = state_of(manager, "raw"), manager.tools()
        output = await call(manager, "bash", tmp_path)

    red = found[0]
    assert all(len(each.name) <= 64 for each in found)
    assert len({each.name for each in found}) == len(found) == 6
    assert red.name.startswith("mcp__raw___")
    assert red.description == "Hidden⟨U+E0041⟩ text⟨U+202E⟩"
    assert red.label == "raw: Bold"
    assert len(found[1].description) <= 4_000
    assert (found[-1].name, found[-1].label) == ("mcp__raw__bash", "raw: Run command")
    assert state.title == "Evil 1"
    assert state.instructions == "Use me."
    assert any("10,000 characters" in each for each in state.problems)
    assert "twice was skipped: another tool has the same name" in state.problems
    assert any(each.endswith("was skipped: it has no name") for each in state.problems)
    assert text_of(output) == "bash done"


async def test_tools_with_schemas_that_are_none_are_skipped(tmp_path: Path) -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"properties": {"a": deep}}
    schemas: dict[str, Any] = {
        "text": "string",
        "list": [],
        "number": {"type": "number"},
        "properties": {"type": "object", "properties": ["a"]},
        "required": {"type": "object", "required": "a"},
        "kind": {"type": "object", "properties": {"a": {"type": "nothing"}}},
        "long": {"type": "object", "description": {"repeat": "d", "times": 200_000}},
        "none": None,
    }
    tools = [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]
    fine = [
        listed("untyped", inputSchema={"properties": {"a": {"type": "integer"}}, "required": ["a"]}),
        listed("reference", inputSchema={"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
        listed("remote", inputSchema={"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}}),
        listed("loop", inputSchema={"type": "object", "allOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        listed("pattern", inputSchema={"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}),
        listed("output", outputSchema={"$ref": "http://127.0.0.1:9/schema"}),
        "not a tool",
        7,
    ]

    async with running([raw_server(tools=[*tools, *fine])], make_host(tmp_path)) as manager:
        state = state_of(manager, "raw")
        began = time.monotonic()
        tool_of(manager, "pattern").validate({"a": "a" * 50 + "!"})
        seconds = time.monotonic() - began
        outputs = [await call(manager, name, tmp_path, a=1) for name in ("untyped", "remote", "loop", "output")]

    assert [each.removeprefix("mcp__raw__") for each in state.tools] == [
        "untyped",
        "reference",
        "remote",
        "loop",
        "pattern",
        "output",
    ]
    assert [name for name in schemas if not any(each.startswith(f"{name} ") for each in state.problems)] == []
    assert seconds < 1
    assert not any(each.is_error for each in outputs)


async def test_malformed_results_are_errors(tmp_path: Path) -> None:
    results: dict[str, Any] = {
        "list": {"content": "text"},
        "kind": {"content": [{"type": "hologram"}]},
        "image": {"content": [{"type": "image", "data": "!!!", "mimeType": "image/png"}]},
        "escape": {"content": [{"type": "text", "text": "\x1b]0;title\x07\x1b[31mred\x1b[0m"}]},
        "blocks": {"content": {"repeat": [{"type": "text", "text": "b"}], "times": 5000}},
    }
    server = raw_server(tools=[listed(name) for name in results], results=results)

    async with running([server], make_host(tmp_path)) as manager:
        outputs = {name: await call(manager, name, tmp_path) for name in results}

    assert "invalid answer" in text_of(outputs["list"])
    assert "invalid answer" in text_of(outputs["kind"])
    assert text_of(outputs["image"]) == "[image image/png: the data is not valid base64]"
    assert text_of(outputs["escape"]) == "red"
    assert "[Further content blocks were dropped.]" in text_of(outputs["blocks"])


async def test_page_to_open_is_shown_and_never_opened(tmp_path: Path) -> None:
    scripted = ScriptedAnswers("Decline")
    params = {"mode": "url", "message": "Log in\x1b[2J", "url": "https://evil.example/\x1b[31m", "elicitationId": "1"}

    async with running([raw_server(tools=[listed("ask")])], make_host(tmp_path, ask=scripted)) as manager:
        task = asyncio.create_task(call(manager, "ask", tmp_path, method="elicitation/create", params=params, count=1))
        await until(lambda: scripted.questions)
        task.cancel()

    (question,) = scripted.questions
    assert "evil.example" in question.prompt
    assert "\x1b" not in question.prompt
