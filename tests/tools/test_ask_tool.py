from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.people import ScriptedUser
from msgspec.structs import replace

from harness.errors import InvalidArguments
from harness.messages import JsonObject
from harness.ports.interaction import NonInteractive
from harness.ports.tool import ToolOutput
from harness.risk import Risk
from harness.user_requests import Answer, Choice, Question
from harness.views import TextView
from tools.ask import AskTool


def reported(output: ToolOutput) -> dict:
    return json.loads("".join(block.text for block in output.content))


async def test_question_reaches_the_user_unchanged(tmp_path: Path) -> None:
    tool, user = AskTool(), ScriptedUser()
    arguments = {
        "prompt": "Which one?",
        "choices": ["red", {"label": "blue", "description": "like the sky"}],
        "editable": True,
        "timeout_s": 5,
    }

    await tool.run(tool.validate(arguments), tool_context(tmp_path, user))

    assert user.questions == [Question("Which one?", (Choice("red"), Choice("blue", "like the sky")), True, 5.0)]


@pytest.mark.parametrize(
    "answer",
    [
        Answer("selected", "blue", 1),
        Answer("edited", "dark “blue”", 1),
        Answer("free_text", "green"),
        Answer("skipped"),
        Answer("timed_out"),
    ],
)
async def test_answer_is_reported_as_json(answer: Answer, tmp_path: Path) -> None:
    user = ScriptedUser()
    user.answers.append(answer)

    output = await AskTool().run({"prompt": "?"}, tool_context(tmp_path, user))

    assert reported(output) == {"status": answer.status, "index": answer.index, "text": answer.text}
    assert not output.is_error


SEVERAL: JsonObject = {
    "timeout_s": 9,
    "questions": [
        {"prompt": "Which one?", "header": "Database", "choices": ["SQLite", "PostgreSQL"], "max_edit_length": 80},
        {"prompt": "Which of these?", "choices": ["a", {"label": "b", "body": "b, at length"}], "multi_select": True},
        {"prompt": "Its name?"},
    ],
}


async def test_several_questions_are_asked_and_answered_together(tmp_path: Path) -> None:
    tool, user = AskTool(), ScriptedUser()
    user.answers = [
        Answer("selected", "SQLite", 0),
        Answer("selected", "a, b", indexes=(0, 1), other="c"),
        Answer("timed_out"),
    ]

    output = await tool.run(tool.validate(SEVERAL), tool_context(tmp_path, user))

    first, second, third = user.questions
    assert (first.header, first.max_edit_length, first.multi_select) == ("Database", 80, False)
    assert (second.multi_select, second.choices[1]) == (True, Choice("b", "", "b, at length"))
    assert 0 < (third.timeout or 0) <= 9
    assert reported(output) == {
        "answers": [
            {"question": "Which one?", "status": "selected", "index": 0, "text": "SQLite"},
            {
                "question": "Which of these?",
                "status": "selected",
                "index": None,
                "text": "a, b",
                "indexes": [0, 1],
                "other": "c",
            },
            {"question": "Its name?", "status": "timed_out", "index": None, "text": ""},
        ]
    }
    assert output.view == TextView("Database: SQLite\nWhich of these?: a, b + c\nIts name?: timed out")


async def test_without_a_user_every_question_times_out_at_once(tmp_path: Path) -> None:
    tool = AskTool()

    output = await tool.run(tool.validate(SEVERAL), replace(tool_context(tmp_path), user=NonInteractive()))

    assert [each["status"] for each in reported(output)["answers"]] == ["timed_out"] * 3


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "give either"),
        ({"prompt": "?", "questions": [{"prompt": "!"}]}, "give either"),
        ({"questions": [{"prompt": "?"}] * 2}, "the same"),
        ({"questions": [{"prompt": f"{number}"} for number in range(5)]}, "questions"),
        ({"questions": [{"prompt": "?", "choices": ["only"]}]}, "at least two"),
        ({"questions": [{"choices": ["a", "b"]}]}, "prompt"),
        ({"prompt": "?", "max_edit_length": 0}, "max_edit_length"),
    ],
)
def test_an_invalid_question_is_rejected(arguments: JsonObject, reason: str) -> None:
    with pytest.raises(InvalidArguments, match=reason):
        AskTool().validate(arguments)


def test_summary_is_the_first_question_and_the_number_of_others() -> None:
    assert AskTool().summary(SEVERAL) == "Which one? and 2 more"
    assert AskTool().summary({"questions": "?"}) == ""


async def test_without_a_user_a_question_times_out_at_once() -> None:
    answer = await NonInteractive().ask(Question("?"))

    assert answer.status == "timed_out"


@pytest.mark.parametrize("choices", [["only"], ["x"] * 11, ["", "x"], [{"label": ""}, "x"], [{"text": "x"}, "y"]])
def test_one_choice_too_many_or_empty_ones_are_refused(choices: list) -> None:
    with pytest.raises(InvalidArguments, match="choices"):
        AskTool().validate({"prompt": "?", "choices": choices})


def test_one_choice_is_rejected_with_the_alternative() -> None:
    with pytest.raises(InvalidArguments, match="at least two, or none to ask for free text"):
        AskTool().validate({"prompt": "?", "choices": ["only"]})


def test_asking_needs_no_approval() -> None:
    assert AskTool().risk({"prompt": "?"}) == Risk("none")
    assert AskTool().summary({"prompt": "Which\n one?"}) == "Which one?"
