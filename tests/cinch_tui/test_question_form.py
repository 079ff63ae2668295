from __future__ import annotations

import pytest
from fakes.dialogs import Host, until_listening
from msgspec.structs import replace
from textual.widgets import Input, OptionList, Static

from cinch_tui.screens.question import QuestionScreen
from harness.user_requests import Answer, Choice, Question

DATABASE = Question(
    "Which database should the shop use?",
    (Choice("SQLite", "no server"), Choice("PostgreSQL", body="PostgreSQL 17, as in production")),
    editable=True,
    header="Database",
    max_edit_length=10,
)
PARTS = Question(
    "Which parts are wanted?", (Choice("till"), Choice("stock"), Choice("web")), header="Parts", multi_select=True
)
NAME = Question("What is it called?", header="Name")
FORM = (DATABASE, PARTS, NAME)

SQLITE, POSTGRES = Answer("selected", "SQLite", 0), Answer("selected", "PostgreSQL", 1)
SKIPPED, TIMED_OUT = Answer("skipped"), Answer("timed_out")


def parts(*indexes: int, other: str = "") -> Answer:
    labels = ", ".join(PARTS.choices[index].label for index in indexes)
    return Answer("selected", labels, indexes=indexes, other=other)


def host(*questions: Question, grace: float = 0.0) -> Host:
    return Host(QuestionScreen(questions or FORM, grace=grace))


def shown(app: Host, name: str) -> str:
    return str(app.screen.query_one(name, Static).render())


def choices(app: Host) -> list[str]:
    return [str(option.prompt) for option in app.screen.query_one("#choices", OptionList).options]


@pytest.mark.parametrize(
    ("keys", "answers"),
    [
        ("2 space down down space enter A d a enter enter", (POSTGRES, parts(0, 2), Answer("free_text", "Ada"))),
        ("enter 3 1 enter A enter enter", (SQLITE, parts(0, 2), Answer("free_text", "A"))),
        ("1 down enter A enter enter", (SQLITE, parts(1), Answer("free_text", "A"))),
        ("1 1 o o w n enter A enter enter", (SQLITE, parts(0, other="own"), Answer("free_text", "A"))),
        ("1 o o w n enter A enter enter", (SQLITE, Answer("free_text", "own"), Answer("free_text", "A"))),
        ("tab 1 enter tab tab 1 tab enter", (SQLITE, parts(0), SKIPPED)),
        ("right 1 enter shift+tab shift+tab 1 A enter enter", (SQLITE, parts(0), Answer("free_text", "A"))),
        ("escape escape escape", (SKIPPED, SKIPPED, SKIPPED)),
        ("escape 1 enter escape enter", (SKIPPED, parts(0), SKIPPED)),
        ("1 1 enter A enter shift+tab shift+tab shift+tab 2 enter", (POSTGRES, parts(0), Answer("free_text", "A"))),
        ("1 1 enter A enter escape ctrl+u B enter enter", (SQLITE, parts(0), Answer("free_text", "B"))),
        ("left enter", (SKIPPED, SKIPPED, SKIPPED)),
    ],
)
async def test_each_question_has_its_answer_and_all_are_sent_together(keys: str, answers: tuple[Answer, ...]):
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys.split())

    assert app.results == [answers]


@pytest.mark.parametrize("size", [(40, 10), (80, 24)])
async def test_tabs_show_what_is_answered_and_the_last_shows_all(size: tuple[int, int]):
    app = host()

    async with app.run_test(size=size) as pilot:
        first = shown(app, "#tabs")
        await pilot.press("2", "tab", "A", "enter")
        second = shown(app, "#asked")
        await pilot.press("1", "enter")
        last, review = shown(app, "#tabs"), shown(app, "#asked")
        options = choices(app)

    assert " ".join(first.split()) == "1 Database 2 Parts 3 Name Send"
    assert second == "Which parts are wanted?"
    assert " ".join(last.split()) == "1 Database ✓ 2 Parts ✓ 3 Name ✓ Send"
    assert review == "Database: PostgreSQL\nParts: till\nName: A"
    assert options == ["Send these answers"]


async def test_unfinished_answer_stays_with_its_question():
    app = host(NAME, replace(NAME, prompt="And that?", header="That"))

    async with app.run_test() as pilot:
        await pilot.press("A", "d", "tab", "B", "shift+tab")
        kept = app.screen.query_one("#text", Input).value
        await pilot.press("a", "enter", "enter", "enter")

    assert kept == "Ad"
    assert app.results == [(Answer("free_text", "Ada"), Answer("free_text", "B"))]


async def test_ticks_are_shown_and_taken_back():
    app = host(PARTS)

    async with app.run_test() as pilot:
        await pilot.press("space", "3", "1")
        ticked = choices(app)
        await pilot.press("enter")

    assert ticked == ["1  [ ] till", "2  [ ] stock", "3  [x] web", "o  Other…"]
    assert app.results == [(parts(2),)]


async def test_an_edit_starts_with_the_body_and_stays_open_while_too_long():
    app = host(DATABASE)

    async with app.run_test() as pilot:
        await pilot.press("down", "e")
        begun = app.screen.query_one("#text", Input).value
        await pilot.press("enter")
        note, still = shown(app, "#note"), app.screen.query_one("#text", Input).has_focus
        assert app.results == []
        await pilot.press("ctrl+u", "m", "i", "n", "e", "enter")

    assert begun == "PostgreSQL 17, as in production"
    assert note == "31 characters; the maximum is 10"
    assert still
    assert app.results == [(Answer("edited", "mine", 1),)]


