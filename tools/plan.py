"""submit_plan: the model's way out of plan mode, with the user's approval."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from harness.messages import JsonObject, Text
from harness.ports.tool import ToolContext, ToolOutput
from harness.user_requests import PlanDecision
from harness.views import TextView
from tools.typed import Parameters, TypedTool

UNASKED = "The plan was not reviewed, because no user could be asked. The run ends with the plan as its answer."


class PlanArguments(Parameters):
    plan: Annotated[str, Meta(min_length=1, description="The whole plan, in Markdown.")]


class PlanTool(TypedTool[PlanArguments]):
    name = "submit_plan"
    label = "Plan"
    risk_level = "none"
    Arguments = PlanArguments

    def summary(self, arguments: JsonObject) -> str:
        plan = arguments.get("plan")
        lines = plan.strip().splitlines() if isinstance(plan, str) else []
        return lines[0].lstrip("# ") if lines else ""

    async def execute(self, arguments: PlanArguments, context: ToolContext) -> ToolOutput:
        decision = await context.propose_plan(arguments.plan)
        view = TextView(decision.plan or arguments.plan, language="markdown")
        if decision.non_interactive:
            return ToolOutput((Text(UNASKED),), view, {"accepted": False}, terminate=True)
        return ToolOutput.text(_decision_text(decision), view=view, details={"accepted": decision.accepted})


def _decision_text(decision: PlanDecision) -> str:
    feedback = decision.feedback.strip()
    if decision.accepted:
        remark = f" The user adds: {feedback}" if feedback else ""
        edited = f"\n\nThe user edited the plan. Carry out this version:\n{decision.plan}" if decision.plan else ""
        return f"The user accepted the plan. Plan mode is over: carry the plan out now, step by step.{remark}{edited}"
    if feedback:
        return (
            f"The plan was not accepted: {feedback}\n"
            "Plan mode continues. If the feedback asks for a change, revise the plan and submit it again."
        )
    return "The plan was not accepted, and no reason was given. Plan mode continues; ask what to change."
