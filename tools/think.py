"""think: a place for the model to reason between calls, if the user enables this tool."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.views import TextView
from tools.typed import Parameters, TypedTool


class ThinkArguments(Parameters):
    thought: Annotated[str, Meta(min_length=1, description="The thought.")]


class ThinkTool(TypedTool[ThinkArguments]):
    name = "think"
    label = "Think"
    risk_level = "none"
    Arguments = ThinkArguments

    def summary(self, arguments: JsonObject) -> str:
        thought = arguments.get("thought")
        return thought.strip().partition("\n")[0] if isinstance(thought, str) else ""

    async def execute(self, arguments: ThinkArguments, context: ToolContext) -> ToolOutput:
        # The call itself keeps the thought in the context.
        return ToolOutput.text("Noted.", view=TextView(arguments.thought, language="markdown"))
