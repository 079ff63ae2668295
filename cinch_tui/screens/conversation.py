"""Key actions and messages of the transcript and the panels around it."""

from __future__ import annotations

import asyncio
import math
import os
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual import on, work

from cinch_tui.agent_session import NOT_READY
from cinch_tui.keybindings.prompt_keys import FocusPrompt, TypedForPrompt
from cinch_tui.screens.screen import Covered, FrameLimitedScreen, ScrollConversation
from harness.errors import CinchError

if TYPE_CHECKING:
    from textual.app import App
    from textual.events import Key, Paste
    from textual.screen import Screen

    from cinch_tui.commands.host import FullScreenHost
    from cinch_tui.controller.controller import SessionController
    from cinch_tui.panels.panel_manager import PanelManager
    from cinch_tui.transcript.block import TranscriptBlock
    from cinch_tui.transcript.styles import ImageMode
    from cinch_tui.transcript.view import Transcript
    from cinch_tui.widgets.chat_widgets import ChatWidgets
    from cinch_tui.widgets.panel_area import PanelArea
    from cinch_tui.widgets.prompt.prompt import Prompt
    from cinch_tui.widgets.search_bar import SearchBar
    from cinch_tui.widgets.tool_panel import ToolPanel

WIDTHS: list[tuple[int, str]] | None = [(0, "-narrow"), (80, "-wide")]
HEIGHTS: list[tuple[int, str]] | None = [(0, "-short"), (17, "-tall")]

COPY, OPEN = "Copy", "Open"
ESCAPE_DELAY = 0.5
"""Seconds during which a key may still be meant for a list that just became empty."""
MIN_ROWS = 1
"""Rows that a docked dialog leaves to the conversation."""


