"""Conversation with its search bar, wired as in the chat screen."""

from __future__ import annotations

from fakes.transcript_stage import Stage
from textual.app import ComposeResult
from textual.pilot import Pilot

from cinch_tui.transcript.layout import ScreenRow
from cinch_tui.transcript.view import Transcript
from cinch_tui.widgets.search_bar import SearchBar


class SearchStage(Stage):
    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield SearchBar()

    @property
    def bar(self) -> SearchBar:
        return self.query_one(SearchBar)

    @property
    def said(self) -> str:
        return str(self.bar.query_one("#found").visual)

    def on_transcript_found(self, message: Transcript.Found) -> None:
        self.bar.show_result(message.number, message.total, is_done=message.is_done)

    def on_search_bar_query_changed(self, message: SearchBar.QueryChanged) -> None:
        self.view.find(message.query)

    def on_search_bar_step(self, message: SearchBar.Step) -> None:
        self.view.find_next(message.by)

    def on_search_bar_left(self, message: SearchBar.Left) -> None:
        self.bar.close()
        self.view.end_search(stay=message.stay)
        self.view.focus()


async def looked(pilot: Pilot[None], app: SearchStage) -> None:
    """Wait until the search and the painting are complete."""
    await app.workers.wait_for_complete()
    await app.view.drained()
    await pilot.pause()


async def search(pilot: Pilot[None], app: SearchStage, query: str) -> None:
    app.bar.open()
    await pilot.pause()
    await pilot.press(*query)
    await looked(pilot, app)


def marked(view: Transcript) -> list[str]:
    """Return the highlighted characters on the screen, in order, with `>` before those of the current match."""
    found: list[str] = []
    for row in view._rows:
        found.extend(_marked(view, row))
    return found


def _marked(view: Transcript, row: ScreenRow) -> list[str]:
    current = view._layout.styles["match-current"]
    return [
        f"{'>' if mark.style == current else ''}{row.line.text[mark.start : mark.end]}"
        for mark in view._highlights(row)
    ]
