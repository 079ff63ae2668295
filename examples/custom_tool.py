"""Functions as tools: type hints define the schema, docstrings describe the tool to the model."""

from __future__ import annotations

import asyncio
from typing import Literal

from which_model import which_model

from harness import Agent, BlockDelta, MessageUpdate, ToolExecutionEnd, ToolExecutionStart, tool
from providers.demo import Call, Reply

STOCK = {"tea": 12, "coffee": 0}


@tool(risk="read", cacheable=True)
def in_stock(article: str) -> int:
    """Return the stock of an article.

    Args:
        article: Name of the article, in the singular.
    """
    return STOCK[article]


@tool(risk="none")
async def price(article: str, currency: Literal["EUR", "USD"] = "EUR") -> dict[str, object]:
    """Return the price of an article."""
    await asyncio.sleep(0)  # a database query would be here
    return {"article": article, "price": 4.5, "currency": currency}


SCRIPT = (
    Reply((Call("in_stock", {"article": "tea"}), Call("price", {"article": "tea", "currency": "GBP"}))),
    Reply((Call("price", {"article": "tea", "currency": "EUR"}),)),
    "There are 12 boxes of tea, at 4.50 EUR each.",
)


async def main() -> None:
    agent = Agent(which_model(*SCRIPT), [in_stock, price], "You work in a shop.")
    async for event in agent.stream("Is there tea, and what does it cost?"):
        match event:
            case MessageUpdate(kind="text", delta=BlockDelta(text=text)):
                print(text, end="")
            case ToolExecutionStart(label=label, summary=summary):
                print(f"[{label}: {summary}]")
            case ToolExecutionEnd(result=result):
                print(f"[{result.text.splitlines()[0]}]")
            case _:
                pass
    print()


if __name__ == "__main__":
    asyncio.run(main())
