"""Session browser: saved sessions with a preview, full-text search, and keys to change them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.reports.export_files import FORMATS
from cinch_tui.saved_sessions import ALL_FOLDERS, SavedSessions, SessionChoice
from cinch_tui.screens.choice_dialogs import ShortList
from cinch_tui.screens.dialog import Dialog, DialogFrame, stylesheets
from cinch_tui.screens.session_rows import WIDE_ROW, SessionRow, about, hit_row, preview, session_row
from cinch_tui.widgets.item_list import ItemList, ItemRow
from harness.errors import CinchError
from harness.session.labels import parse_tags

SEARCH_AFTER_S = 0.2
"""Pause in typing before the text of the sessions is searched."""
PREVIEW_AFTER_S = 0.08
"""Pause in moving before the preview is read."""
MIN_QUERY = 2
"""Characters from which the text of the sessions is searched."""
WIDTHS: list[tuple[int, str]] | None = [(0, "-narrow"), (120, "-wide")]
READ_ONLY, COPY = "Open read-only", "Continue in a copy"
FOUND_IN_TEXT = "In the text of sessions"

Field: TypeAlias = Literal["", "rename", "tag"]


class SessionBrowser(Dialog[SessionChoice | None]):
    """List of sessions; answers with the one to open.

    Args:
        sessions: The sessions.
        query: Text in the filter at the start; `all` for the sessions of all folders.
        now: Returns the time, in seconds since the epoch.
    """

    CSS_PATH = stylesheets("session_browser")
    FIRST_FOCUS = "#filter"
    SCROLLED = "#preview"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    BINDINGS = bindings("sessions")

    everywhere = var(default=False)
    """True to show the sessions of all folders."""
    editing: var[Field] = var("")
    """Purpose of the field below the list; empty while it is hidden."""

    def __init__(self, sessions: SavedSessions, query: str = "", now: Callable[[], float] = time.time) -> None:
        super().__init__(grace=0)
        self._sessions = sessions
        self._now = now
        self.everywhere = query == ALL_FOLDERS
        self._query_at_start = "" if query == ALL_FOLDERS else query
        self._all: Sequence[SessionRow] = ()
        self._texts: Sequence[str] = ()
        self._hits: Sequence[SessionRow] = ()
        self._shown: list[SessionRow | None] = []
        """Rows of the list; None for a title."""
        self._is_loaded = self._is_searching = False

    def compose_content(self) -> ComposeResult:
        yield Static(id="heading", markup=False)
        yield Input(self._query_at_start, placeholder="filter titles, search texts", id="filter", compact=True)
        with Container(id="parts"):
            yield ItemList(id="items")
            with Vertical(id="side"):
                yield Static(id="about", markup=False)
                with VerticalScroll(id="preview", can_focus=False):
                    yield Static(id="messages", markup=False)
        yield Input(id="value", compact=True)
        yield Static(id="message", markup=False)
        yield Static(id="keys", markup=False)

    def opened(self) -> None:
        self.query_one("#value").display = False
        self._show_frame()
        self._load()
        self._update_index()

    # Reading

    @work(group="load", exclusive=True)
    async def _load(self, selected: str = "") -> None:
        """Read the sessions; then select the one with this id, or keep the selection."""
        selected = selected or (self._row.id if self._row else "")
        summaries = await self._sessions.list(everywhere=self.everywhere)
        now, current, with_folder = self._now(), self._sessions.current, self.everywhere
        # Thousands of rows take longer than a frame.
        self._all = await asyncio.to_thread(
            lambda: [session_row(summary, now, current, with_folder=with_folder) for summary in summaries]
        )
        if self._is_closed:
            return
        self._texts = [row.text for row in self._all]
        self._is_loaded = True
        self._refill(selected)

    @work(group="index")
    async def _update_index(self) -> None:
        try:
            await self._sessions.update_index(lambda: self._answered or not self.is_attached)
        except CinchError as error:
            self._report(str(error), failed=True)
        self._search()

    @work(group="search", exclusive=True)
    async def _search(self) -> None:
        query = self._query
        hits: Sequence[SessionRow] = ()
        self._is_searching = len(query.strip()) >= MIN_QUERY
        if self._is_searching:
            await asyncio.sleep(SEARCH_AFTER_S)
            by_id = {row.id: row for row in self._all}
            try:
                found = await self._sessions.search(query, everywhere=self.everywhere)
            except CinchError as error:
                self._is_searching = False
                self._report(str(error), failed=True)
                return
            hits = [hit_row(hit, query, by_id.get(hit.session_id), self._now()) for hit in found]
        if not self._is_closed:
            self._hits, self._is_searching = hits, False
            self._refill(self._row.key if self._row else "")

    @work(group="preview", exclusive=True)
    async def _preview(self) -> None:
        row, messages = self._row, self.query_one("#messages", Static)
        if row is None:
            messages.update("")
            return
        await asyncio.sleep(PREVIEW_AFTER_S)
        try:
            shown = preview(await self._sessions.preview(row.path, row.message_id))
        except CinchError as error:
            shown = Content(one_line(str(error)))
        if self._is_closed:
            return
        messages.update(shown)
        scrolled = self.query_one("#preview", VerticalScroll)
        self.call_after_refresh(scrolled.scroll_end, animate=False)

    # The list

    @property
    def _query(self) -> str:
        return self.query_one("#filter", Input).value

    @property
    def _row(self) -> SessionRow | None:
        """The selected session or message."""
        cursor = self.query_one("#items", ItemList).cursor
        return self._shown[cursor] if cursor < len(self._shown) else None

    def _refill(self, selected: str = "") -> None:
        """Show the sessions that match the filter, then the messages that contain it."""
        query = self._query
        # No letters in order: of many sessions, some fit any word that way.
        words = query.casefold().split()
        rows: list[SessionRow | None] = [
            row for row, text in zip(self._all, self._texts, strict=True) if all(word in text for word in words)
        ]
        if self._hits:
            rows += [None, *self._hits]
        self._shown = rows
        cursor = next((index for index, row in enumerate(rows) if row and selected in (row.key, row.id)), 0)
        items = self.query_one("#items", ItemList)
        title, is_wide = ItemRow(FOUND_IN_TEXT, "", is_title=True), items.size.width >= WIDE_ROW
        lines = [title if row is None else row.wide_line if is_wide else row.line for row in rows]
        if not rows and (reason := self._nothing_found):
            lines = [ItemRow(reason, "", is_title=True)]
        items.show(lines, query, cursor)
        self._skip_title(1)
        self._show_frame()
        self._describe()

    @on(DialogFrame.Resized)
    def _resized(self) -> None:
        if self._is_loaded:
            self._refill(self._row.key if self._row else "")

    def _skip_title(self, step: int) -> None:
        items = self.query_one("#items", ItemList)
        if self._shown and self._row is None:
            items.cursor += step
            if self._row is None:
                items.cursor -= 2 * step

    @on(ItemList.Moved)
    def _describe(self) -> None:
        row = self._row
        self.query_one("#about", Static).update(about(row) if row else "")
        self._preview()

    @property
    def _nothing_found(self) -> str:
        """Reason why the list is empty; empty until that is known."""
        if not self._is_loaded or self._is_searching:
            return ""
        reason = "No matches" if self._query.strip() else "No saved sessions"
        return reason if self.everywhere else hint(f"{reason} in this folder", "sessions.toggle_everywhere all folders")

    @on(Input.Changed, "#filter")
    def _filter(self) -> None:
        if self._open:
            self._hits, self._is_searching = (), True
            self._refill()
            self._search()

    @on(Input.Submitted, "#filter")
    def _enter(self) -> None:
        self._pick()

    @on(ItemList.Clicked)
    def _click(self, event: ItemList.Clicked) -> None:
        items = self.query_one("#items", ItemList)
        is_again = items.cursor == event.index
        items.cursor = event.index
        if is_again and not self.editing:
            self._pick()

    def action_move(self, by: int) -> None:
        self.query_one("#items", ItemList).action_move(by)
        self._skip_title(1 if by > 0 else -1)

    def action_page_list(self, direction: int) -> None:
        self.query_one("#items", ItemList).action_page(direction)
        self._skip_title(direction)

    def action_toggle_everywhere(self) -> None:
        self.everywhere = not self.everywhere
        self._hits = ()
        self._load()
        self._search()

    def action_cancel(self) -> None:
        if self.editing:
            self.editing = ""
        else:
            self.answer(None)

    # Actions on the selected session

    @work(group="pick", exclusive=True)
    async def _pick(self) -> None:
        row = self._row
        if row is None:
            return
        if not row.summary or not row.summary.locked or row.id == self._sessions.current:
            self.answer(SessionChoice(row.name))
            return
        choices = [(READ_ONLY, "show it without continuing it"), (COPY, "the original stays as it is")]
        chosen = await self._owner.push_screen_wait(ShortList("This session is open in another cinch.", choices))
        if chosen:
            self.answer(SessionChoice(row.name, read_only=chosen == READ_ONLY))

    def action_rename(self) -> None:
        self._edit("rename", self._row.summary.title if self._row and self._row.summary else "")

    def action_tag(self) -> None:
        self._edit("tag", " ".join(self._row.tags) if self._row else "")

    def _edit(self, field: Field, text: str) -> None:
        if self._row is not None:
            self._report("")
            value = self.query_one("#value", Input)
            value.placeholder = "title" if field == "rename" else "tags, separated by spaces; empty: no tags"
            value.value = one_line(text)
            self.editing = field

    def watch_editing(self, field: Field) -> None:
        if not self._open:
            return
        value = self.query_one("#value", Input)
        value.display = bool(field)
        self._show_frame()
        if field:
            value.focus()
        else:
            self.focus_first()

    @on(Input.Submitted, "#value")
    def _take_value(self, event: Input.Submitted) -> None:
        row, field = self._row, self.editing
        self.editing = ""
        if row is None:
            return
        if field == "rename":
            self._change(self._sessions.rename(row.path, event.value), f"Renamed: {row.title}")
        elif field == "tag":
            tags = parse_tags(event.value)
            kept = {tag.casefold() for tag in tags}
            removed = [tag for tag in row.tags if tag.casefold() not in kept]
            self._change(self._sessions.change_tags(row.path, add=tags, remove=removed), f"Tags changed: {row.title}")

    def action_delete(self) -> None:
        if row := self._row:
            undo = hint("sessions.undo_delete restores it")
            self._change(self._sessions.delete(row.path), " · ".join((f"Moved to the trash: {row.title}", undo)))

    @work(group="change")
    async def action_undo_delete(self) -> None:
        try:
            restored = await self._sessions.undo_delete()
        except CinchError as error:
            self._report(str(error), failed=True)
            return
        self._report("Restored." if restored else "Nothing was deleted here. cinch sessions restore lists the trash.")
        self._load(restored)

    @work(group="change")
    async def action_fork(self) -> None:
        if row := self._row:
            try:
                self.answer(SessionChoice(await self._sessions.fork(row.path, row.message_id)))
            except CinchError as error:
                self._report(str(error), failed=True)

    @work(group="change")
    async def action_export(self) -> None:
        row = self._row
        if row is None:
            return
        formats = [(name, file_format.title) for name, file_format in FORMATS.items()]
        chosen = await self._owner.push_screen_wait(ShortList("Export in which format?", formats))
        if chosen:
            self._report("Exporting…")
            try:
                self._report(f"Exported to {await self._sessions.export(row.path, chosen)}")
            except CinchError as error:
                self._report(str(error), failed=True)

    @work(group="change")
    async def _change(self, change: Awaitable[object], report: str) -> None:
        try:
            await change
        except CinchError as error:
            self._report(str(error), failed=True)
            return
        self._report(report)
        self._load()

    # The frame

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self.editing and action not in ("cancel", "interrupt"):
            return False
        return super().check_action(action, parameters)

    def _show_frame(self) -> None:
        place = "all folders" if self.everywhere else one_line(str(self._sessions.cwd))
        listed = f"{len(self._all):,}"
        if self._query.strip():
            listed = f"{sum(row is not None and row.hit is None for row in self._shown):,} of {listed}"
        count = listed if self._is_loaded else "reading…"
        heading = Content.assemble(("Sessions", "bold"), f" in {place}  ", (count, "$foreground-muted"))
        self.query_one("#heading", Static).update(heading)
        self.query_one("#keys", Static).update(self._keys)

    @property
    def _keys(self) -> str:
        if self.editing:
            return hint("Enter saves", "sessions.cancel cancels")
        other = "this folder" if self.everywhere else "all folders"
        return hint(
            "Enter opens",
            f"sessions.toggle_everywhere {other}",
            "sessions.rename rename",
            "sessions.tag tag",
            "sessions.fork fork",
            "sessions.export export",
            "sessions.delete delete",
            "sessions.undo_delete undo",
            "sessions.cancel closes",
        )

    @property
    def _is_closed(self) -> bool:
        """True once the widgets may be gone: a worker can end later."""
        return self._answered or not self.query("#keys")

    def _report(self, text: str, *, failed: bool = False) -> None:
        if self._is_closed:
            return
        message = self.query_one("#message", Static)
        message.set_class(failed, "-failed")
        message.update(one_line(text))
