"""Custom types and tools of a program, and the events of a run that calls one."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from fakes.contexts import tool_context
from pydantic import BaseModel

from harness.function_tools.function_tool import FunctionTool, SchemaTool, tool
from harness.messages import JsonValue
from harness.ports.tool import ToolOutput

REPLIED = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
BEGUN = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd", *REPLIED]
ASKED = ["ToolApprovalRequested", "ToolApprovalResolved"]
CALLED = ["ToolCallsReceived", "ToolExecutionStart", "ToolExecutionEnd", "MessageStart", "MessageEnd", "TurnEnd"]
LAST = ["TurnStart", *REPLIED, "TurnEnd", "AgentEnd"]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Part(BaseModel):
    name: str
    parts: list[Part] = []


@dataclass
class Place:
    x: int
    y: int = 0


class Till:
    """Object whose methods can be tools."""

    def __init__(self) -> None:
        self.sum = 0

    def add(self, amount: int) -> int:
        """Adds to the sum."""
        self.sum += amount
        return self.sum

    async def __call__(self, amount: int) -> int:
        """Adds it all."""
        return self.add(amount)


@tool(risk="read")
async def forecast(city: str, days: int = 1) -> str:
    """Tells the weather."""
    return f"{days} days of rain in {city}"


async def output(of: FunctionTool | SchemaTool, folder: Path, **arguments: JsonValue) -> ToolOutput:
    """Return the output of a call of the tool, without an agent."""
    return await of.run(of.validate(arguments), tool_context(folder))


def whole(names: list[str]) -> list[str]:
    """Return the events without the streamed pieces."""
    return [name for name in names if name != "MessageUpdate"]
