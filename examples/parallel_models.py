"""Parallel models: several models answer one prompt, and the conversation continues with the chosen answer."""

from __future__ import annotations

import asyncio

from which_model import which_model

from harness import Agent, LlmJudge, ParallelVariant, run_parallel

QUESTION = "What is a good name for a web shop that sells tea?"
CAREFUL = "You are careful: you offer one name, and one argument against it."
BOLD = "You are bold: you offer one name, and nothing else."


async def main() -> None:
    careful = which_model("Leaf & Letter; it may be mistaken for a bookshop.", "Yes, the domain is available.")
    bold = which_model("Steep.")
    judge = LlmJudge(which_model("2: it is short and describes the product."))
    agent = Agent(careful, system_prompt=CAREFUL)

    chosen = await run_parallel(
        agent, QUESTION, [ParallelVariant(careful), ParallelVariant(bold, system_prompt=BOLD)], judge
    )

    for outcome in chosen.outcomes:
        mark = "*" if outcome.index == chosen.selected_index else " "
        print(f"{mark} {outcome.index + 1}. {outcome.result.text}")
    print("because:", chosen.reason)
    print("then:", (await agent.prompt("Is the domain available?")).text)


if __name__ == "__main__":
    asyncio.run(main())
