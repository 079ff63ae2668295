"""MCP servers for tests: the reference servers, and scripts; and a program that uses them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.messages import JsonObject, Text
from harness.ports.interaction import NonInteractive
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.user_requests import Answer, Plan, PlanDecision, Question
from harness.views import View
from harness.workspace.workspace import Workspace
from tools.mcp.host import McpHost
from tools.mcp.server_config import McpServer
from tools.mcp.servers import McpServers
from tools.mcp.state import ServerState

NODE_MODULES = Path(sys.prefix) / "mcp-servers" / "node_modules" / "@modelcontextprotocol"
RAW_SERVER = Path(__file__).with_name("mcp_raw_server.py")
SDK_SERVER = Path(__file__).with_name("mcp_sdk_server.py")


def reference_server(name: str) -> str:
    """Return the program of a reference server; without it, the test is skipped, or fails in CI."""
    program = NODE_MODULES / f"server-{name}" / "dist" / "index.js"
    if not program.exists():
        text = f"@modelcontextprotocol/server-{name} is not installed: make .venv/.installed-mcp"
        (pytest.fail if os.environ.get("REQUIRE_ALL_TESTS") else pytest.skip)(text)
    return str(program)


def everything(*args: str, **options: Any) -> McpServer:
    program = reference_server("everything")
    return McpServer("everything", command="node", args=(program, *(args or ("stdio",))), **options)


def raw_server(name: str = "raw", *, env: dict[str, str] | None = None, **script: Any) -> McpServer:
    """Return a server that follows a script; see `mcp_raw_server`."""
    options = {key: script.pop(key) for key in ("timeout", "connect_timeout", "excluded_tools") if key in script}
    args = (str(RAW_SERVER), json.dumps(script))
    return McpServer(name, command=sys.executable, args=args, env=env or {}, **options)


class ScriptedAnswers:
    """Answers questions from a list of labels or texts; `None` closes the question."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []

    async def __call__(self, question: Question) -> Answer:
        self.questions.append(question)
        answer = self.answers.pop(0)
        labels = [each.label for each in question.choices]
        if answer is None:
            return Answer("skipped")
        if answer in labels:
            return Answer("selected", answer, labels.index(answer))
        return Answer("free_text", answer)


def make_host(folder: Path, **services: Any) -> McpHost:
    return McpHost(folder, folder / "spill", environment=dict(os.environ), version="1.0", **services)


@asynccontextmanager
async def running(servers: Sequence[McpServer], host: McpHost, wait: float = 20.0) -> AsyncIterator[McpServers]:
    """Start servers, and wait until each is connected or has failed."""
    manager = McpServers(servers, host)
    manager.start()
    try:
        await manager.wait_ready(wait)
        yield manager
    finally:
        await manager.close()


def state_of(manager: McpServers, name: str) -> ServerState:
    return next(each for each in manager.states() if each.server.name == name)


def tool_of(manager: McpServers, name: str) -> Tool:
    return next(each for each in manager.tools() if each.name.endswith(f"__{name}"))


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def _no_plan(plan: Plan) -> PlanDecision:
    return PlanDecision(accepted=False)


def make_context(folder: Path, updates: list[View] | None = None) -> ToolContext:
    show = updates.append if updates is not None else lambda _: None
    return ToolContext("call-1", Workspace(folder), NonInteractive(), _no_plan, folder / "spill", update=show)


async def call(manager: McpServers, name: str, folder: Path, /, **arguments: Any) -> ToolOutput:
    tool = tool_of(manager, name)
    return await tool.run(tool.validate(arguments), make_context(folder))


def text_of(output: ToolOutput) -> str:
    """Return the text of an output, without its frame."""
    return unframed("".join(each.text for each in output.content if isinstance(each, Text)))


def unframed(text: str) -> str:
    """Return a text of a server without the frame that models see."""
    framed = re.fullmatch(
        r'<untrusted_content source="MCP server [^"]*">\n[^\n]*\n\n(.*)\n</untrusted_content>', text, re.S
    )
    return framed[1] if framed else text


def listed(name: str, **fields: Any) -> JsonObject:
    """Return a tool as a server lists it."""
    return {"name": name, "description": f"Tool {name}.", "inputSchema": {"type": "object"}, **fields}
