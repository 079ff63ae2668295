"""`cinch mcp serve`, driven by the client of the official SDK."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from fakes.pictures import png
from fakes.processes import is_alive
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

COMMAND = (sys.executable, "-m", "cinch_tui", "mcp", "serve")
MODES = ("legacy", "auto")
"""The handshake of today's clients, and the protocol without requests of the server from 2026-07-28 on."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\nbeta\n")
    return folder


class Asked:
    """A user of the client, who gives these answers in turn, and the last one from then on."""

    def __init__(self, *decisions: str | None) -> None:
        self.decisions = list(decisions)
        self.messages: list[str] = []
        self.schema: dict[str, Any] = {}

    async def __call__(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        self.messages.append(params.message)
        self.schema = params.requested_schema
        decision = self.decisions.pop(0) if len(self.decisions) > 1 else self.decisions[0]
        if decision is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"decision": decision})


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "CINCH_HOME": str(folder.parent / "home")}


@asynccontextmanager
async def connected(
    folder: Path, *options: str, mode: str = "legacy", user: Asked | None = None
) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *options], cwd=folder, env=environment(folder)
    )
    async with Client(parameters, mode=mode, elicitation_callback=user) as client:
        yield client


async def text_of(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    return "".join(each.text for each in result.content if isinstance(each, types.TextContent))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_is_offered_and_works(folder: Path, mode: str) -> None:
    async with connected(folder, "--approval", "off", mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "alpha" in await text_of(client, "read_file", path="a.txt")
        assert "a.txt" in await text_of(client, "list_files", path=".")
        assert "a.txt" in await text_of(client, "find_files", pattern="*.txt")
        assert "beta" in await text_of(client, "grep", pattern="bet")
        await client.call_tool("edit_file", {"path": "a.txt", "old_string": "alpha", "new_string": "gamma"})
        await client.call_tool("write_file", {"path": "new/b.txt", "content": "new\n"})
        assert "gamma" in await text_of(client, "bash", command="cat a.txt new/b.txt")
        assert "Moved" in await text_of(client, "move_file", source="new/b.txt", destination="b.txt")
        assert "Deleted" in await text_of(client, "delete_file", path="new")

    assert list(tools) == [
        *("read_file", "write_file", "edit_file", "notebook_edit", "move_file", "copy_file", "delete_file"),
        *("list_files", "find_files", "grep", "find_symbol", "repo_map", "bash", "job_output"),
        *("job_input", "job_kill"),
        *(name for name in tools if name.startswith("git_")),
        *("lsp", "web_fetch"),
    ]
    assert (folder / "a.txt").read_text() == "gamma\nbeta\n"
    assert (folder / "b.txt").read_text() == "new\n"
    assert not (folder / "new").exists()
    hints = {name: tool.annotations.read_only_hint for name, tool in tools.items() if tool.annotations}
    assert hints["read_file"] is True
    assert hints["edit_file"] is hints["bash"] is False
    assert tools["edit_file"].title == "Edit file"


async def test_background_job_promises_no_notification(folder: Path) -> None:
    async with connected(folder, "--approval", "off") as client:
        tools = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
        started = await text_of(client, "bash", command="sleep 1000", background=True)

    assert "job_output shows its output" in started
    assert not [text for text in (started, *tools.values()) if "notified" in text]


async def test_globs_choose_the_tools(folder: Path) -> None:
    async with connected(folder, "--tools", "read_*, gr*") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["read_file", "grep"]
        with pytest.raises(MCPError, match="there is no tool named 'bash'; tools: read_file, grep"):
            await client.call_tool("bash", {"command": "true"})


async def test_a_call_that_needs_approval_names_what_would_allow_it(folder: Path) -> None:
    outside = folder.parent / "outside.txt"
    remedies = {
        ("bash", "command", "touch x"): "--allow 'bash(touch:*)' or --approval off",
        ("write_file", "path", "x"): "--allow write_file or --approval edits",
        ("write_file", "path", ".git/config"): "--approval off",
        ("write_file", "path", str(outside)): f"--allow 'edit(/{outside})'",
        ("read_file", "path", "/etc/hostname"): "--allow 'read(//etc/hostname)'",
    }
    texts: list[str] = []
    async with connected(folder) as client:
        for name, key, value in remedies:
            content = {"content": "x"} if name == "write_file" else {}
            texts.append(await text_of(client, name, **{key: value}, **content))

    assert [text.partition("start the server with: cinch mcp serve ")[2] for text in texts] == [*remedies.values()]
    assert not outside.exists()
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt"]


@pytest.mark.parametrize("mode", MODES)
async def test_the_client_asks_its_user(folder: Path, mode: str) -> None:
    user = Asked("allow once")
    async with connected(folder, mode=mode, user=user) as client:
        await client.call_tool("read_file", {"path": "a.txt"})
        result = await client.call_tool("edit_file", {"path": "a.txt", "old_string": "beta", "new_string": "delta"})

    assert not result.is_error
    assert (folder / "a.txt").read_text() == "alpha\ndelta\n"
    (message,) = user.messages
    assert message.startswith("Edit file: a.txt")
    assert "-beta\n+delta" in message
    assert user.schema["properties"]["decision"]["enum"] == ["allow once", "allow for this session", "deny"]


@pytest.mark.parametrize("mode", MODES)
async def test_an_approval_for_the_session_covers_later_calls(folder: Path, mode: str) -> None:
    user = Asked("allow for this session")
    async with connected(folder, mode=mode, user=user) as client:
        await client.call_tool("bash", {"command": "touch one"})
        await client.call_tool("bash", {"command": "touch two"})

    assert len(user.messages) == 1
    assert (folder / "two").exists()


@pytest.mark.parametrize("mode", MODES)
async def test_a_refused_call_does_not_run(folder: Path, mode: str) -> None:
    async with connected(folder, mode=mode, user=Asked("deny", None, "something else")) as client:
        results = [await client.call_tool("bash", {"command": "touch x"}) for _ in range(3)]

    assert all(result.is_error for result in results)
    assert not (folder / "x").exists()


async def test_an_answer_to_another_question_does_not_count(folder: Path) -> None:
    async with connected(folder, mode="auto", user=Asked("allow once")) as client:
        session = client.session
        asked = await session.call_tool("bash", {"command": "touch safe"}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        answers = {"approval": types.ElicitResult(action="accept", content={"decision": "allow once"})}
        again = await session.call_tool(
            "bash",
            {"command": "touch other"},
            input_responses=answers,
            request_state=asked.request_state,
            allow_input_required=True,
        )

    assert isinstance(again, types.InputRequiredResult)
    assert not (folder / "other").exists()


async def test_rules_apply(folder: Path) -> None:
    options = ("--allow", "bash(touch:*)", "--deny", "read(a.txt)", "--approval", "smart")
    async with connected(folder, *options) as client:
        assert not (await client.call_tool("bash", {"command": "touch x"})).is_error
        denied = await client.call_tool("read_file", {"path": "a.txt"})

    assert denied.is_error
    assert (folder / "x").exists()


async def test_a_file_outside_the_workspace_is_out_of_reach_without_approval(folder: Path) -> None:
    outside = folder.parent / "outside.txt"
    async with connected(folder, "--approval", "off") as client:
        result = await client.call_tool("write_file", {"path": str(outside), "content": "x"})

    assert result.is_error
    assert not outside.exists()


async def test_an_image_is_an_image(folder: Path) -> None:
    data = png(8, 8)
    (folder / "a.png").write_bytes(data)
    async with connected(folder) as client:
        assert "did you mean path?" in await text_of(client, "read_file", pth="a.png")
        result = await client.call_tool("read_file", {"path": "a.png"})

    (image,) = (each for each in result.content if isinstance(each, types.ImageContent))
    assert image.mime_type == "image/png"
    assert base64.b64decode(image.data) == data


@pytest.mark.parametrize("mode", MODES)
async def test_output_of_a_running_command_is_progress(folder: Path, mode: str) -> None:
    seen: list[str | None] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        seen.append(message)
        if message == "waiting":
            (folder / "go").touch()

    command = "echo waiting; while ! test -e go; do sleep 0.05; done; echo done"
    async with connected(folder, "--approval", "off", mode=mode) as client:
        result = await client.call_tool("bash", {"command": command}, progress_callback=report)

    assert "done" in json.dumps(result.model_dump(mode="json"))
    assert seen[0] == "waiting"


@pytest.mark.parametrize("mode", MODES)
async def test_a_cancelled_call_ends_its_processes(folder: Path, mode: str) -> None:
    pid = folder / "pid"
    async with connected(folder, "--approval", "off", mode=mode) as client:
        call = asyncio.create_task(client.call_tool("bash", {"command": "echo $$ > pid; sleep 100"}))
        await until(lambda: pid.exists() and bool(pid.read_text().strip()))
        call.cancel()
        await asyncio.wait([call])

        await until(lambda: not is_alive(int(pid.read_text())))
        assert "alpha" in await text_of(client, "read_file", path="a.txt")


async def test_calls_run_concurrently_unless_they_conflict(folder: Path) -> None:
    async with connected(folder, "--approval", "off") as client:
        waiting = asyncio.create_task(
            client.call_tool("bash", {"command": "touch begun; while ! test -e new.txt; do sleep 0.02; done"})
        )
        await until((folder / "begun").exists)
        reading = asyncio.create_task(client.call_tool("read_file", {"path": "a.txt"}))
        done, _ = await asyncio.wait([reading], timeout=0.5)
        (folder / "new.txt").touch()
        await asyncio.wait([waiting, reading])

    # A command may change any file, so that reading one waits for its end.
    assert not done
    assert not reading.result().is_error
