from __future__ import annotations

from typing import Any

import pytest
from fakes.mcp_servers import ScriptedAnswers

from tools.mcp.elicitation import Form, FormAnswer

FIELDS: dict[str, Any] = {
    "name": {"type": "string", "title": "Your name", "minLength": 2},
    "mail": {"type": "string", "format": "email"},
    "age": {"type": "integer", "minimum": 18, "maximum": 99},
    "price": {"type": "number", "default": 1.5},
    "agrees": {"type": "boolean"},
    "color": {"type": "string", "enum": ["red", "green"], "enumNames": ["Red", "Green"]},
    "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
}


def form(*names: str, required: tuple[str, ...] = ()) -> Form:
    properties = {name: FIELDS[name] for name in names}
    return Form("shop", "An order.", {"type": "object", "properties": properties, "required": [*required]})


async def test_each_field_is_asked_for_in_its_type() -> None:
    scripted = ScriptedAnswers("Ada", "ada@example.org", "36", "1.5", "No", "Green", "Large")

    answer = await form(*FIELDS, required=tuple(FIELDS)).ask(scripted)

    assert answer == FormAnswer(
        "accept",
        {
            "name": "Ada",
            "mail": "ada@example.org",
            "age": 36,
            "price": 1.5,
            "agrees": False,
            "color": "green",
            "size": "l",
        },
    )
    assert scripted.questions[0].prompt == "The MCP server shop asks: An order.\n\nYour name"
    assert [each.label for each in scripted.questions[-1].choices] == ["Small", "Large", "Decline"]
    assert [each.free_text for each in scripted.questions] == [True, True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("name", "wrong", "right", "problem"),
    [
        ("name", "A", "Ada", "Enter at least 2 characters."),
        ("mail", "ada", "a@b.org", "Enter an email address."),
        ("age", "old", "20", "Enter a whole number."),
        ("age", "17", "20", "Enter a number of at least 18."),
        ("age", "100", "20", "Enter a number of at most 99."),
        ("price", "nan", "2", "Enter a number."),
    ],
)
async def test_invalid_value_is_asked_for_again(name: str, wrong: str, right: str, problem: str) -> None:
    scripted = ScriptedAnswers(wrong, right)

    answer = await form(name, required=(name,)).ask(scripted)

    assert answer.action == "accept"
    assert scripted.questions[1].prompt.endswith(problem)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("Ada", None), FormAnswer("cancel")),
        (("Ada", "Decline"), FormAnswer("decline")),
        (("Ada", "Leave out"), FormAnswer("accept", {"name": "Ada"})),
        (("A", "A", "A"), FormAnswer("cancel")),
    ],
)
async def test_form_is_cancelled_declined_or_answered_in_part(
    answers: tuple[str | None, ...], expected: FormAnswer
) -> None:
    assert await form("name", "age", required=("name",)).ask(ScriptedAnswers(*answers)) == expected


@pytest.mark.parametrize(("answer", "action"), [("Accept", "accept"), ("Decline", "decline"), (None, "cancel")])
async def test_form_without_fields_is_a_confirmation(answer: str | None, action: str) -> None:
    assert (await form().ask(ScriptedAnswers(answer))).action == action


@pytest.mark.parametrize(
    "schema", [{}, {"properties": 7}, {"properties": {"a": 7}}, {"properties": {"a": {"enum": 7}}}]
)
async def test_malformed_form_does_no_harm(schema: dict[str, Any]) -> None:
    assert (await Form("shop", "?", schema).ask(ScriptedAnswers(None))).action == "cancel"


async def test_form_with_too_many_fields_is_declined_unasked() -> None:
    schema = {"properties": {f"field-{number}": {"type": "string"} for number in range(1000)}}

    assert (await Form("shop", "?", schema).ask(ScriptedAnswers())).action == "decline"