async def test_free_text_is_offered_only_if_allowed():
    app = host(replace(PARTS, free_text=False))

    async with app.run_test() as pilot:
        offered = choices(app)
        await pilot.press("o")
        await until_listening(pilot)
        await pilot.press("2", "enter")

    assert offered == ["1  [ ] till", "2  [ ] stock", "3  [ ] web"]
    assert app.results == [(parts(1),)]


async def test_a_long_question_scrolls_while_one_writes():
    app = host(replace(NAME, prompt="\n".join(f"line {number}" for number in range(90))))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("A", "pagedown")
        scrolled = app.screen.query_one("#prompt").scroll_offset.y
        await pilot.press("enter")

    assert scrolled > 0
    assert app.results == [(Answer("free_text", "A"),)]


async def test_answers_given_before_the_timeout_are_kept():
    dialog = QuestionScreen([replace(each, timeout=600) for each in FORM], grace=0)
    app = Host(dialog)

    async with app.run_test() as pilot:
        await pilot.press("1", "tab", "A", "d")
        dialog.time_out()
        await pilot.pause()

    assert app.results == [(SQLITE, TIMED_OUT, TIMED_OUT)]
    assert app.typed == ["Ad"]


async def test_the_shortest_deadline_holds_for_all():
    app = host(DATABASE, replace(PARTS, timeout=0.05), replace(NAME, timeout=600))

    async with app.run_test() as pilot:
        while not app.results:
            await pilot.pause(0.01)

    assert app.results == [(TIMED_OUT, TIMED_OUT, TIMED_OUT)]


async def test_a_form_takes_no_key_that_was_meant_for_the_prompt():
    app = host(grace=60)

    async with app.run_test() as pilot:
        await pilot.press("1", "tab", "enter", "escape")
        assert app.results == []
        app.screen.withdraw()
        await pilot.pause()

    assert app.typed == ["1"]


def test_picture_of_a_form(snap_compare):
    assert snap_compare(host(), terminal_size=(80, 24), press=["1", "space"])


def test_picture_of_the_end_of_a_form(snap_compare):
    assert snap_compare(host(), terminal_size=(80, 24), press=["1", "space", "enter", "escape"])


async def test_drafts_of_all_tabs_go_to_the_prompt_when_the_form_is_withdrawn():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await until_listening(pilot)
        await pilot.press(*"ogrey", "tab", "o", *"horns", "tab", *"Ada", "enter")
        app.screen.withdraw()
        await pilot.pause()

    assert app.typed == ["grey\nhorns\nAda"]


async def test_timeout_moves_only_unused_text_to_the_prompt():
    app = host(replace(DATABASE, timeout=60), PARTS, NAME)

    async with app.run_test(size=(80, 24)) as pilot:
        await until_listening(pilot)
        await pilot.press(*"ogrey", "tab", "tab", *"Ada", "enter")
        app.screen.time_out()
        await pilot.pause()

    assert app.results == [(TIMED_OUT, TIMED_OUT, Answer("free_text", "Ada"))]
    assert app.typed == ["grey"]


async def test_note_goes_as_soon_as_something_is_written():
    app = host(NAME, PARTS)

    async with app.run_test(size=(80, 24)) as pilot:
        await until_listening(pilot)
        await pilot.press("enter")
        reported = shown(app, "#note")
        await pilot.press("A")
        await pilot.pause()

        assert reported
        assert shown(app, "#note") == ""


async def test_checked_choices_and_drafts_count_when_all_is_sent():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("tab", "1", "tab", *"Ada", "tab")
        review = shown(app, "#asked")
        await pilot.press("enter")

    assert review == "Database: not answered yet\nParts: till\nName: Ada"
    assert app.results == [(SKIPPED, parts(0), Answer("free_text", "Ada"))]
    assert app.typed == []


@pytest.mark.parametrize(
    ("question", "keys", "answer", "left"),
    [
        (NAME, (*"Ad", "escape"), SKIPPED, "Ad"),
        (DATABASE, ("o", *"grey", "escape", "1"), SQLITE, "grey"),
        (DATABASE, ("down", "e", "ctrl+u", *"mine", "escape", "2"), POSTGRES, "mine"),
    ],
)
async def test_a_draft_that_is_no_answer_goes_to_the_prompt(
    question: Question, keys: tuple[str, ...], answer: Answer, left: str
):
    app = host(question)

    async with app.run_test(size=(80, 24)) as pilot:
        await until_listening(pilot)
        await pilot.press(*keys)
        await pilot.pause()

    assert app.results == [(answer,)]
    assert app.typed == [left]


async def test_an_edit_continues_where_it_was_left():
    app = host(DATABASE)

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "e", "ctrl+u", *"mine", "escape", "e", "!", "enter")

    assert app.results == [(Answer("edited", "mine!", 1),)]
    assert app.typed == []


@pytest.mark.parametrize(
    ("keys", "reported"),
    [
        ((), "↑ ↓ and Enter, or a digit · e edits · o writes another answer · Tab or ← → other questions · Esc skips"),
        (("o",), "Enter continues · Tab other questions · Esc goes back"),
        (("e",), "Enter continues · Tab other questions · Esc goes back"),
        (("tab", "tab"), "Enter continues · Tab other questions · Esc skips"),
    ],
)
async def test_the_hint_shows_what_the_keys_do_now(keys: tuple[str, ...], reported: str):
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys)

        assert shown(app, "#hint") == reported
