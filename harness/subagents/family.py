"""What a run and all sub-agents below it share: places to work at, tokens to use, and one person to ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from harness.agent.options import Subagents
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
from harness.subagents.budget import TokenBudget


class SharedLimits:
    def __init__(self, limits: Subagents) -> None:
        self.limits = limits
        self.asking = asyncio.Lock()
        self.slots = asyncio.Semaphore(max(1, limits.max_concurrent))
        self.budget = TokenBudget(limits.token_budget)


class ConcurrencySlot:
    """A place to work at, of which there are only so many; entered once one is free.

    It is lent while its owner waits for sub-agents of its own: else all could be taken by those who wait for one.
    """

    def __init__(self, seats: asyncio.Semaphore) -> None:
        self._seats = seats
        self._is_held = False
        self._loans = 0

    async def __aenter__(self) -> ConcurrencySlot:
        await self._seats.acquire()
        self._is_held = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()

    @asynccontextmanager
    async def lent(self) -> AsyncGenerator[None]:
        """Who comes back waits until a place is free again; who was cancelled meanwhile does not need one."""
        self._loans += 1
        self._leave()
        try:
            yield
        except BaseException:
            self._loans -= 1
            raise
        self._loans -= 1
        if not self._loans:
            await self._come_back()

    async def _come_back(self) -> None:
        await self._seats.acquire()
        # While it was waited for, it may have been lent anew.
        if self._loans or self._is_held:
            self._seats.release()
        else:
            self._is_held = True

    def _leave(self) -> None:
        if self._is_held:
            self._is_held = False
            self._seats.release()


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
    _: tuple[type[BatchQuestions], ...] = (SharedInteraction, AttributedInteraction)
