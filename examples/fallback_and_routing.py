"""Model routing and fallback: a cheap model for the first turn, then a powerful one, and a spare one if that fails."""

from __future__ import annotations

import asyncio

from harness import (
    Agent,
    AgentOptions,
    CheapThenPowerful,
    ModelFallback,
    ModelOverloaded,
    ModelRouted,
    RetryPolicy,
    RetryScheduled,
)
from providers.demo import Break, Call, Reply, scripted
from tools import builtin_tools

# Scripted models, so that the failure occurs; use `connect("provider/model")` instead.
CHEAP = scripted(Reply((Call("list_files", {"path": "examples"}),)), name="cheap")
BUSY = Reply((Break(ModelOverloaded("too many requests")),))
POWERFUL = scripted(BUSY, BUSY, name="powerful")
SPARE = scripted("Each shows one idea.", name="spare")


async def main() -> None:
    options = AgentOptions(
        routing=CheapThenPowerful(CHEAP, POWERFUL, switch_at=2),
        fallback=(SPARE,),
        retry=RetryPolicy(max_retries=1, initial=0.01),  # seconds; the defaults are usually fine
    )
    agent = Agent(CHEAP, builtin_tools(), "You answer in one sentence.", options)
    async with agent.stream("What do the examples show?") as run:
        async for event in run:
            match event:
                case ModelRouted(spec=spec):
                    print(f"turn {event.turn} uses {spec.name}")
                case RetryScheduled(attempt=attempt, error=error):
                    print(f"attempt {attempt} failed: {error}")
                case ModelFallback(failed=failed, spec=spec):
                    print(f"{failed.name} failed, continuing with {spec.name}")
                case _:
                    pass
    print(run.result.text)


if __name__ == "__main__":
    asyncio.run(main())
