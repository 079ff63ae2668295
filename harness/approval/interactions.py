"""Wrappers around a `UserInteraction`: answer by callback, publish questions, serialize them, name who asks."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from harness.events import QuestionAnswered, QuestionAsked
from harness.ports.interaction import BatchQuestions, UserInteraction, ask_all
from harness.publishing.bus import Bus
from harness.user_requests import AllowOnce, Answer, Approval, ApprovalRequest, Denied, PlanDecision, Question

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


class ObservedInteraction:
    """Passes a call's questions on to `person`, each once `turn` is free."""

    def __init__(self, person: UserInteraction, turn: asyncio.Lock, bus: Bus, call_id: str) -> None:
        self._person = person
        self._turn = turn
        self._bus = bus
        self._call_id = call_id

    async def approve(self, request: ApprovalRequest) -> Approval:
        async with self._turn:
            return await self._person.approve(request)

    async def ask(self, question: Question) -> Answer:
        """An answer is told to observers on every path: a question that was withdrawn is skipped."""
        async with self._turn:
            self._bus.publish(QuestionAsked(call_id=self._call_id, question=question))
            answer = Answer("skipped")
            try:
                answer = await self._person.ask(question)
            finally:
                self._bus.publish(QuestionAnswered(call_id=self._call_id, answer=answer))
            return answer

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        """As `ask`, of all of them together."""
        async with self._turn:
            for question in questions:
                self._bus.publish(QuestionAsked(call_id=self._call_id, question=question))
            answers = (Answer("skipped"),) * len(questions)
            try:
                answers = await ask_all(self._person, questions)
            finally:
                for answer in answers:
                    self._bus.publish(QuestionAnswered(call_id=self._call_id, answer=answer))
            return answers

    async def review_plan(self, plan: str) -> PlanDecision:
        async with self._turn:
            return await self._person.review_plan(plan)


class SharedInteraction:
    """A person whom several agents ask: one question at a time."""

    def __init__(self, person: UserInteraction, turn: asyncio.Lock) -> None:
        self._person = person
        self._turn = turn

    async def approve(self, request: ApprovalRequest) -> Approval:
        async with self._turn:
            return await self._person.approve(request)

    async def ask(self, question: Question) -> Answer:
        async with self._turn:
            return await self._person.ask(question)

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        async with self._turn:
            return await ask_all(self._person, questions)

    async def review_plan(self, plan: str) -> PlanDecision:
        async with self._turn:
            return await self._person.review_plan(plan)


class AttributedInteraction:
    """The person as a sub-agent asks them: each question tells whose it is."""

    def __init__(self, person: UserInteraction, name: str) -> None:
        self._person = person
        self._name = name

    async def approve(self, request: ApprovalRequest) -> Approval:
        others = tuple(self._named(each) for each in request.others)
        return await self._person.approve(replace(self._named(request), others=others))

    async def ask(self, question: Question) -> Answer:
        return await self._person.ask(self._asked(question))

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        return await ask_all(self._person, [self._asked(question) for question in questions])

    async def review_plan(self, plan: str) -> PlanDecision:
        return await self._person.review_plan(plan)

    def _asked(self, question: Question) -> Question:
        return replace(question, asker=f"{self._name}: {question.asker}" if question.asker else self._name)

    def _named(self, request: ApprovalRequest) -> ApprovalRequest:
        return replace(request, label=f"{self._name}: {request.label}")


if TYPE_CHECKING:
    _: tuple[type[BatchQuestions], ...] = (
        CallbackApproval,
        ObservedInteraction,
        SharedInteraction,
        AttributedInteraction,
    )
