from __future__ import annotations

import pytest
from fakes.dialogs import Host, until_listening
from textual.widgets import Static

from cinch_tui.screens.question import QuestionScreen
from harness.user_requests import Answer, Choice, Question

CHOICES = (Choice("SQLite", "no server, one file"), Choice("PostgreSQL", "as in production"), Choice("[red]Both[/]"))
PROMPT = "Which database should the shop use? [bold]It[/bold] decides how the tests run."
OPEN = Question("What is your name?")


def host(question: Question, grace: float = 0.0) -> Host:
    return Host(QuestionScreen([question], grace=grace))


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ("enter", Answer("selected", "SQLite", 0)),
        ("down enter", Answer("selected", "PostgreSQL", 1)),
        ("j j k enter", Answer("selected", "PostgreSQL", 1)),
        ("3", Answer("selected", "[red]Both[/]", 2)),
        ("down e ! enter", Answer("edited", "PostgreSQL!", 1)),
        ("o m e enter", Answer("free_text", "me")),
        ("up enter m e enter", Answer("free_text", "me")),
        ("o escape 2", Answer("selected", "PostgreSQL", 1)),
        ("escape", Answer("skipped")),
    ],
)
async def test_each_key_gives_its_answer(keys: str, answer: Answer):
    app = host(Question(PROMPT, CHOICES, editable=True))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys.replace("!", "exclamation_mark").split())

    assert app.results == [(answer,)]


async def test_a_question_of_a_subagent_is_labelled():
    app = host(Question(PROMPT, CHOICES, asker="Subagent cause"))

    async with app.run_test():
        shown = str(app.screen.query_one("#prompt Static", Static).render())

    assert shown.startswith("Subagent cause asks: Which database")


async def test_a_digit_without_a_choice_answers_nothing():
    app = host(Question(PROMPT, CHOICES))

    async with app.run_test() as pilot:
        await pilot.press("9")
        await until_listening(pilot)
        await pilot.press("escape")

    assert app.results == [(Answer("skipped"),)]


@pytest.mark.parametrize(
    ("keys", "answer"),
    [("down enter", Answer("selected", "PostgreSQL", 1)), ("o m e enter", Answer("free_text", "me"))],
)
async def test_a_small_screen_takes_the_same_keys(keys: str, answer: Answer):
    app = host(Question(PROMPT * 5, CHOICES, editable=True, timeout=60))

    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press(*keys.split())

    assert app.results == [(answer,)]


async def test_a_choice_can_be_clicked():
    app = host(Question(PROMPT, CHOICES))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click("#choices", offset=(4, 1))
        await pilot.pause()

    assert app.results == [(Answer("selected", "PostgreSQL", 1),)]


@pytest.mark.parametrize(
    ("keys", "answer"), [("A d a enter", Answer("free_text", "Ada")), ("escape", Answer("skipped"))]
)
async def test_without_choices_an_answer_is_written(keys: str, answer: Answer):
    app = host(OPEN)

    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press(*keys.split())

    assert app.results == [(answer,)]


async def test_an_empty_answer_is_not_sent():
    app = host(OPEN)

    async with app.run_test() as pilot:
        await pilot.press("space", "enter")
        note = str(app.screen.query_one("#note", Static).render())
        await pilot.press("escape")

    assert note == "write an answer, or press Esc"
    assert app.results == [(Answer("skipped"),)]


async def test_an_edit_left_empty_goes_back_to_the_choices():
    app = host(Question(PROMPT, CHOICES, editable=True))

    async with app.run_test() as pilot:
        await pilot.press("e", "ctrl+u", "enter")
        note = str(app.screen.query_one("#note", Static).render())
        await pilot.press("2")

    assert note == "empty text: edit cancelled"
    assert app.results == [(Answer("selected", "PostgreSQL", 1),)]


async def test_question_without_text_ignores_the_edit_key():
    app = host(Question(PROMPT, CHOICES))

    async with app.run_test() as pilot:
        await pilot.press("e")
        await until_listening(pilot)
        await pilot.press("1")

    assert app.results == [(Answer("selected", "SQLite", 0),)]


async def test_the_deadline_answers_for_the_user():
    app = host(Question(PROMPT, CHOICES, timeout=0.05))

    async with app.run_test() as pilot:
        while not app.results:
            await pilot.pause(0.01)

    assert app.results == [(Answer("timed_out"),)]


async def test_half_an_answer_is_not_lost_at_the_deadline():
    dialog = QuestionScreen([Question("Name?", timeout=600)], grace=0)
    app = Host(dialog)

    async with app.run_test() as pilot:
        await pilot.press("A", "d")
        dialog.time_out()
        await pilot.pause()

    assert app.results == [(Answer("timed_out"),)]
    assert app.typed == ["Ad"]


async def test_the_countdown_is_shown_only_where_there_is_one():
    app = host(Question(PROMPT, CHOICES, timeout=90))

    async with app.run_test():
        assert "in 1 min" in str(app.screen.query_one("#countdown", Static).render())
        assert app.screen.query_one("#countdown").display
        await app.push_screen(QuestionScreen([OPEN], grace=0))
        assert not app.screen.query_one("#countdown").display


async def test_typing_for_the_prompt_picks_nothing():
    app = host(Question(PROMPT, CHOICES), grace=60)

    async with app.run_test() as pilot:
        await pilot.press("1", "enter", "escape")
        assert app.results == []
        app.screen.withdraw()
        await pilot.pause()

    assert app.typed == ["1"]


async def test_typing_for_the_prompt_is_not_taken_as_free_text():
    dialog = QuestionScreen([OPEN], grace=60)
    app = Host(dialog)

    async with app.run_test() as pilot:
        await pilot.press("h", "i")
        dialog.accept_keys()
        await pilot.press("A", "enter")

    assert app.typed == ["hi"]
    assert app.results == [(Answer("free_text", "A"),)]


def test_picture_of_a_question(snap_compare):
    assert snap_compare(host(Question(PROMPT, CHOICES, editable=True)), terminal_size=(80, 24))


def test_picture_of_an_edited_choice(snap_compare):
    assert snap_compare(host(Question(PROMPT, CHOICES, editable=True)), terminal_size=(80, 24), press=["down", "e"])


def test_picture_of_a_question_on_a_small_screen(snap_compare):
    assert snap_compare(host(Question(PROMPT, CHOICES)), terminal_size=(40, 10))
