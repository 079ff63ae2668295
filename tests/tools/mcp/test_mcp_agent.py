from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.mcp_servers import listed, make_host, raw_server, running, unframed, until

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.approval.modes import PLAN
from harness.approval.store import RuleStore
from harness.messages import ToolResult
from harness.permissions import Rule
from harness.user_requests import AllowOnce, ApprovalRequest
from harness.workspace.workspace import Workspace
from providers.demo import Call, Reply, scripted

READ = listed("look", annotations={"readOnlyHint": True})
WRITE = listed("erase", annotations={"destructiveHint": True})


@asynccontextmanager
async def agent_with(
    folder: Path, tools: list[Any], *calls: str, **options: Any
) -> AsyncIterator[tuple[Agent, list[ApprovalRequest]]]:
    """Yield an agent that calls tools of a server one after another, and what the user is asked."""
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> AllowOnce:
        asked.append(request)
        return AllowOnce()

    async with running([raw_server(tools=tools, notes=str(folder / "notes"))], make_host(folder)) as manager:
        script = [*(Reply((Call(name, {}),)) for name in calls), "done"]
        base = AgentOptions(workspace=Workspace(folder), approve=approve, spill_dir=folder / "spill", **options)
        agent = Agent(scripted(*script), [], "You help.", base)
        agent.set_source_tools("the MCP server raw", manager.tools())
        yield agent, asked
        await agent.close()


def results(agent: Agent) -> list[str]:
    return [unframed(each.text) for each in agent.messages if isinstance(each, ToolResult)]


async def test_every_call_needs_approval_whatever_the_server_says(tmp_path: Path) -> None:
    async with agent_with(tmp_path, [READ, WRITE], "mcp__raw__look", "mcp__raw__erase") as (agent, asked):
        await agent.prompt("go")

        assert results(agent) == ["look done", "erase done"]
    assert [each.label for each in asked] == ["raw: Look", "raw: Erase"]
    assert asked[0].risk.reason == "calls a tool of the MCP server raw, which says that the tool only reads"
    assert "may delete or overwrite something" in asked[1].risk.reason
    assert [str(each) for each in asked[0].session] == ["mcp__raw__look"]


async def test_rule_for_a_server_allows_its_tools(tmp_path: Path) -> None:
    rules = RuleStore(rules=[Rule("mcp__raw")])
    async with agent_with(tmp_path, [READ, WRITE], "mcp__raw__look", "mcp__raw__erase", grants=rules) as (agent, asked):
        await agent.prompt("go")

        assert results(agent) == ["look done", "erase done"]
    assert asked == []


async def test_plan_mode_allows_read_only_tools_after_approval(tmp_path: Path) -> None:
    async with agent_with(tmp_path, [READ, WRITE], "mcp__raw__look", "mcp__raw__erase", mode=PLAN) as (agent, asked):
        await agent.prompt("go")

        assert results(agent)[0] == "look done"
        assert results(agent)[1].startswith("mcp__raw__erase is not available in plan mode")
    assert [each.call.name for each in asked] == ["mcp__raw__look"]


async def test_abort_cancels_the_call_at_the_server(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with agent_with(tmp_path, [listed("wait")], "mcp__raw__wait") as (agent, _):
        running_prompt = asyncio.create_task(agent.prompt("go"))
        await until(lambda: notes.exists())
        agent.abort()
        result = await running_prompt
        await until(lambda: "cancelled" in notes.read_text())

    assert result.stop_reason == "aborted"


async def test_read_only_calls_run_concurrently(tmp_path: Path) -> None:
    tools = [listed("wait", annotations={"readOnlyHint": True}), READ]
    notes = tmp_path / "notes"
    async with agent_with(tmp_path, tools) as (agent, _):
        wait, look = agent.state.late.tools
        both = Reply((Call(wait.name, {}, "c1"), Call(look.name, {}, "c2")))
        agent.set_model(scripted(both, "done"))
        task = asyncio.create_task(agent.prompt("go"))
        await until(lambda: notes.exists() and len(notes.read_text().splitlines()) == 2)
        agent.abort()
        await task
