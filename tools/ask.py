"""ask_user: questions to the person, with choices or free text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import Field, field_validator, model_validator

from harness.messages import JsonObject, JsonValue
from harness.ports.interaction import ask_all
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.user_requests import Answer, Choice, Question
from harness.views import TextView
from tools.typed import Parameters, TypedTool


class AskChoice(Parameters):
    label: str = Field(min_length=1, description="The answer, in a few words.")
    description: str = Field(default="", description="What it would mean.")
    body: str = Field(default="", description="A longer text that it stands for, which the user may edit.")


class AskQuestion(Parameters):
    prompt: str = Field(min_length=1, description="The question, complete in itself.")
    header: str = Field(default="", description="A title of a word or two.")
    choices: list[AskChoice | str] = Field(
        default_factory=list[AskChoice | str],
        max_length=10,
        description="Two to ten answers to choose from, the one you advise first; none for free text.",
    )
    multi_select: bool = Field(default=False, description="Several choices may be taken.")
    editable: bool = Field(default=False, description="Let the user change the text of the choice they take.")
    max_edit_length: int | None = Field(default=None, gt=0, description="Characters that a changed text may have.")

    @field_validator("choices")
    @classmethod
    def _none_or_several(cls, choices: list[AskChoice | str]) -> list[AskChoice | str]:
        if len(choices) == 1:
            raise ValueError("one choice is no choice: give at least two, or none to ask for free text")
        if "" in choices:
            raise ValueError("a choice needs a text")
        return choices


class AskArguments(AskQuestion):
    prompt: str = Field(default="", description="The question, complete in itself; none where there are `questions`.")
    questions: list[AskQuestion] = Field(
        default_factory=list[AskQuestion],
        max_length=4,
        description="Two to four questions that the user answers together, in place of a single one.",
    )
    timeout_s: float | None = Field(default=None, gt=0, description="Seconds to wait; without it, as long as it takes.")

    @model_validator(mode="after")
    def _one_form(self) -> AskArguments:
        if bool(self.prompt) == bool(self.questions):
            raise ValueError("give either `prompt`, for one question, or `questions`, for several")
        prompts = [question.prompt for question in self.questions]
        if len(set(prompts)) < len(prompts):
            raise ValueError("two of the `questions` are the same")
        return self

    @property
    def all(self) -> list[AskQuestion]:
        return self.questions or [self]


class AskTool(TypedTool[AskArguments]):
    name = "ask_user"
    label = "Question"
    Arguments = AskArguments

    def summary(self, arguments: JsonObject) -> str:
        match arguments:
            case {"questions": [{"prompt": str() as prompt}, *others]}:
                more = f" and {len(others)} more" if others else ""
                return f"{' '.join(prompt.split())}{more}"
            case {"prompt": str() as prompt}:
                return " ".join(prompt.split())
            case _:
                return ""

    def risk_of(self, arguments: AskArguments) -> Risk:
        del arguments
        return Risk("none")

    async def execute(self, arguments: AskArguments, context: ToolContext) -> ToolOutput:
        questions = [_question(each, arguments.timeout_s) for each in arguments.all]
        if not arguments.questions:
            answer = await context.user.ask(questions[0])
            return _output(_told(questions[0], answer), _seen(answer))
        answers = await ask_all(context.user, questions)
        pairs = list(zip(questions, answers, strict=True))
        told: list[JsonValue] = [{"question": asked.prompt, **_told(asked, answer)} for asked, answer in pairs]
        seen = "\n".join(f"{asked.header or asked.prompt}: {_seen(answer)}" for asked, answer in pairs)
        return _output({"answers": told}, seen)


def _output(told: JsonObject, seen: str) -> ToolOutput:
    return ToolOutput.text(json.dumps(told, ensure_ascii=False), view=TextView(seen), details=told)


def _question(asked: AskQuestion, timeout: float | None) -> Question:
    choices = tuple(
        Choice(choice) if isinstance(choice, str) else Choice(choice.label, choice.description, choice.body)
        for choice in asked.choices
    )
    return Question(
        prompt=asked.prompt,
        choices=choices,
        editable=asked.editable,
        timeout=timeout,
        header=asked.header,
        multi_select=asked.multi_select and bool(choices),
        max_edit_length=asked.max_edit_length,
    )


def _told(question: Question, answer: Answer) -> JsonObject:
    told: JsonObject = {"status": answer.status, "index": answer.index, "text": answer.text}
    if question.multi_select:
        told |= {"indexes": list(answer.indexes), "other": answer.other}
    return told


def _seen(answer: Answer) -> str:
    return " + ".join(part for part in (answer.text, answer.other) if part) or answer.status.replace("_", " ")


if TYPE_CHECKING:
    _: type[Tool] = AskTool
