from __future__ import annotations

import pytest
from fakes.script import Reply
from rich.cells import cell_len

from cinch_tui.screens.dialog import NOT_YET

pytestmark = pytest.mark.pty

WORD = "世界"
ASKS = ("ask_user", {"prompt": "What is it called?"})


def stands_behind_the_word(app) -> bool:
    """Return the position at which the terminal shows the window of an input method."""
    column, row = app.cursor
    # A smaller terminal has a cursor below its last row until the app has moved it.
    before, word, _ = "".join(app.text.split("\n")[row : row + 1]).partition(WORD)
    return bool(word) and column == cell_len(before + word)


def sees_the_cursor_behind_the_word(app) -> None:
    app.see(WORD)
    app.until(lambda: stands_behind_the_word(app), "the cursor to be behind the word")


@pytest.mark.parametrize(
    ("opens", "shows"),
    [("", ""), ("\x06", "Find "), ("\x10", ""), ("\x12", "history · "), ("line\nline\n", r"line *│\n")],
    ids=repr,
)
def test_terminal_cursor_is_at_the_input_position(cinch, opens: str, shows: str):
    app = cinch([Reply("heard")])
    app.enter("hello")
    app.see("heard")

    app.type(opens)
    app.see(shows)
    app.settle()
    app.type(WORD)

    sees_the_cursor_behind_the_word(app)
    app.resize(70, 20)
    app.settle()
    sees_the_cursor_behind_the_word(app)


def test_terminal_cursor_is_in_the_answer_to_a_question(cinch):
    app = cinch([Reply(calls=[ASKS]), Reply("heard")])
    app.enter("hello")
    app.see("What is it called")
    app.miss(NOT_YET)

    app.type(WORD)

    sees_the_cursor_behind_the_word(app)
