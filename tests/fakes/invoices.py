"""Valid and invalid structured outputs, and the events around them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from harness.agent.structured import ANSWER
from harness.messages import JsonObject, JsonValue
from providers.demo import Call, Reply, Say

BEGINNING = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd"]
REPLY = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
CALLED = ["ToolCallsReceived", "ToolExecutionStart", "ToolExecutionEnd", "MessageStart", "MessageEnd", "TurnEnd"]
REPORTED = ["TurnStart", "MessageStart", "MessageEnd"]
"""Return the events of a turn that starts with a program message to the model."""
SCHEMA: JsonObject = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}


class Line(BaseModel):
    name: str
    price: Annotated[float, Field(ge=0)]


class Invoice(BaseModel):
    number: str
    lines: list[Line]


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


@dataclass
class Point:
    x: int
    y: int = 0


class Named(TypedDict):
    name: str


GOOD: JsonObject = {"number": "7", "lines": [{"name": "tea", "price": 2.5}]}
BAD: JsonObject = {"number": "7", "lines": [{"name": "tea", "price": -1}]}
INVOICE = Invoice(number="7", lines=[Line(name="tea", price=2.5)])


def answer(value: JsonObject) -> Reply:
    return Reply((Call(ANSWER, value),))


def broken(written: str = '{"number": "7", "lin') -> Reply:
    return Reply((Call(ANSWER, {}, raw=written),))


def said(value: JsonValue) -> Reply:
    return Reply((Say(json.dumps(value)),))


def whole(seen) -> list[str]:
    """Return the events without the streamed pieces."""
    return [name for name in seen.names if name != "MessageUpdate"]
