from __future__ import annotations

from pathlib import Path

import pytest
from fakes.contexts import tool_context

from harness.errors import InvalidArguments
from harness.messages import JsonObject, Text
from harness.risk import Risk
from harness.views import TodoItem, TodoView
from tools.todo import TodoTool

TWO_STEPS: JsonObject = {
    "todos": [{"content": "read", "status": "completed"}, {"content": "write", "status": "in_progress"}]
}


async def test_list_is_shown_and_answered_briefly(tmp_path: Path) -> None:
    tool = TodoTool()

    output = await tool.run(tool.validate(TWO_STEPS), tool_context(tmp_path))

    assert output.view == TodoView((TodoItem("read", "completed"), TodoItem("write", "in_progress")))
    assert output.content == (Text("Updated: 1 of 2 steps are done."),)
    assert tool.risk(TWO_STEPS) == Risk("none")


@pytest.mark.parametrize(
    ("todos", "reported"),
    [([], "The list is empty."), ([{"content": "read", "status": "completed"}], "All 1 steps are done.")],
)
async def test_empty_and_finished_lists_are_reported(todos: list, reported: str, tmp_path: Path) -> None:
    output = await TodoTool().run({"todos": todos}, tool_context(tmp_path))

    assert output.content == (Text(reported),)


def test_list_that_arrives_as_a_string_is_taken() -> None:
    arguments = TodoTool().validate({"todos": '[{"content": "read", "status": "pending"}]'})

    assert arguments == {"todos": [{"content": "read", "status": "pending"}]}


@pytest.mark.parametrize(
    "todo", [{"content": "x"}, {"content": "", "status": "pending"}, {"content": "x", "status": "?"}]
)
def test_broken_step_is_named(todo: dict) -> None:
    with pytest.raises(InvalidArguments, match=r"todos\[0\]"):
        TodoTool().validate({"todos": [todo]})


def test_summary_names_the_step_in_progress() -> None:
    assert TodoTool().summary(TWO_STEPS) == "1 of 2 done, now: write"
