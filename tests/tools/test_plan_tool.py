from __future__ import annotations

from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.people import ScriptedUser

from harness.errors import InvalidArguments
from harness.messages import JsonValue, Text
from harness.ports.tool import ToolOutput
from harness.risk import Risk
from harness.user_requests import Plan, PlanDecision
from harness.views import TextView
from tools.plan import PlanTool


def text_of(output: ToolOutput) -> str:
    return "".join(block.text for block in output.content if isinstance(block, Text))


@pytest.mark.parametrize(
    ("verdict", "parts"),
    [
        (PlanDecision(accepted=True), ["accepted", "carry the plan out now"]),
        (PlanDecision(accepted=True, feedback="mind the tests"), ["carry the plan out now", "mind the tests"]),
        (PlanDecision(accepted=False, feedback="too big"), ["not accepted: too big", "revise the plan"]),
        (PlanDecision(accepted=False), ["not accepted", "ask what to change"]),
    ],
)
async def test_verdict_is_reported_with_what_to_do_next(
    verdict: PlanDecision, parts: list[str], tmp_path: Path
) -> None:
    user = ScriptedUser()
    user.verdicts.append(verdict)

    output = await PlanTool().run({"plan": "# Goal"}, tool_context(tmp_path, user))

    text = text_of(output)
    assert all(part in text for part in parts)
    assert user.plans == ["# Goal"]
    assert output.details == {"accepted": verdict.accepted}
    assert not output.is_error


OPTIONS: list[JsonValue] = [{"name": "Patch", "description": "small"}, {"name": "Rewrite"}]


@pytest.mark.parametrize(
    ("decision", "part", "option"),
    [
        (PlanDecision(accepted=True, option="Rewrite"), "The user chose 'Rewrite'.", "Rewrite"),
        (PlanDecision(accepted=True), "chose none of the options", None),
    ],
)
async def test_chosen_option_is_reported_and_shown(
    decision: PlanDecision, part: str, option: str | None, tmp_path: Path
) -> None:
    user = ScriptedUser()
    user.verdicts.append(decision)

    output = await PlanTool().run(
        {"plan": "Do it", "title": "Prices", "options": OPTIONS}, tool_context(tmp_path, user)
    )

    assert part in text_of(output)
    assert (output.details or {}).get("option") == option
    assert isinstance(output.view, TextView)
    assert output.view.text.startswith("# Prices\n\nDo it")
    assert ("2. **Rewrite** (chosen)" in output.view.text) is (option is not None)


@pytest.mark.parametrize("options", [OPTIONS[:1], OPTIONS * 2, [*OPTIONS, {"description": "x"}]])
def test_options_without_a_choice_are_rejected(options: list[JsonValue]) -> None:
    with pytest.raises(InvalidArguments, match="options"):
        PlanTool().validate({"plan": "x", "options": options})


class Editor(ScriptedUser):
    """User who changes the file of a plan, then decides."""

    def __init__(self, content: str, decision: PlanDecision) -> None:
        super().__init__()
        self.content = content
        self.decision = decision

    async def review_plan(self, plan: Plan) -> PlanDecision:
        assert plan.file is not None
        assert plan.file.read_text() == plan.text
        plan.file.write_text(self.content)
        return self.decision


@pytest.mark.parametrize(
    ("content", "decision", "final"),
    [
        ("Only step 1\n", PlanDecision(accepted=True), "Only step 1"),
        ("Only step 1\n", PlanDecision(accepted=True, plan="Only step 2"), "Only step 2"),
        (" \n", PlanDecision(accepted=True), "Steps 1 and 2"),
        ("Only step 1\n", PlanDecision(accepted=False), "Steps 1 and 2"),
    ],
)
async def test_accepted_plan_is_what_its_file_contains_at_that_moment(
    content: str, decision: PlanDecision, final: str, tmp_path: Path
) -> None:
    output = await PlanTool().run({"plan": "Steps 1 and 2"}, tool_context(tmp_path, Editor(content, decision)))

    is_edited = final != "Steps 1 and 2"
    assert isinstance(output.view, TextView)
    assert output.view.text == final
    assert ("The user edited the plan. Carry out this version:\n" + final in text_of(output)) is is_edited


async def test_plan_without_a_writable_folder_is_reviewed_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "spill").write_text("a file in the way")

    output = await PlanTool().run({"plan": "Do it"}, tool_context(tmp_path))

    assert output.details == {"accepted": True}
    assert "plan-" not in text_of(output)


def test_submitting_a_plan_alone_changes_nothing() -> None:
    assert PlanTool().risk({"plan": "x"}) == Risk("none")
    assert not PlanTool.mutates
    assert PlanTool().summary({"plan": "\n# Split the parser\n\n1. …"}) == "Split the parser"
