"""Subagents: two roles, each with its own instructions and tools."""

from __future__ import annotations

import asyncio

from which_model import which_model

from harness import Agent, AgentEnd, AgentOptions, AgentStart, Role, SubagentEvent, Subagents, SubagentTool, tool
from providers.demo import Call, Reply

RESEARCH = (Reply((Call("look_up", {"topic": "tea"}),)), "Tea has been drunk since the third century.")
WRITING = ("Tea: eighteen centuries in a cup.",)
SCRIPT = (
    Reply((Call("researcher", {"task": "How long has tea been drunk?"}),)),
    Reply((Call("writer", {"task": "A slogan for tea, which has been drunk since the third century."}),)),
    "Here is your slogan: Tea: eighteen centuries in a cup.",
)


@tool(risk="none")
def look_up(topic: str) -> str:
    """Look up a topic in an encyclopedia."""
    return f"{topic}: known since the third century."


async def main() -> None:
    researcher = Role(which_model(*RESEARCH), "You find facts only.", (look_up,))
    writer = Role(which_model(*WRITING), "You write one line.")
    tools = [
        SubagentTool("researcher", "Find facts.", researcher, max_turns=5),
        SubagentTool("writer", "Write a slogan based on facts.", writer, max_turns=1),
    ]
    options = AgentOptions(subagents=Subagents(max_depth=1, token_budget=50_000))
    agent = Agent(which_model(*SCRIPT), tools, "You write advertisements.", options)
    async with agent.stream("I need a slogan for tea.") as run:
        async for event in run:
            match event:
                case SubagentEvent(event=AgentStart(spec=spec)) if spec:
                    print(f"> {spec.name} starts")
                case SubagentEvent(event=AgentEnd(messages=messages)):
                    print(f"< {len(messages)} messages")
                case _:
                    pass
    print(run.result.text)


if __name__ == "__main__":
    asyncio.run(main())
