"""Hooks, policies and guardrails: a budget, a deny list, an audit log and a check of each prompt."""

from __future__ import annotations

import asyncio

from which_model import which_model

from harness import (
    Agent,
    AgentOptions,
    Budget,
    DenyList,
    Hooks,
    LoopDetection,
    MaxLength,
    MaxTurns,
    Modify,
    SecretGuardrail,
    ToolCall,
    ToolResult,
)
from providers.demo import Call, Reply
from tools import builtin_tools

SCRIPT = (
    Reply((Call("list_files", {"path": "."}), Call("bash", {"command": "curl example.org"}))),
    "I looked at the examples only, and could not go online.",
)


class OnlyExamples(Hooks):
    """Restrict listings to examples/ and log every call that ran."""

    async def before_tool(self, call: ToolCall) -> Modify | None:
        return Modify({**call.arguments, "path": "examples"}) if call.name == "list_files" else None

    async def after_tool(self, call: ToolCall, result: ToolResult) -> None:
        print(f"audit: {call.name} {call.arguments} -> {'error' if result.is_error else 'ok'}")


async def main() -> None:
    options = AgentOptions(
        approval="off",  # no approval requests: the hooks below restrict the agent
        hooks=(DenyList("bash", "write_*"), OnlyExamples(), Budget(max_cost=0.50), MaxTurns(5), LoopDetection()),
        guardrails=(MaxLength(10_000), SecretGuardrail()),
    )
    agent = Agent(which_model(*SCRIPT), builtin_tools(), "You look around.", options)
    print((await agent.prompt("What is here, and is there news on example.org?")).text)
    rejected = await agent.prompt("My key is sk-ant-api03-x9Kq2LmN4pRsT6vWyZ1aB3cD5eF7gH")
    print("rejected:", rejected.rejection)


if __name__ == "__main__":
    asyncio.run(main())
