"""Users who answer from a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.ports.interaction import UserInteraction
from harness.user_requests import AllowOnce, Answer, Approval, ApprovalRequest, Denied, Plan, PlanDecision, Question


class ScriptedUser:
    """User that approves once by default and records the requests."""

    def __init__(self) -> None:
        self.approvals: list[Approval] = []
        self.answers: list[Answer] = []
        self.verdicts: list[PlanDecision] = []
        self.asked: list[ApprovalRequest] = []
        self.questions: list[Question] = []
        self.plans: list[str] = []

    def deny(self, reason: str = "") -> None:
        self.approvals.append(Denied(reason))

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        return self.approvals.pop(0) if self.approvals else AllowOnce()

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self.answers.pop(0) if self.answers else Answer("skipped")

    async def review_plan(self, plan: Plan) -> PlanDecision:
        self.plans.append(plan.text)
        return self.verdicts.pop(0) if self.verdicts else PlanDecision(accepted=True)


if TYPE_CHECKING:
    _: type[UserInteraction] = ScriptedUser
