from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.mcp_servers import (
    ScriptedAnswers,
    call,
    everything,
    make_context,
    make_host,
    reference_server,
    running,
    state_of,
    text_of,
    tool_of,
    until,
)

from harness.messages import Image, Text
from harness.views import ImageView, TextView, View
from tools.mcp.host import McpHost, SampledReply, SamplingRequest
from tools.mcp.server_config import McpServer
from tools.mcp.state import RequestFailed

TOOLS = {
    "echo",
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-roots-list",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "gzip-file-as-resource",
    "simulate-research-query",
    "toggle-simulated-logging",
    "toggle-subscriber-updates",
    "trigger-elicitation-request",
    "trigger-long-running-operation",
    "trigger-sampling-request",
    "trigger-url-elicitation",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(params=["stdio", "streamableHttp", "sse"])
def server(request: pytest.FixtureRequest) -> Iterator[McpServer]:
    """The reference server over each transport."""
    program = reference_server("everything")
    if request.param == "stdio":
        yield everything()
        return
    port = free_port()
    with serving(program, request.param, port):
        # A server of the first protocol version is found by streamable HTTP failing.
        path = "mcp" if request.param == "streamableHttp" else "sse"
        yield McpServer("everything", url=f"http://127.0.0.1:{port}/{path}", transport="http")


@contextmanager
def serving(program: str, transport: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        ["node", program, transport],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        assert process.stdout is not None
        while b"on port" not in (line := process.stdout.readline()):
            assert line, "the server has ended"
        yield process
    finally:
        process.kill()
        process.communicate()


async def reply(request: SamplingRequest) -> SampledReply:
    return SampledReply(f"reply to {request.messages[-1].text}", "model-1")


def host_with(folder: Path, *answers: str | None) -> McpHost:
    return make_host(folder, ask=ScriptedAnswers(*answers), sample=reply, roots=lambda: [folder])


async def test_every_tool_of_the_reference_server(server: McpServer, tmp_path: Path) -> None:
    elicited = ["Ada", "Yes", "Leave out", "Leave out"]
    host = host_with(tmp_path, "Allow once", *elicited, *["Leave out"] * 20)
    updates: list[View] = []

    async with running([server], host) as manager:
        await until(lambda: len(manager.tools()) >= len(TOOLS))
        names = {each.name.removeprefix("mcp__everything__") for each in manager.tools()}
        image = await call(manager, "get-tiny-image", tmp_path)
        structured = await call(manager, "get-structured-content", tmp_path, location="New York")
        slow = tool_of(manager, "trigger-long-running-operation")
        long = await slow.run({"duration": 0.5, "steps": 5}, make_context(tmp_path, updates))
        texts = {
            name: text_of(await call(manager, name, tmp_path, **arguments))
            for name, arguments in {
                "echo": {"message": "hello"},
                "get-sum": {"a": 2, "b": 3},
                "get-annotated-message": {"messageType": "error"},
                "get-resource-links": {"count": 2},
                "get-resource-reference": {"resourceType": "Text", "resourceId": 1},
                "get-roots-list": {},
                "trigger-sampling-request": {"prompt": "hi", "maxTokens": 10},
                "trigger-elicitation-request": {},
                "gzip-file-as-resource": {"name": "x.gz", "data": "data:text/plain,hello", "outputType": "resource"},
                "toggle-simulated-logging": {},
                "toggle-subscriber-updates": {},
            }.items()
        }

    assert names == TOOLS
    assert any(isinstance(each, Image) and each.media_type == "image/png" for each in image.content)
    assert isinstance(image.view, ImageView)
    assert structured.details is not None
    assert structured.details["structured_content"]["conditions"] == "Cloudy"
    assert "Long running operation completed" in text_of(long)
    assert TextView("100 %") in updates
    assert texts["echo"] == "Echo: hello"
    assert texts["get-sum"] == "The sum of 2 and 3 is 5."
    assert "Error: Operation failed" in texts["get-annotated-message"]
    assert "[resource demo://resource/dynamic/" in texts["get-resource-links"]
    assert "This is a plaintext resource" in texts["get-resource-reference"]
    assert tmp_path.name in texts["get-roots-list"]
    assert "reply to Resource trigger-sampling-request context: hi" in texts["trigger-sampling-request"]
    assert "Ada" in texts["trigger-elicitation-request"]
    assert "saved in" in texts["gzip-file-as-resource"]


async def test_resources_prompts_and_completions(server: McpServer, tmp_path: Path) -> None:
    async with running([server], make_host(tmp_path)) as manager:
        resources, templates, prompts = manager.resources(), manager.resource_templates(), manager.prompts()
        content = await manager.read_resource("everything", resources[0].uri)
        binary = await manager.read_resource("everything", "demo://resource/dynamic/blob/1")
        prompt = await manager.get_prompt("everything", "args-prompt", {"city": "Bern", "state": "BE"})
        completed = await manager.complete_prompt("everything", "completable-prompt", "department", "E")
        with pytest.raises(RequestFailed):
            await manager.read_resource("everything", "demo://no-such-resource")
        with pytest.raises(RequestFailed):
            await manager.get_prompt("everything", "no-such-prompt", {})

    assert resources[0].uri.startswith("demo://resource/")
    assert any("{" in each.uri_template for each in templates)
    assert {"simple-prompt", "args-prompt"} <= {each.name for each in prompts}
    assert [
        each.name for each in next(one for one in prompts if one.name == "args-prompt").arguments if each.required
    ] == ["city"]
    assert isinstance(content[0], Text)
    assert content[0].text.startswith(f"[resource {resources[0].uri}]\n")
    assert isinstance(binary[0], Text)
    assert "saved in" in binary[0].text
    assert isinstance(prompt[0], Text)
    assert "Bern" in prompt[0].text
    assert "Engineering" in completed


async def test_cancelled_call_and_lost_connection(server: McpServer, tmp_path: Path) -> None:
    async with running([server], make_host(tmp_path)) as manager:
        task = asyncio.create_task(call(manager, "trigger-long-running-operation", tmp_path, duration=60, steps=60))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert text_of(await call(manager, "echo", tmp_path, message="still there")) == "Echo: still there"
        assert state_of(manager, "everything").phase == "connected"


async def test_headless_program_declines_requests_of_servers(tmp_path: Path) -> None:
    async with running([everything()], make_host(tmp_path)) as manager:
        names = {each.name.removeprefix("mcp__everything__") for each in manager.tools()}

    # The server offers these only to clients that can ask the user.
    assert names.isdisjoint({"trigger-elicitation-request", "trigger-sampling-request"})


async def test_file_server_reads_and_writes_in_its_folder(tmp_path: Path) -> None:
    program = reference_server("filesystem")
    (tmp_path / "a.txt").write_text("alpha\n", encoding="utf-8")
    server = McpServer("files", command="node", args=(program, str(tmp_path)))

    async with running([server], make_host(tmp_path)) as manager:
        read = await call(manager, "read_text_file", tmp_path, path=str(tmp_path / "a.txt"))
        written = await call(manager, "write_file", tmp_path, path=str(tmp_path / "b.txt"), content="beta")
        denied = await call(manager, "read_text_file", tmp_path, path="/etc/passwd")
        reader, writer = tool_of(manager, "read_text_file"), tool_of(manager, "write_file")

    assert text_of(read) == "alpha\n"
    assert not written.is_error
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "beta"
    assert denied.is_error
    assert (reader.mutates, writer.mutates) == (False, True)
    assert "may delete or overwrite something" in writer.risk({}).reason


async def test_restarted_http_server_is_connected_to_again(tmp_path: Path) -> None:
    program, port = reference_server("everything"), free_port()
    server = McpServer("everything", url=f"http://127.0.0.1:{port}/mcp", transport="http")

    with serving(program, "streamableHttp", port) as first:
        async with running([server], make_host(tmp_path)) as manager:
            before = await call(manager, "echo", tmp_path, message="one")
            first.kill()
            first.wait()
            with serving(program, "streamableHttp", port):
                after = await call(manager, "echo", tmp_path, message="two")

    assert (text_of(before), text_of(after)) == ("Echo: one", "Echo: two")


async def test_server_that_rejects_the_credentials_needs_a_login(tmp_path: Path) -> None:
    async def reject(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(reject, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        server = McpServer("private", url=f"http://127.0.0.1:{port}/mcp", transport="http")
        async with running([server], make_host(tmp_path)) as manager:
            state = state_of(manager, "private")

    assert (state.phase, state.reason) == ("needs_login", "HTTP 401 Unauthorized")
