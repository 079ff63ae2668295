from __future__ import annotations

import io

from cinch_tui.plain.line_renderer import LineRenderer
from cinch_tui.plain.line_writer import LineWriter
from harness.agent.agent import Agent
from harness.events import ToolExecutionEnd
from harness.messages import Text, ToolResult
from harness.views import TextView
from providers.demo import scripted
from tools.untrusted_text import framed


def test_framed_error_is_printed_without_its_frame() -> None:
    out = io.StringIO()
    renderer = LineRenderer(LineWriter(out), Agent(scripted("done"), []), show_thinking=False)
    content = (Text(framed("no such issue", "MCP server github")),)
    result = ToolResult("1", "mcp__github__issue", content, is_error=True, view=TextView("no such issue"))

    renderer(ToolExecutionEnd(result=result))

    assert out.getvalue() == "Result: mcp__github__issue: failed\n  no such issue\n"