class ConversationScreen(FrameLimitedScreen):
    """Screen with a transcript, panels around it and a prompt."""

    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(self, controller: SessionController, host: FullScreenHost, prompt: Prompt) -> None:
        super().__init__()
        self._controller = controller
        self._host = host
        self.prompt = prompt
        self._widgets: ChatWidgets | None = None
        self._panels: PanelManager | None = None
        self._emptied_at = -math.inf
        self._covered_rows = 0

    @property
    def widgets(self) -> ChatWidgets:
        """Return the widgets.

        Raises:
            CinchError: before the first paint.
        """
        if self._widgets is None:
            raise CinchError(NOT_READY)
        return self._widgets

    @property
    def panels(self) -> PanelManager:
        """Return the panel manager.

        Raises:
            CinchError: there is no agent yet.
        """
        if self._panels is None:
            raise CinchError(NOT_READY)
        return self._panels

    @property
    def is_awaited(self) -> bool:
        return self._controller.presence.is_pressing_keys

    def on_screen_resume(self) -> None:
        """Restore the focus, which Textual drops if the terminal was unfocused when a dialog opened."""
        if self._widgets is not None and self.focused is None:
            self.prompt.focus()

    def on_key(self, event: Key) -> None:
        """Insert keys into the prompt if nothing is focused, e.g. after a click during a resize."""
        if self._widgets is not None and self.focused is None:
            self.prompt.insert(event.character if event.is_printable and event.character else "")

    def on_paste(self, event: Paste) -> None:
        if self._widgets is not None and self.focused is None:
            self.prompt.insert(event.text)

    @on(TypedForPrompt)
    def _typed_for_prompt(self, message: TypedForPrompt) -> None:
        self.prompt.insert(message.text)

    @on(Covered)
    def _covered(self, message: Covered) -> None:
        # The rows below can change while the dialog is open. Textual does not type the screens of its signal.
        refreshed = self.screen_layout_refresh_signal  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        refreshed.subscribe(self, self._fit_above_dialog, immediate=True)  # pyright: ignore[reportUnknownMemberType]
        self._covered_rows = message.rows
        self._fit_above_dialog()

    def _fit_above_dialog(self, _: Screen[object] | None = None) -> None:
        """Keep the end of the conversation above a docked dialog, which covers the prompt and its neighbours."""
        margin = 0
        if self._covered_rows:
            # The bottom of the stage does not help: its margin moves it, and a resize may not have reached it yet.
            below = [each for each in self.children if each.display and each is not self.widgets.transcript_area]
            rows = sum(each.outer_size.height for each in below)
            margin = max(0, min(self._covered_rows - rows, self.size.height - rows - MIN_ROWS))
        self.widgets.transcript_area.styles.margin = (0, 0, margin, 0)

    @on(ScrollConversation)
    def _scroll_conversation(self, message: ScrollConversation) -> None:
        self.widgets.transcript.scroll_relative(y=message.lines, animate=False)

    # Handlers found by name: the classes of the messages are imported after the first paint.

    def configure_transcript(self, transcript: Transcript) -> None:
        """Configure the transcript with the user's display options."""
        from cinch_tui.transcript.styles import DisplayOptions
        from cinch_tui.transcript.terminal_images import TerminalImageStore, initial_image_mode

        app, ui = self._controller.app, self._controller.settings.ui
        way = initial_image_mode(ui.images, None if app.no_color else app.console.color_system)
        transcript.options = DisplayOptions(ui.timestamps, str(self._controller.options.cwd), way)
        # Textual has no public API to write sequences to the terminal.
        driver = app._driver  # pyright: ignore[reportPrivateUsage]
        if driver is not None and not app.is_headless:
            transcript.terminal_images = TerminalImageStore(driver.write)
        app.app_resume_signal.subscribe(self, self._resumed)  # pyright: ignore[reportUnknownMemberType] as its App

    def _resumed(self, app: App[object]) -> None:
        """Send pictures again: terminals forget them while the app is suspended."""
        self.widgets.transcript.resend_images()

    def show_pictures(self, way: ImageMode) -> None:
        transcript = self.widgets.transcript
        transcript.options = replace(transcript.options, images=way)

    @work(group="pictures")
    async def on_transcript_image_seen(self) -> None:
        """Query image support, only once the first image is visible."""
        from cinch_tui.transcript.terminal_images import QUERY, answers_queries, tmux_passes_images

        wanted, store = self._controller.settings.ui.images, self.widgets.transcript.terminal_images
        is_able = self._controller.app.console.color_system == "truecolor" and not self._controller.app.no_color
        if store is None or wanted not in ("auto", "kitty") or not is_able:
            return
        if os.environ.get("TMUX"):
            if wanted == "kitty" or await asyncio.to_thread(tmux_passes_images):
                store.is_in_tmux = True
                self.show_pictures("kitty")
        elif wanted == "auto" and answers_queries(os.environ):
            store.write(QUERY)

    def on_transcript_link_opened(self, message: Transcript.LinkOpened) -> None:
        self._open(message.url)

    @work(group="command")
    async def on_transcript_links_requested(self, message: Transcript.LinksRequested) -> None:
        from cinch_tui.screens.picker import Item, Picker

        if not message.links:
            self._controller.app.notify("No links in this block.", markup=False)
            return
        items = [Item(link.label, link.url, link.url) for link in message.links]
        url = await self._controller.app.push_screen_wait(Picker("Links of this block", items))
        if not url:
            return
        chosen = await self._host.pick(url, [(COPY, "the URL"), (OPEN, "in the browser or the editor")])
        if chosen == OPEN:
            self._open(url)
        elif chosen == COPY:
            self._host.copy(url)

    async def on_transcript_image_opened(self, message: Transcript.ImageOpened) -> None:
        from cinch_tui.terminal.desktop import NO_VIEWER, show_on_desktop
        from cinch_tui.transcript.image import image_file

        file = await asyncio.to_thread(image_file, message.image)
        if not show_on_desktop(str(file)):
            self._controller.notice(f"{NO_VIEWER}; the image is at {file}")

    def _open(self, url: str) -> None:
        """Open a file link in the editor and a web page on the desktop; else copy the URL."""
        # Imported late: few links are opened.
        from cinch_tui.terminal.desktop import NO_VIEWER, show_on_desktop
        from cinch_tui.terminal.external_programs import edit_at
        from cinch_tui.transcript.links import file_location

        place = file_location(url)
        if place is not None:
            failure = edit_at(*place, self._controller.settings.ui.editor, self._controller.app.suspend)
            if failure:
                self._controller.notice(failure, "error")
        elif not show_on_desktop(url):
            self._controller.notice(f"{NO_VIEWER}; URL copied: {url}")
            self._host.copy(url)

    def on_transcript_unseen(self, message: Transcript.Unseen) -> None:
        self.prompt.unseen = message.count

    def on_transcript_copy_requested(self, message: Transcript.CopyRequested) -> None:
        self._host.copy(message.text)

    def on_transcript_keys_changed(self, message: Transcript.KeysChanged) -> None:
        self.prompt.field.keys_elsewhere = message.hint

    def on_transcript_found(self, message: Transcript.Found) -> None:
        from cinch_tui.widgets.search_bar import SearchBar

        self.query_one(SearchBar).show_result(message.number, message.total, is_done=message.is_done)

    def on_search_bar_query_changed(self, message: SearchBar.QueryChanged) -> None:
        self.widgets.transcript.find(message.query)

    def on_search_bar_step(self, message: SearchBar.Step) -> None:
        self.widgets.transcript.find_next(message.by)

    def on_search_bar_left(self, message: SearchBar.Left) -> None:
        from cinch_tui.widgets.search_bar import SearchBar

        self.query_one(SearchBar).close()
        self.widgets.transcript.end_search(stay=message.stay)
        self.prompt.focus()

    def leave_search(self) -> bool:
        """Close an open search; return False if there was none."""
        from cinch_tui.widgets.search_bar import SearchBar

        bars = [bar for bar in self.query(SearchBar) if bar.is_open]
        for bar in bars:
            bar.close()
            self.widgets.transcript.end_search(stay=True)
        return bool(bars)

    def action_help(self) -> None:
        from cinch_tui.screens.help import help_screen

        self._controller.app.push_screen(help_screen())

    def action_change_sides(self) -> None:
        if self.prompt.has_focus_within:
            self.widgets.transcript.focus()
        elif self.widgets.transcript.has_focus:
            self.widgets.transcript.action_leave()
        else:
            self.prompt.focus()

    async def action_transcript(self, action: str) -> None:
        """Run an action of the transcript."""
        await self.widgets.transcript.run_action(action)

    def action_previous_block(self) -> None:
        self.widgets.transcript.action_previous_block()
        self.widgets.transcript.focus()

    def action_next_block(self) -> None:
        self.widgets.transcript.action_next_block()
        self.widgets.transcript.focus()

    def action_page_transcript(self) -> None:
        from cinch_tui.terminal.external_programs import page
        from cinch_tui.transcript.blocks import transcript_text

        if failure := page(transcript_text(self.widgets.transcript.blocks), self._controller.app.suspend):
            self._controller.notice(failure, "error")

    async def action_search(self) -> None:
        # Imported late: few conversations are searched.
        from cinch_tui.widgets.search_bar import SearchBar

        if not self.query(SearchBar):
            await self.mount(SearchBar(), before=self.prompt)
        self.query_one(SearchBar).open()

    def action_toggle_channels(self) -> None:
        state = "shown" if self.widgets.toggle_channels() else "hidden"
        self._controller.app.notify(f"Thinking and system messages are {state}.", markup=False)

    def action_next_colours(self) -> None:
        self._host.next_colours()

    @work(group="next-approval", exclusive=True)
    async def action_next_approval(self) -> None:
        from cinch_tui.commands.approval import next_approval

        await self._controller.until_ready()
        next_approval(self._host)

    @work(group="next-model", exclusive=True)
    async def action_next_model(self) -> None:
        await self._controller.until_ready()
        await self._host.next_model()

    async def open_panels(self) -> None:
        """Restore the panels of the last start."""
        from cinch_tui.panels.panel_manager import PanelManager

        self._panels = PanelManager(self._controller)
        await self._panels.open()
        self._controller.agent.subscribe(self._panels.receive)

    def replace_conversation(self, blocks: list[TranscriptBlock]) -> None:
        """Show these blocks instead of the current conversation."""
        if self._panels is not None:
            self._panels.forget()
        self.widgets.show(blocks)

    async def pick_session(self) -> None:
        from cinch_tui.commands.session import choose_session

        await choose_session(self._host)

    @property
    def has_panel(self) -> bool:
        """Return True if a panel is visible."""
        return self._panels is not None and bool(self._panels.beside)

    def action_next_panel(self) -> None:
        if self._panels is not None:
            self._panels.cycle()

    def action_focus_panel(self) -> None:
        """Cycle the focus: running calls, panel, prompt."""
        if self._panels is None:
            return
        stops = [*self._panels.stops, self.prompt]
        place = next((place for place, stop in enumerate(stops) if stop.has_focus), -1)
        if len(stops) == 1:
            self._panels.cycle()
            stops = [*self._panels.stops]
        stops[(place + 1) % len(stops)].focus()

    @on(FocusPrompt)
    def _focus_prompt(self, message: FocusPrompt) -> None:
        if message.emptied:
            self._emptied_at = time.monotonic()
        self.prompt.focus()

    @property
    def has_just_lost_list(self) -> bool:
        """Return True shortly after the focused list became empty: Esc was meant to leave it."""
        return time.monotonic() - self._emptied_at < ESCAPE_DELAY

    def on_tool_panel_action_requested(self, message: ToolPanel.ActionRequested) -> None:
        agent, widgets = self._controller.agent, self.widgets
        match message.action:
            case "cancel":
                agent.cancel_call(message.call_id)
            case "background":
                if not agent.background_call(message.call_id):
                    self._controller.notice("Only commands can run in the background.", "warning")
            case "show":
                if widgets.transcript.choose_call(message.call_id):
                    widgets.transcript.focus()

    @work(group="command")
    async def on_panel_area_action_requested(self, message: PanelArea.ActionRequested) -> None:
        await self.panels.perform(message.action, message.key)
