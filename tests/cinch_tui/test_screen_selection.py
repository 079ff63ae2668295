from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.selection import Selection
from textual.widgets import Static

from cinch_tui.screens.dialog import Dialog
from cinch_tui.screens.screen import SelectingScreen


class Reported(SelectingScreen[None]):
    def compose(self) -> ComposeResult:
        yield Static("one\ntwo\nthree")


class Asked(Dialog[None]):
    CSS_PATH = None

    def compose(self) -> ComposeResult:
        yield Static("one\ntwo\nthree")


@pytest.mark.parametrize("kind", [Reported, Asked])
async def test_a_selection_in_a_text_that_became_shorter_is_forgotten(kind: type[Reported | Asked]) -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        screen = kind()
        await app.push_screen(screen)
        text = screen.query_one(Static)
        screen.selections = {text: Selection(Offset(0, 1), Offset(2, 1))}
        assert screen.get_selected_text() == "tw"

        text.update("one")
        await pilot.pause()

        assert screen.get_selected_text() is None
        assert screen.selections == {}
