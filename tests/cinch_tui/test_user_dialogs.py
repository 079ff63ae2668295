from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.chat import until
from fakes.dialogs import Host
from textual.events import Key

from cinch_tui.screens.approval import ApprovalScreen
from cinch_tui.screens.dialog import Dialog
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.screens.plan_review import PlanScreen
from cinch_tui.screens.question import QuestionScreen
from cinch_tui.user_dialogs.interaction import DialogInteraction
from harness.messages import ToolCall
from harness.permissions import Decision, Rule
from harness.risk import Risk
from harness.user_requests import (
    AllowForSession,
    AllowOnce,
    Answer,
    ApprovalRequest,
    Choice,
    Plan,
    PlanDecision,
    Question,
)

QUESTION = Question("Which?", (Choice("a"), Choice("b")))


def request(label: str = "Run") -> ApprovalRequest:
    decision = Decision("ask", "it runs a program", Risk("execute"), offers=(Rule("bash", "make:*"),))
    return ApprovalRequest(ToolCall("1", "bash", {}), label, "make", decision, None, Path("/work"))


def user_on(app: Host) -> DialogInteraction:
    return DialogInteraction(app, grace=lambda: 0)


def asks(app: Host, kind: type[Dialog[object]]) -> Callable[[], bool]:
    return lambda: isinstance(app.screen, kind) and app.screen.focused is not None


async def test_each_question_becomes_its_screen_and_its_answer_comes_back():
    app = Host()

    async with app.run_test() as pilot:
        user = user_on(app)
        approval = asyncio.create_task(user.approve(request()))
        await until(pilot, asks(app, ApprovalScreen))
        await pilot.press("s")
        answer = asyncio.create_task(user.ask(QUESTION))
        await until(pilot, asks(app, QuestionScreen))
        await pilot.press("2")
        verdict = asyncio.create_task(user.review_plan(Plan("# plan")))
        await until(pilot, asks(app, PlanScreen))
        await pilot.press("y")

        assert await approval == AllowForSession()
        assert await answer == Answer("selected", "b", 1)
        assert await verdict == PlanDecision(accepted=True)


async def test_one_question_is_shown_at_a_time_in_order():
    app = Host()

    async with app.run_test() as pilot:
        user = user_on(app)
        first = asyncio.create_task(user.approve(request("first")))
        second = asyncio.create_task(user.ask(QUESTION))
        await until(pilot, asks(app, ApprovalScreen))
        assert len(app.screen_stack) == 2
        await pilot.press("y")
        await until(pilot, asks(app, QuestionScreen))
        assert len(app.screen_stack) == 2
        await pilot.press("1")

        assert [await first, await second] == [AllowOnce(), Answer("selected", "a", 0)]


async def test_a_cancelled_run_closes_its_question_and_the_next_one_opens():
    app = Host()

    async with app.run_test() as pilot:
        user = user_on(app)
        cancelled = asyncio.create_task(user.approve(request()))
        waiting = asyncio.create_task(user.ask(QUESTION))
        await until(pilot, asks(app, ApprovalScreen))
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        await until(pilot, asks(app, QuestionScreen))
        await pilot.press("1")

        assert await waiting == Answer("selected", "a", 0)
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_a_draft_for_a_cancelled_question_goes_to_the_prompt():
    app = Host()

    async with app.run_test() as pilot:
        user = user_on(app)
        approval = asyncio.create_task(user.approve(request()))
        await until(pilot, asks(app, ApprovalScreen))
        await pilot.press("d", "n", "o")
        approval.cancel()
        question = asyncio.create_task(user.ask(QUESTION))
        await until(pilot, asks(app, QuestionScreen))
        await pilot.press("o", "y", "e", "s")
        question.cancel()
        await asyncio.wait([approval, question])
        await until(pilot, lambda: len(app.typed) == 2)

    assert app.typed == ["no", "yes"]


async def test_repeated_esc_closes_a_question_after_its_grace_period():
    app = Host()

    async with app.run_test() as pilot:
        user = DialogInteraction(app, grace=lambda: 0.2)
        answer = asyncio.create_task(user.ask(QUESTION))
        async with asyncio.timeout(10):
            while not answer.done():
                await pilot.press("escape")

    assert (await answer).status == "skipped"


async def test_pasted_text_answers_nothing_and_is_not_lost():
    app = Host()

    async with app.run_test() as pilot:
        approval = asyncio.create_task(user_on(app).approve(request()))
        await until(pilot, asks(app, ApprovalScreen))
        for letter in "sn @":
            app.post_message(Key("space" if letter == " " else "at" if letter == "@" else letter, letter))
        await until(pilot, lambda: app.typed)

        assert "".join(app.typed) == "sn @"
        assert not approval.done()
        approval.cancel()


async def test_a_dialog_answered_below_another_leaves_that_one_open():
    app = Host()
    picked: list[str | None] = []

    async with app.run_test() as pilot:
        picker = Picker("Which?", [Item("a", "", "a"), Item("b", "", "b")])
        await app.push_screen(picker, picked.append)
        approval = asyncio.create_task(user_on(app).approve(request()))
        await until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        picker.answer("a")
        await until(pilot, asks(app, ApprovalScreen))
        await pilot.press("y")

        assert await asyncio.wait_for(approval, 10) == AllowOnce()
        await until(pilot, lambda: picked)
        await until(pilot, lambda: len(app.screen_stack) == 1)

    assert picked == ["a"]


async def test_a_cancelled_question_closes_even_below_another_screen():
    app = Host()

    async with app.run_test() as pilot:
        cancelled = asyncio.create_task(user_on(app).ask(QUESTION))
        await until(pilot, asks(app, QuestionScreen))
        await app.push_screen(PlanScreen(Plan("over it"), grace=0), app.results.append)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        await until(pilot, lambda: len(app.screen_stack) == 1)

    assert app.results == [None]


async def test_cancelling_while_the_screen_is_only_being_put_up_leaves_none():
    app = Host()

    async with app.run_test() as pilot:
        cancelled = asyncio.create_task(user_on(app).approve(request()))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_cancelling_one_that_waits_its_turn_leaves_the_other_standing():
    app = Host()

    async with app.run_test() as pilot:
        user = user_on(app)
        first = asyncio.create_task(user.approve(request()))
        second = asyncio.create_task(user.ask(QUESTION))
        await until(pilot, asks(app, ApprovalScreen))
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await pilot.press("y")

        assert await first == AllowOnce()


async def test_dialog_closed_above_a_withdrawn_one_is_shown_again():
    app = Host()

    async with app.run_test() as pilot:
        beneath = asyncio.create_task(user_on(app).ask(QUESTION))
        await until(pilot, asks(app, QuestionScreen))
        approval = asyncio.create_task(user_on(app).approve(request()))
        await until(pilot, asks(app, ApprovalScreen))
        beneath.cancel()
        await until(pilot, lambda: beneath.done() and asks(app, ApprovalScreen)())
        await pilot.press("y")

        assert await asyncio.wait_for(approval, 5) == AllowOnce()
