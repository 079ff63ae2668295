"""One prompt to several models at once; one answer is chosen, and the conversation goes on with it."""

from __future__ import annotations

import asyncio

from which_model import which_model

from harness import Agent, LlmJudge, ParallelVariant, run_parallel

QUESTION = "What is a good name for a web shop that sells tea?"
CAREFUL = "You are careful: you offer one name, and say what speaks against it."
BOLD = "You are bold: you offer one name, and nothing else."


async def main() -> None:
    careful = which_model("Leaf & Letter; it may be taken for a bookshop.", "Gladly: the domain is free.")
    bold = which_model("Steep.")
    judge = LlmJudge(which_model("2: it is short, and it says what is sold."))
    agent = Agent(careful, system_prompt=CAREFUL)

    chosen = await run_parallel(
        agent, QUESTION, [ParallelVariant(careful), ParallelVariant(bold, system_prompt=BOLD)], judge
    )

    for outcome in chosen.outcomes:
        mark = "*" if outcome.index == chosen.selected_index else " "
        print(f"{mark} {outcome.index + 1}. {outcome.result.text}")
    print("because:", chosen.reason)
    print("then:", (await agent.prompt("Is the domain free?")).text)


if __name__ == "__main__":
    asyncio.run(main())
