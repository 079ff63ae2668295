"""The person as a running call sees them: asked one question at a time, and observers hear of each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.events import QuestionAnswered, QuestionAsked
from harness.ports.interaction import (
    Answer,
    Approval,
    ApprovalRequest,
    BatchQuestions,
    PlanDecision,
    Question,
    UserInteraction,
    ask_all,
)
from harness.publishing.bus import Bus


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


if TYPE_CHECKING:
    _: type[BatchQuestions] = ObservedInteraction
