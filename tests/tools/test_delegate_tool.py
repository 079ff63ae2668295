from __future__ import annotations

from pathlib import Path

import pytest
from fakes.contexts import tool_context
from msgspec.structs import replace

from harness.agent.subagents.spawn import DELEGATE
from harness.approval.modes import EXECUTE, PLAN
from harness.errors import InvalidArguments
from harness.messages import JsonObject
from harness.ports.tool import SubagentTask, ToolOutput
from harness.risk import Risk
from harness.views import TextView, View
from tools.delegate import DelegateTool

TASK: JsonObject = {"task": "Find the cause.\nLook in a.py.", "name": "cause", "tools": ["read_file"]}


async def test_task_of_the_model_is_passed_on(tmp_path: Path) -> None:
    handed: list[SubagentTask] = []
    shown: list[View] = []

    async def delegate(delegation: SubagentTask) -> ToolOutput:
        handed.append(delegation)
        delegation.update(TextView("begins"))
        return ToolOutput.text("It is in line 3.")

    tool = DelegateTool()
    context = replace(tool_context(tmp_path, update=shown.append), delegate=delegate)

    output = await tool.run(tool.validate(TASK), context)

    assert output == ToolOutput.text("It is in line 3.")
    (asked,) = handed
    assert (asked.task, asked.name, asked.tools) == (TASK["task"], "cause", ("read_file",))
    assert asked.call_id == "call/1"
    assert shown == [TextView("begins")]


async def test_without_subagents_the_error_explains_what_to_do(tmp_path: Path) -> None:
    tool = DelegateTool()

    output = await tool.run(tool.validate({"task": "Find it."}), tool_context(tmp_path))

    assert output == ToolOutput.failure("No further subagents are allowed here. Do the task yourself.")


def test_it_has_no_risk_and_works_in_every_mode() -> None:
    tool = DelegateTool()

    assert tool.risk(tool.validate(TASK)) == Risk("none")
    assert PLAN.allows(tool)
    assert EXECUTE.allows(tool)


@pytest.mark.parametrize("arguments", [{}, {"task": ""}, {"task": "x", "model": "y"}, {"task": "x", "name": "n" * 41}])
def test_arguments_that_do_not_fit_are_refused(arguments: JsonObject) -> None:
    with pytest.raises(InvalidArguments, match="delegate_subagent do not fit"):
        DelegateTool().validate(arguments)


@pytest.mark.parametrize(
    ("arguments", "summary"),
    [(TASK, "cause"), ({"task": "Find it.\nNow."}, "Find it."), ({"task": 1, "name": ["x"]}, ""), ({"task": " "}, "")],
)
def test_the_summary_is_its_name_or_the_start_of_the_task(arguments: JsonObject, summary: str) -> None:
    assert DelegateTool().summary(arguments) == summary


def test_the_harness_knows_it_by_its_name() -> None:
    assert DelegateTool().name == DELEGATE
