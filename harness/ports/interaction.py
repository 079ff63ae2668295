"""Port: questions to the user.

The agent asks one question at a time and waits for the answer without a time limit. Aborting the run cancels the
question.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from msgspec.structs import replace

from harness.user_requests import Answer, Approval, ApprovalRequest, Denied, Plan, PlanDecision, Question


class UserInteraction(Protocol):
    """Interface to the user. The run waits for each answer; aborting the run cancels the question."""

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Ask for approval of a tool call."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Ask a question of the model."""
        ...

    async def review_plan(self, plan: Plan) -> PlanDecision:
        """Ask to accept or reject a plan, and to choose one of its options."""
        ...


@runtime_checkable
class BatchQuestions(UserInteraction, Protocol):
    """Interface that can ask several questions at once; other interfaces are asked one question after another."""

    async def ask_all(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """Return one answer per question, in order."""
        ...


async def ask_all(user: UserInteraction, questions: Sequence[Question]) -> tuple[Answer, ...]:
    """Return the answers to several questions, in order. The shortest timeout applies to all of them together."""
    if isinstance(user, BatchQuestions):
        answers = tuple(await user.ask_all(questions))
        return answers[: len(questions)] + (Answer("skipped"),) * (len(questions) - len(answers))
    limit = shortest_timeout(questions)
    ends_at = None if limit is None else time.monotonic() + limit
    return tuple([await _ask_until(user, question, ends_at) for question in questions])


async def _ask_until(user: UserInteraction, question: Question, ends_at: float | None) -> Answer:
    if ends_at is None:
        return await user.ask(question)
    left = ends_at - time.monotonic()
    return await user.ask(replace(question, timeout=left)) if left > 0 else Answer("timed_out")


def shortest_timeout(questions: Sequence[Question]) -> float | None:
    """Return the shortest timeout in seconds, or None if no question has one."""
    return min((each.timeout for each in questions if each.timeout is not None), default=None)


def denies_calls(user: UserInteraction) -> bool:
    """Return the attribute `denies_calls`: True if every call that needs approval is denied. False without it."""
    return getattr(user, "denies_calls", False)


class NonInteractive:
    """No user, as in print mode: every call that needs approval is denied."""

    denies_calls: bool = True

    async def approve(self, request: ApprovalRequest) -> Approval:
        return Denied("no user is available to approve this call; continue without it", non_interactive=True)

    async def ask(self, question: Question) -> Answer:
        return Answer("timed_out")

    async def review_plan(self, plan: Plan) -> PlanDecision:
        return PlanDecision(accepted=False, non_interactive=True)
