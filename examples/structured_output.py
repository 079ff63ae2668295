"""Structured output as a pydantic model; validation errors go back to the model, which tries again."""

from __future__ import annotations

from pydantic import BaseModel, Field
from which_model import which_model

from harness import Agent, StructuredOutputFailed
from harness.agent.structured import ANSWER
from providers.demo import Call, Reply


class Item(BaseModel):
    article: str
    count: int = Field(gt=0)


class Order(BaseModel):
    customer: str
    items: list[Item]


LETTER = "Dear shop, please send us two boxes of tea and a kettle. Yours, Ada Byron"
SCRIPT = (
    Reply((Call(ANSWER, {"customer": "Ada Byron", "items": [{"article": "tea", "count": "two"}]}),)),
    Reply(
        (
            Call(
                ANSWER,
                {"customer": "Ada Byron", "items": [{"article": "tea", "count": 2}, {"article": "kettle", "count": 1}]},
            ),
        )
    ),
)

agent = Agent(which_model(*SCRIPT), system_prompt="You read orders.")
try:
    order = agent.prompt_structured_sync(LETTER, Order)
except StructuredOutputFailed as failure:
    raise SystemExit(f"no order after {failure.attempts} attempts: {failure.last_error}") from failure
for item in order.items:
    print(f"{order.customer}: {item.count} x {item.article}")
