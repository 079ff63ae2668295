"""Wrappers around a `UserInteraction`: answer by callback, publish questions, serialize them, name who asks."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from harness.events import QuestionAnswered, QuestionAsked
from harness.ports.interaction import BatchQuestions, UserInteraction, ask_all, denies_calls
from harness.publishing import Bus
from harness.user_requests import AllowOnce, Answer, Approval, ApprovalRequest, Denied, Plan, PlanDecision, Question

ApprovalCallback: TypeAlias = Callable[[ApprovalRequest], Awaitable[Approval | bool] | Approval | bool]
"""Function, usually async, that decides on a call: True allows it once, False denies it."""


class CallbackApproval(BatchQuestions):
    """Delegates approvals, those of subagents included, to `callback`, and questions and plans to `fallback`."""

    def __init__(self, callback: ApprovalCallback, fallback: UserInteraction) -> None:
        self._callback = callback
        self._fallback = fallback

    async def approve(self, request: ApprovalRequest) -> Approval:
        answered = self._callback(request)
        answer = await answered if inspect.isawaitable(answered) else answered
        if isinstance(answer, bool):
            return AllowOnce() if answer else Denied()
        if isinstance(answer, typing.get_args(Approval)):
            return answer
        return Denied(f"the approval callback returned {answer!r:.80}, which is neither an approval nor a bool")

    async def ask(self, question: Question) -> Answer:
        return await self._fallback.ask(question)

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        return await ask_all(self._fallback, questions)

    async def review_plan(self, plan: Plan) -> PlanDecision:
        return await self._fallback.review_plan(plan)


class SharedInteraction(BatchQuestions):
    """User shared by several agents: one question at a time."""

    def __init__(self, user: UserInteraction, lock: asyncio.Lock) -> None:
        self.denies_calls = denies_calls(user)
        self._user = user
        self._lock = lock

    async def approve(self, request: ApprovalRequest) -> Approval:
        async with self._lock:
            return await self._user.approve(request)

    async def ask(self, question: Question) -> Answer:
        async with self._lock:
            return await self._user.ask(question)

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        async with self._lock:
            return await ask_all(self._user, questions)

    async def review_plan(self, plan: Plan) -> PlanDecision:
        async with self._lock:
            return await self._user.review_plan(plan)


class ObservedInteraction(SharedInteraction):
    """Forwards the questions of a call to `user`, one at a time under `lock`, and publishes them."""

    def __init__(self, user: UserInteraction, lock: asyncio.Lock, bus: Bus, call_id: str) -> None:
        super().__init__(user, lock)
        self._bus = bus
        self._call_id = call_id

    async def ask(self, question: Question) -> Answer:
        (answer,) = await self._observed((question,), lambda: _as_tuple(self._user.ask(question)))
        return answer

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        return await self._observed(questions, lambda: ask_all(self._user, questions))

    async def _observed(
        self, questions: Sequence[Question], ask: Callable[[], Awaitable[tuple[Answer, ...]]]
    ) -> tuple[Answer, ...]:
        """Publish questions and answers. Answers are published on every path; cancelled questions count as skipped."""
        async with self._lock:
            for question in questions:
                self._bus.publish(QuestionAsked(call_id=self._call_id, question=question))
            answers = (Answer("skipped"),) * len(questions)
            try:
                answers = await ask()
            finally:
                for answer in answers:
                    self._bus.publish(QuestionAnswered(call_id=self._call_id, answer=answer))
            return answers


async def _as_tuple(answer: Awaitable[Answer]) -> tuple[Answer, ...]:
    return (await answer,)


class AttributedInteraction(BatchQuestions):
    """User as seen by a subagent: each question names who asks."""

    def __init__(self, user: UserInteraction, name: str) -> None:
        self.denies_calls = denies_calls(user)
        self._user = user
        self._name = name

    async def approve(self, request: ApprovalRequest) -> Approval:
        others = tuple(self._named(each) for each in request.others)
        return await self._user.approve(replace(self._named(request), others=others))

    async def ask(self, question: Question) -> Answer:
        return await self._user.ask(self._asked(question))

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        return await ask_all(self._user, [self._asked(question) for question in questions])

    async def review_plan(self, plan: Plan) -> PlanDecision:
        return await self._user.review_plan(plan)

    def _asked(self, question: Question) -> Question:
        return replace(question, asker=f"{self._name}: {question.asker}" if question.asker else self._name)

    def _named(self, request: ApprovalRequest) -> ApprovalRequest:
        return replace(request, label=f"{self._name}: {request.label}")
