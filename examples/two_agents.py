"""Two concurrent agents, each with its own conversation."""

from __future__ import annotations

import asyncio

from which_model import which_model

from harness import Agent, AgentOptions, Limits, TurnEnd

TASK = "Should a small web shop keep its orders in SQLite?"
SCRIPTS = {
    "for": "Yes: one file, no server, and thousands of orders a day are nothing to it.",
    "against": "No: with two web servers there is no shared file to write to.",
}


async def argue(side: str) -> str:
    options = AgentOptions(limits=Limits(max_turns=3, max_cost=0.10))
    async with Agent(which_model(SCRIPTS[side]), (), f"You argue {side} it, in one sentence.", options) as agent:
        agent.subscribe(lambda event: print(f"[{side}] finished") if isinstance(event, TurnEnd) else None)
        result = await agent.prompt(TASK)
    result.raise_for_failure()
    return result.text


async def main() -> None:
    async with asyncio.TaskGroup() as group:
        arguments = {side: group.create_task(argue(side)) for side in SCRIPTS}
    for side, argument in arguments.items():
        print(f"{side}: {argument.result()}")


if __name__ == "__main__":
    asyncio.run(main())
