from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.people import ScriptedPerson

from harness.errors import InvalidArguments
from harness.person import Answer, Choice, Nobody, Question
from harness.tool import Risk, ToolOutput
from tools.ask import AskTool


def told(output: ToolOutput) -> dict:
    return json.loads("".join(block.text for block in output.content))


async def test_question_reaches_the_person_as_asked(tmp_path: Path) -> None:
    tool, person = AskTool(), ScriptedPerson()
    arguments = {
        "prompt": "Which one?",
        "choices": ["red", {"label": "blue", "description": "like the sky"}],
        "editable": True,
        "timeout_s": 5,
    }

    await tool.run(tool.validate(arguments), tool_context(tmp_path, person))

    assert person.questions == [Question("Which one?", (Choice("red"), Choice("blue", "like the sky")), True, 5.0)]


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
async def test_answer_is_told_as_json(answer: Answer, tmp_path: Path) -> None:
    person = ScriptedPerson()
    person.answers.append(answer)

    output = await AskTool().run({"prompt": "?"}, tool_context(tmp_path, person))

    assert told(output) == {"status": answer.status, "index": answer.index, "text": answer.text}
    assert not output.is_error


async def test_nobody_there_is_an_immediate_timeout() -> None:
    answer = await Nobody().ask(Question("?"))

    assert answer.status == "timed_out"


@pytest.mark.parametrize("choices", [["only"], ["x"] * 11, ["", "x"], [{"label": ""}, "x"], [{"text": "x"}, "y"]])
def test_one_choice_too_many_or_empty_ones_are_refused(choices: list) -> None:
    with pytest.raises(InvalidArguments, match="choices"):
        AskTool().validate({"prompt": "?", "choices": choices})


def test_one_choice_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidArguments, match="at least two, or none to ask for free text"):
        AskTool().validate({"prompt": "?", "choices": ["only"]})


def test_asking_needs_no_approval() -> None:
    assert AskTool().risk({"prompt": "?"}) == Risk("none")
    assert AskTool().summary({"prompt": "Which\n one?"}) == "Which one?"
