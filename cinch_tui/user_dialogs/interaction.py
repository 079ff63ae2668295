"""User interaction of the app: shows each question as a dialog, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from textual.app import App

from cinch_tui.screens.choice_dialogs import MAX_CHOICES, ShortList
from cinch_tui.screens.dialog import GRACE, PAUSE, Dialog
from cinch_tui.screens.picker import Item, Picker
from harness.ports.interaction import BatchQuestions
from harness.user_requests import Answer, Approval, ApprovalRequest, Plan, PlanDecision, Question

ResultT = TypeVar("ResultT")


class DialogInteraction:
    """`UserInteraction` by dialogs.

    Agents and subagents may ask concurrently; a lock shows one dialog at a time. Cancelling a run closes its dialog.

    Args:
        app: the app that shows the dialogs.
        grace: returns the seconds during which keys still go to the prompt.
        editor: command to edit a proposal; empty: the default editor.
    """

    def __init__(self, app: App[object], *, grace: Callable[[], float] = lambda: GRACE, editor: str = "") -> None:
        self._app = app
        self._editor = editor
        self._grace = grace
        self._one_at_a_time = asyncio.Lock()

    async def approve(self, request: ApprovalRequest) -> Approval:
        # Late import: no dialog is needed before the first paint.
        from cinch_tui.screens.approval import ApprovalScreen

        async with self._one_at_a_time:
            return await answer_to(self._app, lambda: ApprovalScreen(request, grace=self._grace(), editor=self._editor))

    async def ask(self, question: Question) -> Answer:
        (answer,) = await self.ask_all([question])
        return answer

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        from cinch_tui.screens.question import QuestionScreen

        async with self._one_at_a_time:
            return await answer_to(self._app, lambda: QuestionScreen(questions, grace=self._grace()))

    async def review_plan(self, plan: Plan) -> PlanDecision:
        from cinch_tui.screens.plan_review import PlanScreen

        async with self._one_at_a_time:
            return await answer_to(self._app, lambda: PlanScreen(plan, grace=self._grace(), editor=self._editor))


async def answer_to(app: App[object], create: Callable[[], Dialog[ResultT]]) -> ResultT:
    """Show a dialog and wait for its answer, in any task of the app; close it if the caller is cancelled.

    A dialog that closes without an answer, since one beneath it was withdrawn, is created and shown again.
    """
    while True:
        dialog = create()
        result = await _result_of(app, dialog)
        # Only a picker has None as an answer.
        if result is not None or isinstance(dialog, Picker):
            return cast("ResultT", result)


async def _result_of(app: App[object], dialog: Dialog[ResultT]) -> ResultT | None:
    closed: asyncio.Future[ResultT | None] = asyncio.get_running_loop().create_future()

    def settle(result: ResultT | None) -> None:
        # The caller may be cancelled while an answered dialog closes.
        if not closed.done():
            closed.set_result(result)

    try:
        await app.push_screen(dialog, settle)
        return await closed
    except asyncio.CancelledError:
        dialog.withdraw()
        raise


def grace(*, is_typing: bool) -> float:
    """Return the seconds for which keys still go to the prompt when a dialog opens unasked."""
    return PAUSE if is_typing else GRACE


async def pick(app: App[object], title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
    """Let the user choose one of these (name, detail); return its name, or None on Esc.

    A few choices are numbered, more can be filtered. To be called in a worker.
    """
    if len(choices) <= MAX_CHOICES and not current:
        return await app.push_screen_wait(ShortList(title, choices))
    items = [Item(name, detail, name) for name, detail in choices]
    return await app.push_screen_wait(Picker(title, items, current=current))


async def pick_index(app: App[object], title: str, choices: Sequence[tuple[str, str]], *, grace: float) -> int | None:
    """Let the user choose one of these (name, detail); return its index, or None on Esc.

    Need not be called in a worker. The dialog closes when the caller is cancelled.
    """
    items = [Item(name, detail, index) for index, (name, detail) in enumerate(choices)]
    return await answer_to(app, lambda: Picker(title, items, grace=grace))


if TYPE_CHECKING:
    _: type[BatchQuestions] = DialogInteraction
