"""ask_user: questions to the user, with choices or free text."""

from __future__ import annotations

import json
from typing import Annotated

from msgspec import Meta, field

from harness.messages import JsonObject, JsonValue
from harness.ports.interaction import ask_all
from harness.ports.tool import ToolContext, ToolOutput
from harness.user_requests import Answer, Choice, Question
from harness.views import TextView
from tools.typed import Parameters, TypedTool


class AskChoice(Parameters):
    label: Annotated[str, Meta(min_length=1, description="The answer, in a few words.")]
    description: Annotated[str, Meta(description="What it means.")] = ""
    body: Annotated[str, Meta(description="Longer text behind the label, which the user may edit.")] = ""


class AskQuestion(Parameters):
    prompt: Annotated[str, Meta(min_length=1, description="The question, complete in itself.")]
    header: Annotated[str, Meta(description="A title of one or two words.")] = ""
    choices: Annotated[
        list[AskChoice | str],
        Meta(
            max_length=10,
            description="Two to ten answers, your recommendation first; none for free text.",
        ),
    ] = field(default_factory=list[AskChoice | str])
    multi_select: Annotated[bool, Meta(description="Allow several choices.")] = False
    editable: Annotated[bool, Meta(description="Let the user edit the text of the chosen answer.")] = False
    max_edit_length: Annotated[
        Annotated[int, Meta(gt=0)] | None, Meta(description="Most characters of the edited text.")
    ] = None

    def __post_init__(self) -> None:
        if len(self.choices) == 1:
            raise ValueError("one choice is not enough for `choices`: give at least two, or none to ask for free text")
        if "" in self.choices:
            raise ValueError("each of the `choices` needs a text")


_TEXT: JsonObject = {"type": "string"}
_CHOICE: JsonObject = {
    "type": "object",
    "properties": {"label": _TEXT, "description": _TEXT},
    "required": ["label"],
}
_BRIEF: JsonObject = {
    "type": "object",
    "properties": {
        "prompt": _TEXT,
        "header": _TEXT,
        "choices": {"type": "array", "items": {"anyOf": [_TEXT, _CHOICE]}},
        "multi_select": {"type": "boolean"},
    },
    "required": ["prompt"],
}
"""Schema of `AskQuestion` with its most used fields; a single question has all of them, with descriptions."""


class AskArguments(AskQuestion):
    prompt: Annotated[str, Meta(description="The question, complete in itself.")] = ""
    questions: Annotated[
        list[AskQuestion],
        Meta(
            max_length=4,
            description="Two to four questions with the fields above, answered together; instead of one.",
        ),
    ] = field(default_factory=list[AskQuestion])
    timeout_s: Annotated[
        Annotated[float, Meta(gt=0)] | None, Meta(description="Seconds to wait; without it, wait indefinitely.")
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.prompt) == bool(self.questions):
            raise ValueError("give either `prompt`, for one question, or `questions`, for several")
        prompts = [question.prompt for question in self.questions]
        if len(set(prompts)) < len(prompts):
            raise ValueError("two of the `questions` are the same")

    @property
    def all(self) -> list[AskQuestion]:
        return self.questions or [self]


class AskTool(TypedTool[AskArguments]):
    name = "ask_user"
    label = "Question"
    risk_level = "none"
    Arguments = AskArguments

    @property
    def parameters(self) -> JsonObject:
        schema = super().parameters
        properties = schema["properties"]
        assert isinstance(properties, dict)
        questions = properties["questions"]
        assert isinstance(questions, dict)
        return {**schema, "properties": {**properties, "questions": {**questions, "items": _BRIEF}}}

    def summary(self, arguments: JsonObject) -> str:
        match arguments:
            case {"questions": [{"prompt": str() as prompt}, *others]}:
                more = f" and {len(others)} more" if others else ""
                return f"{' '.join(prompt.split())}{more}"
            case {"prompt": str() as prompt}:
                return " ".join(prompt.split())
            case _:
                return ""

    async def execute(self, arguments: AskArguments, context: ToolContext) -> ToolOutput:
        questions = [_question(each, arguments.timeout_s) for each in arguments.all]
        if not arguments.questions:
            answer = await context.user.ask(questions[0])
            return _output(_answer_fields(questions[0], answer), _answer_text(answer))
        answers = await ask_all(context.user, questions)
        pairs = list(zip(questions, answers, strict=True))
        fields: list[JsonValue] = [
            {"question": asked.prompt, **_answer_fields(asked, answer)} for asked, answer in pairs
        ]
        shown = "\n".join(f"{asked.header or asked.prompt}: {_answer_text(answer)}" for asked, answer in pairs)
        return _output({"answers": fields}, shown)


def _output(fields: JsonObject, shown: str) -> ToolOutput:
    return ToolOutput.text(json.dumps(fields, ensure_ascii=False), view=TextView(shown), details=fields)


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


def _answer_fields(question: Question, answer: Answer) -> JsonObject:
    fields: JsonObject = {"status": answer.status, "index": answer.index, "text": answer.text}
    if question.multi_select:
        fields |= {"indexes": list(answer.indexes), "other": answer.other}
    return fields


def _answer_text(answer: Answer) -> str:
    return " + ".join(part for part in (answer.text, answer.other) if part) or answer.status.replace("_", " ")
