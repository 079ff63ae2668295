"""The conversation and the prompt under it: where a person talks to the agent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import Static

from cinch_tui.desk import NOT_READY
from cinch_tui.keymap import bindings
from cinch_tui.screens.to_the_chat import Interrupted, TypedAhead
from cinch_tui.widgets.prompt.prompt import Prompt
from cinch_tui.widgets.status_bar import Arrangement, Status, StatusBar
from harness.errors import CinchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cinch_tui.chat_front import ChatFront
    from cinch_tui.commands.registry import Invocation, NearMiss, Registry
    from cinch_tui.desk import Desk
    from cinch_tui.first_frame import FirstFrame
    from cinch_tui.screens.board import Board
    from cinch_tui.shell_line import Shell, ShellLine
    from cinch_tui.transcript.view import Transcript
    from cinch_tui.widgets.search_bar import SearchBar

QUIT_WITHIN = 1.5
"""Seconds in which a second Ctrl+C or Ctrl+D quits."""
REPEATED_WITHIN = 0.1
"""Seconds between the same key twice when it is held down, and more."""

AS_IT_IS = "Send it as it is"


class ChatScreen(Screen[object]):
    """Takes what is typed to the desk, and keys to the widgets."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("chat")]
    AUTO_FOCUS = ""

    def __init__(
        self,
        desk: Desk,
        front: ChatFront,
        prompt: Prompt,
        commands: Callable[[], Registry],
        frame: FirstFrame | None = None,
    ) -> None:
        """`frame` is what the person has seen and typed into so far."""
        super().__init__()
        self._frame = frame
        self._desk = desk
        self._front = front
        self.prompt = prompt
        ui = desk.settings.ui
        self._status = StatusBar(arrangement=Arrangement(ui.status, moves=ui.motion == "full"))
        self._board: Board | None = None
        self._commands = commands
        self._quit_armed_at = 0.0
        self._left_at = 0.0
        self._early: list[str] = []
        self._shell: Shell | None = None

    @property
    def board(self) -> Board:
        """Raises `CinchError` before the first paint."""
        if self._board is None:
            raise CinchError(NOT_READY)
        return self._board

    def compose(self) -> ComposeResult:
        yield Static(id="room")
        yield self.prompt
        yield self._status

    def on_mount(self) -> None:
        self.prompt.focus()
        if self._frame is not None:
            model, branch = self._frame.told
            self._status.status = Status(model=model, branch=branch)
            self.prompt.insert(self._frame.text)
        self.call_after_refresh(self._furnish)

    async def _furnish(self) -> None:
        """The prompt is painted; what shows the conversation takes the room that was left for it."""
        # A quarter of the time to the first paint would be spent on what shows nothing yet.
        from cinch_tui.screens.board import STYLES, Board

        if self._frame is not None:
            self._frame.hand_on()
        self._desk.app.stylesheet.read_all(STYLES)
        board = Board.above(self._status)
        with self._desk.app.batch_update():
            await self.query_one("#room").remove()
            await self.mount_all(board.widgets, before=self.prompt)
        self._board = board
        self._desk.open(self)
        while self._early:
            self.take(self._early.pop(0))

    def keep_picture(self) -> None:
        """Have this empty screen painted first at the next start."""
        self.call_after_refresh(self._keep_picture)

    def _keep_picture(self) -> None:
        from cinch_tui.first_picture import keep_picture

        if self._board and self.is_current and not self.prompt.text and not self._board.transcript.blocks:
            keep_picture(self._desk.app, self, self._status.status, self._desk.options)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._board is not None and super().check_action(action, parameters)

    @on(Prompt.Submitted)
    def _submitted(self, message: Prompt.Submitted) -> None:
        if self._board is None:
            self._early.append(message.text)
        else:
            self.take(message.text)

    @on(Prompt.FollowUp)
    def _followed_up(self, message: Prompt.FollowUp) -> None:
        if self._board is None:
            self._early.append(message.text)
        elif self._desk.is_running and message.text[0] != "!" and self._commands().parse(message.text) is None:
            self._desk.follow_up(message.text)
        else:
            self.take(message.text)

    @on(Prompt.TakeBack)
    def _take_back(self, message: Prompt.TakeBack) -> None:
        del message
        self._desk.take_back()

    @on(Prompt.EditorRequested)
    @work(group="command")
    async def _editor_requested(self, message: Prompt.EditorRequested) -> None:
        del message
        await self._front.open_editor()

    @on(TypedAhead)
    def _typed_ahead(self, message: TypedAhead) -> None:
        self.prompt.insert(message.text)

    @on(Interrupted)
    def _interrupted(self, message: Interrupted) -> None:
        del message
        self.action_interrupt()

    # By their names, since the class comes later.

    def on_transcript_link_opened(self, message: Transcript.LinkOpened) -> None:
        self._desk.app.open_url(message.url)

    def on_transcript_unseen(self, message: Transcript.Unseen) -> None:
        self.prompt.unseen = message.count

    def on_transcript_grabbed(self, message: Transcript.Grabbed) -> None:
        self._front.copy(message.text)

    def on_transcript_typed(self, message: Transcript.Typed) -> None:
        self.prompt.insert(message.text)

    def on_transcript_left(self, message: Transcript.Left) -> None:
        del message
        self.prompt.focus()

    def on_transcript_found(self, message: Transcript.Found) -> None:
        from cinch_tui.widgets.search_bar import SearchBar

        self.query_one(SearchBar).tell(message.number, message.total, is_done=message.is_done)

    def on_search_bar_wanted(self, message: SearchBar.Wanted) -> None:
        self.board.transcript.find(message.query)

    def on_search_bar_step(self, message: SearchBar.Step) -> None:
        self.board.transcript.find_next(message.by)

    def on_search_bar_left(self, message: SearchBar.Left) -> None:
        from cinch_tui.widgets.search_bar import SearchBar

        self.query_one(SearchBar).close()
        self.board.transcript.end_search(stay=message.stay)
        self.prompt.focus()

    def take(self, text: str) -> None:
        """Do what was typed: keep a key, run a command, or send it."""
        # By now they are loaded, see `warming.NEEDED_NEXT`.
        from cinch_tui.commands.registry import Invocation, NearMiss
        from cinch_tui.commands.secrets import take_keys
        from cinch_tui.shell_line import shell_line

        # Whoever says something wants to see what comes of it.
        self.board.transcript.follow()
        rest, keys = take_keys(text)
        for key in keys:
            self._keep_key(key.provider, key.secret)
        if keys and not rest.strip():
            return
        if line := shell_line(rest):
            self._run_shell(line)
            return
        match self._commands().parse(rest):
            case Invocation() as invocation:
                self._command(invocation)
            case NearMiss() as miss:
                self._ask_about(rest, miss)
            case None:
                self.send(self._commands().literal(rest))

    @work(group="command")
    async def _keep_key(self, provider: str, secret: str) -> None:
        await self._front.keep_key(provider, secret)

    @work(group="command")
    async def _command(self, invocation: Invocation) -> None:
        await self._commands().run(invocation, self._front)

    @work(group="shell")
    async def _run_shell(self, line: ShellLine) -> None:
        from cinch_tui.shell_line import Shell

        try:
            self._shell = self._shell or Shell(self._desk.agent, self.board.transcript)
        except CinchError as error:
            self.board.notice(str(error), "error")
            self.prompt.restore(line.text)
            return
        await self._shell.run(line)

    @work(group="command")
    async def _ask_about(self, text: str, miss: NearMiss) -> None:
        # Loaded with the transcript, after the first paint.
        from cinch_tui.transcript.blocks import as_sentence

        choices = [(name, "run this command") for name in miss.suggestions]
        title = as_sentence(f"{miss.reason}; what did you mean?")
        chosen = await self._desk.pick(title, [*choices, (AS_IT_IS, "to the model, as a prompt")])
        if chosen is None:
            self.prompt.restore(text)
        elif chosen == AS_IT_IS:
            self.send(text)
        else:
            self.take(chosen)

    def send(self, text: str) -> None:
        """To the agent: as a prompt, or as steering while it works."""
        if self._shell:
            self._shell.hand_over()
        if self._desk.is_running:
            self._desk.steer(text)
        else:
            self._run(text)

    def go_on(self) -> None:
        """Ask the model again, with nothing new."""
        self._run(None)

    @work(group="run")
    async def _run(self, text: str | None) -> None:
        self.prompt.run_is_on = True
        try:
            await self._desk.run(text)
        finally:
            self.prompt.run_is_on = False

    def action_abort(self) -> None:
        """Esc: forget a selection, else stop one's own command, the answer to a side question, or the agent."""
        if self.get_selected_text():
            self.clear_selection()
        elif not ((self._shell and self._shell.stop()) or self._front.stop_aside()):
            self._desk.abort()

    def action_interrupt(self) -> None:
        """Ctrl+C: copy a selection, else stop the agent, else clear the prompt, else quit at the second time."""
        selected = self.get_selected_text()
        if selected:
            self._front.copy(selected)
            self.clear_selection()
        elif self._shell and self._shell.stop():
            return
        elif self._desk.is_running:
            self._desk.abort()
        elif self.prompt.text:
            self._desk.set_aside(self.prompt.take())
        elif time.monotonic() - self._quit_armed_at < QUIT_WITHIN:
            self._desk.quit()
        else:
            self._arm_quit("Ctrl+C")

    def action_leave(self) -> None:
        """Ctrl+D: in an empty prompt, quit at the second time; a key held down to erase the text does not quit."""
        since, self._left_at = time.monotonic() - self._left_at, time.monotonic()
        if self.prompt.text or since < REPEATED_WITHIN:
            return
        if time.monotonic() - self._quit_armed_at < QUIT_WITHIN:
            self._desk.quit()
        else:
            self._arm_quit("Ctrl+D")

    def _arm_quit(self, key: str) -> None:
        self._quit_armed_at = time.monotonic()
        self.board.note(f"{key} again quits")
        self.set_timer(QUIT_WITHIN, lambda: self.board.note(""))

    def action_toggle_plan(self) -> None:
        self._front.toggle_plan()

    def action_help(self) -> None:
        self._front.show_help()

    @work(group="command")
    async def action_sessions(self) -> None:
        await self._desk.pick_session()

    def action_toggle_fold(self) -> None:
        self.board.transcript.action_fold()

    def action_previous_block(self) -> None:
        self.board.transcript.action_previous_block()
        self.board.transcript.focus()

    def action_next_block(self) -> None:
        self.board.transcript.action_next_block()
        self.board.transcript.focus()

    def action_page_transcript(self) -> None:
        from cinch_tui.pager import page
        from cinch_tui.transcript.whole import whole_text

        failure = page(whole_text(self.board.transcript.blocks), self._desk.app.suspend)
        if failure:
            self._desk.notice(failure, "error")

    def action_previous_prompt(self) -> None:
        self.board.transcript.action_previous_prompt()

    def action_next_prompt(self) -> None:
        self.board.transcript.action_next_prompt()

    def on_text_selected(self) -> None:
        selected = self.get_selected_text()
        if selected:
            self._front.copy(selected)

    async def action_search(self) -> None:
        # Few conversations are searched, and none before the first paint.
        from cinch_tui.widgets.search_bar import SearchBar

        bars = self.query(SearchBar)
        if not bars:
            await self.mount(SearchBar(), before=self.prompt)
        self.query_one(SearchBar).open()

    def action_page_up(self) -> None:
        self.board.transcript.action_page_up()

    def action_page_down(self) -> None:
        self.board.transcript.action_page_down()

    def action_scroll_top(self) -> None:
        self.board.transcript.action_scroll_home()

    def action_scroll_end(self) -> None:
        self.board.transcript.follow()
