"""Every tool as a model sees it, in each dialect; the snapshots are read when they change."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from syrupy.assertion import SnapshotAssertion

from harness.deltas import Delta, Done
from harness.messages import ModelSpec
from harness.ports.provider import Request
from harness.ports.tool import Tool, specs_of
from tools import OPTIONAL_TOOLS, builtin_tools
from tools.dialects.cats.tools import cats_tools
from tools.dialects.claude import claude_dialect
from tools.lsp.options import LspOptions
from tools.lsp.servers import LanguageServers
from tools.web.options import WebOptions


class Recorder:
    """Provider that keeps the tools of a request."""

    name = "recorder"

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.tools = request.tools
        yield Done("stop")

    async def close(self) -> None:
        pass


def own_tools() -> list[Tool]:
    return builtin_tools(
        optional=OPTIONAL_TOOLS, web=WebOptions(service="brave"), servers=LanguageServers(LspOptions())
    )


@pytest.mark.parametrize("dialect", ["cinch", "claude", "cats"])
async def test_tools_are_declared_as_reviewed(dialect: str, snapshot: SnapshotAssertion):
    tools = cats_tools() if dialect == "cats" else own_tools()
    request = Request(ModelSpec("recorder", "m"), "", (), specs_of(tools))
    recorder = Recorder()
    stream = claude_dialect().stream(recorder, request) if dialect == "claude" else recorder.stream(request)
    async for _ in stream:
        pass

    assert snapshot == "\n\n".join(
        f"# {spec.name}\n{spec.description}\n{json.dumps(spec.parameters, indent=1, ensure_ascii=False)}"
        for spec in recorder.tools
    )
