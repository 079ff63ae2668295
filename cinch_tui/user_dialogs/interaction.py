"""User interaction of the app: shows each question as a dialog, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from cinch_tui.screens.dialog import GRACE, Dialog
from harness.user_requests import Answer, Approval, ApprovalRequest, PlanDecision, Question

if TYPE_CHECKING:
    from textual.app import App

    from harness.ports.interaction import BatchQuestions

ResultT = TypeVar("ResultT")


def _always() -> float:
    return GRACE


class Show(Protocol):
    """Shows a dialog and waits for its answer."""

    async def __call__(self, dialog: Dialog[ResultT], /) -> ResultT: ...


class DialogInteraction:
    """`UserInteraction` by dialogs.

    Agents and subagents may ask concurrently; a lock shows one dialog at a time. Cancelling a run closes its dialog.

    Args:
        show: shows a dialog.
        grace: returns the seconds during which keys still go to the prompt.
        editor: command to edit a proposal; empty: the default editor.
    """

    def __init__(self, show: Show, *, grace: Callable[[], float] = _always, editor: str = "") -> None:
        self._show = show
        self._editor = editor
        self._grace = grace
        self._one_at_a_time = asyncio.Lock()

    async def approve(self, request: ApprovalRequest) -> Approval:
        # Late import: no dialog is needed before the first paint.
        from cinch_tui.screens.approval import ApprovalScreen

        async with self._one_at_a_time:
            return await self._ask(ApprovalScreen(request, grace=self._grace(), editor=self._editor))

    async def ask(self, question: Question) -> Answer:
        (answer,) = await self.ask_all([question])
        return answer

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        from cinch_tui.screens.question import QuestionScreen

        async with self._one_at_a_time:
            return await self._ask(QuestionScreen(questions, grace=self._grace()))

    async def review_plan(self, plan: str) -> PlanDecision:
        from cinch_tui.screens.plan_review import PlanScreen

        async with self._one_at_a_time:
            return await self._ask(PlanScreen(plan, grace=self._grace(), editor=self._editor))

    async def _ask(self, dialog: Dialog[ResultT]) -> ResultT:
        try:
            return await self._show(dialog)
        except asyncio.CancelledError:
            dialog.withdraw()
            raise


def show_on(app: App[object]) -> Show:
    """Return a function that shows dialogs on this app, callable from any of its tasks."""

    async def show(dialog: Dialog[ResultT], /) -> ResultT:
        answered: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()

        def settle(result: ResultT | None) -> None:
            if result is not None and not answered.done():
                answered.set_result(result)

        await app.push_screen(dialog, settle)
        return await answered

    return show


if TYPE_CHECKING:
    _: type[BatchQuestions] = DialogInteraction
