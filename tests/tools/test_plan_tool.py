from __future__ import annotations

from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.people import ScriptedUser

from harness.risk import Risk
from harness.user_requests import PlanDecision
from tools.plan import PlanTool


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

    text = "".join(block.text for block in output.content)
    assert all(part in text for part in parts)
    assert user.plans == ["# Goal"]
    assert output.details == {"accepted": verdict.accepted}
    assert not output.is_error


def test_submitting_a_plan_alone_changes_nothing() -> None:
    assert PlanTool().risk({"plan": "x"}) == Risk("none")
    assert not PlanTool.mutates
    assert PlanTool().summary({"plan": "\n# Split the parser\n\n1. …"}) == "Split the parser"
