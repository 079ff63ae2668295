"""Approval by a function of the embedding program."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from harness.ports.interaction import (
    AllowOnce,
    Answer,
    Approval,
    ApprovalRequest,
    BatchQuestions,
    Denied,
    PlanDecision,
    Question,
    UserInteraction,
    ask_all,
)

ApprovalCallback: TypeAlias = Callable[[ApprovalRequest], Awaitable[Approval | bool] | Approval | bool]
"""Decides whether a call may run: True allows it once, False denies it. Usually an async function."""


class CallbackApproval:
    """Asks `callback` about calls, those of subagents included, and `rest` about questions and plans."""

    def __init__(self, callback: ApprovalCallback, rest: UserInteraction) -> None:
        self._callback = callback
        self._rest = rest

    async def approve(self, request: ApprovalRequest) -> Approval:
        answered = self._callback(request)
        answer = await answered if inspect.isawaitable(answered) else answered
        if isinstance(answer, bool):
            return AllowOnce() if answer else Denied()
        if isinstance(answer, typing.get_args(Approval)):
            return answer
        return Denied(f"the approval callback returned {answer!r:.80}, which is neither an approval nor a bool")

    async def ask(self, question: Question) -> Answer:
        return await self._rest.ask(question)

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        return await ask_all(self._rest, questions)

    async def review_plan(self, plan: str) -> PlanDecision:
        return await self._rest.review_plan(plan)


if TYPE_CHECKING:
    _: type[BatchQuestions] = CallbackApproval
