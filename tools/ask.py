"""ask_user: a question to the person, with choices or free text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from harness.messages import JsonObject
from harness.person import Choice, Question
from harness.tool import Risk, Tool, ToolContext, ToolOutput
from harness.views import TextView
from tools.typed import Parameters, TypedTool


class AskChoice(Parameters):
    label: str = Field(min_length=1, description="The answer, in a few words.")
    description: str = Field(default="", description="What it would mean.")


class AskArguments(Parameters):
    prompt: str = Field(min_length=1, description="The question, complete in itself.")
    choices: list[AskChoice | str] = Field(
        default_factory=list[AskChoice | str],
        max_length=10,
        description="Two to ten answers to choose from, the one you advise first; none for free text.",
    )
    editable: bool = Field(default=False, description="Let the person change the text of the choice they take.")
    timeout_s: float | None = Field(default=None, gt=0, description="Seconds to wait; without it, as long as it takes.")

    @field_validator("choices")
    @classmethod
    def _none_or_several(cls, choices: list[AskChoice | str]) -> list[AskChoice | str]:
        if len(choices) == 1:
            raise ValueError("one choice is no choice: give at least two, or none to ask for free text")
        if "" in choices:
            raise ValueError("a choice needs a text")
        return choices


class AskTool(TypedTool[AskArguments]):
    name = "ask_user"
    label = "Question"
    Arguments = AskArguments

    def summary(self, arguments: JsonObject) -> str:
        prompt = arguments.get("prompt")
        return " ".join(prompt.split()) if isinstance(prompt, str) else ""

    def judge(self, arguments: AskArguments) -> Risk:
        del arguments
        return Risk("none")

    async def execute(self, arguments: AskArguments, context: ToolContext) -> ToolOutput:
        choices = tuple(
            Choice(choice) if isinstance(choice, str) else Choice(choice.label, choice.description)
            for choice in arguments.choices
        )
        question = Question(arguments.prompt, choices, arguments.editable, arguments.timeout_s)
        answer = await context.person.ask(question)
        told: JsonObject = {"status": answer.status, "index": answer.index, "text": answer.text}
        seen = TextView(answer.text or answer.status.replace("_", " "))
        return ToolOutput.text(json.dumps(told, ensure_ascii=False), view=seen, details=told)


if TYPE_CHECKING:
    _: type[Tool] = AskTool
