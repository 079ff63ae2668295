"""The conversation and the prompt under it: where a person talks to the agent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Static

from cinch_tui.app.start_banner import StartBanner
from cinch_tui.keys.keymap import bindings, label_of
from cinch_tui.screens.panelled import PanelledScreen
from cinch_tui.screens.to_the_chat import Covered, Interrupted, ScrollConversation, TypedAhead
from cinch_tui.terminal.first_frame import INTERRUPTED
from cinch_tui.user_input import Said, Words, as_words
from cinch_tui.widgets.prompt.prompt import Prompt
from cinch_tui.widgets.status_bar import Arrangement, Status, StatusBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.content import Content

    from cinch_tui.command_host.chat import ChatCommandHost
    from cinch_tui.commands.registry import Invocation, Registry, UnknownCommand
    from cinch_tui.controller.controller import SessionController
    from cinch_tui.shell_line import ShellLine
    from cinch_tui.terminal.first_frame import FirstFrame
    from cinch_tui.transcript.shell_run import Shell
    from cinch_tui.widgets.queue_line import QueueLine

QUIT_WITHIN = 1.5
"""Seconds in which a second Ctrl+C or Ctrl+D quits."""
REPEATED_WITHIN = 0.1
"""Seconds between the same key twice when it is held down, and more."""

LEAST_ROWS = 1
"""Rows that a dialog leaves to the conversation even before it has its own size: more would make the screen scroll."""
COMPLAINT_SECONDS = 10

AS_IT_IS = "Send it as it is"
TO_THE_PROMPT = "Back to the prompt"


class ChatScreen(PanelledScreen):
    """Takes what is typed to the controller, and keys to the widgets."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("chat")]
    AUTO_FOCUS = ""

    class PromptReady(Message):
        """The prompt has the focus, so that keys reach it."""

    def __init__(
        self,
        controller: SessionController,
        front: ChatCommandHost,
        prompt: Prompt,
        commands: Callable[[], Registry],
        frame: FirstFrame | None = None,
    ) -> None:
        """`frame` is what the person has seen and typed into so far."""
        super().__init__(controller, front, prompt)
        self._frame = frame
        ui = controller.settings.ui
        self._status = StatusBar(arrangement=Arrangement(ui.status, moves=ui.motion == "full"))
        self._commands = commands
        self._quit_armed_at = 0.0
        self._left_at = 0.0
        self._early: list[Words] = []
        self._shell: Shell | None = None
        self._banner: StartBanner | None = None

    def compose(self) -> ComposeResult:
        yield Static(self._first_banner(), id="room")
        yield self.prompt
        yield self._status

    def _first_banner(self) -> Content | str:
        """What an empty conversation shows, until the widget for it is there; nothing where another begins."""
        options, app = self._controller.options, self._controller.app
        if options.beginning != "new" or options.prompt:
            return ""
        self._banner = StartBanner(str(options.cwd), self._frame.told[0] if self._frame else "")
        # As wide as the conversation, which has a margin and a scrollbar.
        return self._banner.content(app.size.width - 2)

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
        from cinch_tui.screens.chat_widgets import STYLES, ChatWidgets

        self.post_message(self.PromptReady())
        self._controller.app.stylesheet.read_all(STYLES)
        widgets = ChatWidgets.above(self._status)
        widgets.transcript.banner = self._banner
        self.furnish(widgets.transcript)
        with self._controller.app.batch_update():
            await self.query_one("#room").remove()
            await self.mount_all(widgets.above_prompt, before=self.prompt)
        self._widgets = widgets
        self._controller.open(self)
        while self._early:
            self.take(self._early.pop(0))

    @work(group="picture", exclusive=True)
    async def keep_picture(self) -> None:
        """Have this empty screen painted first at the next start."""
        if self._widgets is not None:
            # The conversation is drawn in new colours a frame later than the rest.
            await self._widgets.transcript.drained()
        self.call_after_refresh(self._keep_picture)

    def _keep_picture(self) -> None:
        from cinch_tui.terminal.first_picture import keep_picture

        busy = self._widgets is None or bool(self.prompt.text or self.has_panel or self._widgets.transcript.blocks)
        if self.is_current and not busy:
            keep_picture(self._controller.app, self, self._status.status, self._controller.options)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._widgets is not None and super().check_action(action, parameters)

    @on(Prompt.Submitted)
    def _submitted(self, message: Prompt.Submitted) -> None:
        if self._widgets is None:
            self._early.append(message.words)
        else:
            self.take(message.words)

    @on(Prompt.FollowUp)
    def _followed_up(self, message: Prompt.FollowUp) -> None:
        if self._widgets is None:
            self._early.append(message.words)
        elif self._controller.is_running and self._is_prompt(message.words.text):
            self._guard(message.words, self._controller.sender.follow_up)
        else:
            self.take(message.words)

    @on(Prompt.TakeBack)
    def _take_back(self, message: Prompt.TakeBack) -> None:
        del message
        self._controller.sender.queue.take_back()

    @on(Prompt.SendNow)
    def _send_now(self, message: Prompt.SendNow) -> None:
        del message
        self._controller.send_now()

    @on(Prompt.Revised)
    def _revised(self, message: Prompt.Revised) -> None:
        self._guard(message.words, self._controller.sender.queue.revised)

    @on(Prompt.LeftAsItWas)
    def _left_as_it_was(self, message: Prompt.LeftAsItWas) -> None:
        del message
        self._controller.sender.queue.left_as_it_was()

    def on_queue_line_asked(self, message: QueueLine.Asked) -> None:
        self._controller.sender.queue.obey(message)

    def action_queue(self) -> None:
        self.widgets.queue.enter()

    @on(Prompt.Complaint)
    def _complain(self, message: Prompt.Complaint) -> None:
        # Loaded with the transcript, after the first paint.
        from cinch_tui.transcript.blocks import as_sentence

        self.notify(as_sentence(message.text), severity="warning", timeout=COMPLAINT_SECONDS, markup=False)

    @on(Prompt.EditorRequested)
    @work(group="command")
    async def _editor_requested(self, message: Prompt.EditorRequested) -> None:
        del message
        await self._front.open_editor()

    @on(TypedAhead)
    def _typed_ahead(self, message: TypedAhead) -> None:
        self.prompt.insert(message.text)

    @on(Covered)
    def _covered(self, message: Covered) -> None:
        """Keep the end of the conversation above a docked dialog, which covers the prompt and what is around it."""
        # Not from where the stage ends: its margin moves that, and a resize may not have reached it yet.
        below = [each for each in self.children if each.display and each is not self.widgets.stage]
        rows = sum(each.outer_size.height for each in below)
        most = self.size.height - rows - LEAST_ROWS
        self.widgets.stage.styles.margin = (0, 0, max(0, min(message.rows - rows, most)), 0)

    @on(ScrollConversation)
    def _scroll_conversation(self, message: ScrollConversation) -> None:
        self.widgets.transcript.scroll_relative(y=message.lines, animate=False)

    @on(Interrupted)
    def _interrupted(self, message: Interrupted) -> None:
        del message
        self.action_interrupt()

    def _is_prompt(self, text: str) -> bool:
        return text[0] != "!" and self._commands().parse(text) is None

    def take(self, said: Said) -> None:
        """Do what was typed: keep a key, run a command, or send it."""
        # By now they are loaded, see `warming.NEEDED_NEXT`.
        from cinch_tui.commands.secrets import take_keys

        # Whoever says something wants to see what comes of it.
        self.widgets.transcript.follow()
        words = as_words(said)
        rest, keys = take_keys(words.text)
        for key in keys:
            self._keep_key(key.provider, key.secret)
        if rest.strip() or not keys:
            self._guard(words.saying(rest), self._obey)

    def _guard(self, words: Words, send: Callable[[Words], None]) -> None:
        """Pass the words on, unless there is an API key in them: then ask first."""
        # By now it is loaded, see `warming.NEEDED_NEXT`.
        from harness.agent.guardrails import find_secrets

        if find_secrets(words.text):
            self._ask_about_keys(words, send)
        else:
            send(words)

    @work(group="command")
    async def _ask_about_keys(self, words: Words, send: Callable[[Words], None]) -> None:
        from cinch_tui.api_keys.guard import ask_about_keys

        await self._controller.sender.until_ready()
        decision = await ask_about_keys(self._front, words.text)
        if decision.send:
            send(words)
        elif decision.text:
            self.prompt.restore(words.saying(decision.text))

    def _obey(self, words: Words) -> None:
        from cinch_tui.commands.registry import Invocation, UnknownCommand
        from cinch_tui.shell_line import shell_line

        line, command = shell_line(words.text), self._commands().parse(words.text)
        if words.images and (line or isinstance(command, Invocation)):
            self.prompt.restore(words)
            self.widgets.notice("A command takes no images; the prompt is as it was.", "warning")
            return
        if line:
            self._run_shell(line)
            return
        match command:
            case Invocation() as invocation:
                self._command(invocation, words)
            case UnknownCommand() as miss:
                self._ask_about(words, miss)
            case None:
                self._send(words.saying(self._commands().literal(words.text)))

    @work(group="command")
    async def _keep_key(self, provider: str, secret: str) -> None:
        await self._controller.sender.until_ready()
        await self._front.keep_key(provider, secret)

    @work(group="command")
    async def _command(self, invocation: Invocation, words: Words) -> None:
        if not await self._commands().run(invocation, self._front):
            self.prompt.restore(words)

    @work(group="shell")
    async def _run_shell(self, line: ShellLine) -> None:
        from cinch_tui.transcript.shell_run import Shell

        await self._controller.sender.until_ready()
        self._shell = self._shell or Shell(self._controller.agent, self.widgets.transcript)
        self.prompt.own_commands += 1
        try:
            await self._shell.run(line)
        finally:
            self.prompt.own_commands -= 1

    @work(group="command")
    async def _ask_about(self, words: Words, miss: UnknownCommand) -> None:
        # Loaded with the transcript, after the first paint.
        from cinch_tui.transcript.blocks import as_sentence

        choices = [(name, "run this command") for name in miss.suggestions]
        if not miss.is_safe:
            choices.insert(0, (TO_THE_PROMPT, "to correct it"))
        title = as_sentence(f"{miss.reason}; what did you mean?")
        chosen = await self._controller.pick(title, [*choices, (AS_IT_IS, "to the model, as a prompt")])
        if chosen in (None, TO_THE_PROMPT):
            self.prompt.restore(words)
        elif chosen == AS_IT_IS:
            self._send(words)
        elif chosen:
            self.take(chosen)

    def send(self, said: Said) -> None:
        """Send to the agent, as a prompt or as a steering message; a text with an API key is asked about first."""
        self._guard(as_words(said), self._send)

    def _send(self, words: Words) -> None:
        if self._shell:
            self._shell.hand_over()
        if self._controller.is_running:
            self._controller.sender.steer(words)
        else:
            self._run(words)

    def go_on(self) -> None:
        """Ask the model again, with nothing new."""
        self._run(None)

    @work(group="run")
    async def _run(self, words: Words | None) -> None:
        self.prompt.run_is_on = True
        try:
            await self._controller.sender.run(words)
        finally:
            self.prompt.run_is_on = False

    def action_abort(self) -> None:
        """Esc: drop a selection, close help or search, stop a command or a side question, send a queued message now, or
        stop the agent."""
        help_panel = self.query("HelpPanel")
        if self.get_selected_text():
            self.clear_selection()
        elif help_panel:
            help_panel.remove()
        elif self.leave_search() or self.has_just_lost_list:
            return
        elif not ((self._shell and self._shell.stop()) or self._front.stop_aside()):
            self._controller.send_now_or_abort()

    def action_interrupt(self) -> None:
        """Ctrl+C: copy a selection, else stop the agent, else clear the prompt, else quit at the second time."""
        selected = self.get_selected_text()
        if selected:
            self._front.copy(selected)
            self.clear_selection()
        elif self._shell and self._shell.stop():
            return
        elif self._controller.is_running:
            self._controller.abort()
        elif self.prompt.text:
            self._controller.set_aside(self.prompt.take())
        elif time.monotonic() - self._quit_armed_at < QUIT_WITHIN:
            self._controller.quit(INTERRUPTED)
        else:
            self._arm_quit(label_of("chat.interrupt"))

    def action_leave(self) -> None:
        """Ctrl+D: in an empty prompt, quit at the second time; a key held down to erase the text does not quit."""
        since, self._left_at = time.monotonic() - self._left_at, time.monotonic()
        if self.prompt.text or since < REPEATED_WITHIN:
            return
        if time.monotonic() - self._quit_armed_at < QUIT_WITHIN:
            self._controller.quit()
        else:
            self._arm_quit(label_of("chat.leave"))

    def _arm_quit(self, key: str) -> None:
        self._quit_armed_at = time.monotonic()
        self.widgets.note(f"{key} again quits{self._controller.cost_of_leaving}")
        self.set_timer(QUIT_WITHIN, lambda: self.widgets.note(""))

    @work(group="command")
    async def action_toggle_plan(self) -> None:
        await self._controller.sender.until_ready()
        self._front.toggle_plan()

    def action_help(self) -> None:
        self._front.show_help()

    def action_context(self) -> None:
        self.take("/context")

    @work(group="command")
    async def action_sessions(self) -> None:
        await self._controller.pick_session()

    def on_text_selected(self) -> None:
        selected = self.get_selected_text()
        if selected:
            self._front.copy(selected)
