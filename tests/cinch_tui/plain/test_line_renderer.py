from __future__ import annotations

import asyncio
import io

from fakes.jobs import Silent

from cinch_tui.plain.line_renderer import LineRenderer
from cinch_tui.plain.line_writer import LineWriter
from harness.agent.agent import Agent
from harness.events import ToolExecutionEnd
from harness.job_spec import JobSpec
from harness.messages import Text, ToolResult
from harness.views import TextView
from providers.demo import scripted
from tools.untrusted_text import framed


async def test_end_of_a_job_is_printed_once() -> None:
    async def fails() -> int:
        return 2

    out = io.StringIO()
    agent = Agent(scripted("done"), [])
    agent.subscribe(LineRenderer(LineWriter(out), agent, show_thinking=False))

    agent.jobs.to_background(job := agent.jobs.start(JobSpec("call", "make", Silent(), fails)))
    await asyncio.wait([job.task])
    await agent.prompt("go on")

    assert out.getvalue().count("job-1 ended with exit code 2 after 0 s: make") == 1
    assert "[Background" not in out.getvalue()
    assert any(message.text.startswith("[Background job-1") for message in agent.history)


async def test_last_lines_of_a_job_are_printed_unless_a_call_shows_them() -> None:
    class Built(Silent):
        def latest(self, limit: int) -> str:
            return "compiling\nbuilt\n"

    async def ends() -> int:
        await asyncio.sleep(0)
        return 0

    out = io.StringIO()
    agent = Agent(scripted("done"), [])
    agent.subscribe(LineRenderer(LineWriter(out), agent, show_thinking=False))

    for waits in (False, True):
        agent.jobs.to_background(job := agent.jobs.start(JobSpec("call", "make", Built(), ends)))
        await (agent.jobs.wait_in_background(job, 5) if waits else asyncio.wait([job.task]))
        await asyncio.sleep(0)

    ended = out.getvalue().partition("job-1 ended")[2]
    assert ended.splitlines()[1:3] == ["  compiling", "  built"]
    assert "built" not in ended.partition("job-2 ended")[2]


def test_framed_error_is_printed_without_its_frame() -> None:
    out = io.StringIO()
    renderer = LineRenderer(LineWriter(out), Agent(scripted("done"), []), show_thinking=False)
    content = (Text(framed("no such issue", "MCP server github")),)
    result = ToolResult("1", "mcp__github__issue", content, is_error=True, view=TextView("no such issue"))

    renderer(ToolExecutionEnd(result=result))

    assert out.getvalue() == "Result: mcp__github__issue: failed\n  no such issue\n"
