"""Chat screen: transcript and prompt."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Static

from cinch_tui.app.start_banner import StartBanner
from cinch_tui.keybindings.keymap import bindings, label_of
from cinch_tui.screens.conversation import ConversationScreen
from cinch_tui.screens.screen import Interrupted
from cinch_tui.terminal.first_frame import INTERRUPTED
from cinch_tui.user_input import UserInput, UserInputLike, as_user_input
from cinch_tui.widgets.prompt.prompt import Prompt
from cinch_tui.widgets.status_bar import Arrangement, Status, StatusBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.content import Content

    from cinch_tui.commands.host import FullScreenHost
    from cinch_tui.commands.registry import Invocation, Registry, UnknownCommand
    from cinch_tui.controller.chat_session import ChatView
    from cinch_tui.controller.controller import SessionController
    from cinch_tui.shell_line import ShellLine
    from cinch_tui.terminal.first_frame import FirstFrame
    from cinch_tui.transcript.shell_commands import Shell
    from cinch_tui.widgets.queue_line import QueueLine

QUIT_WITHIN = 1.5
"""Maximum seconds between two presses of Ctrl+C or Ctrl+D that quit."""
REPEATED_WITHIN = 0.1
"""Maximum seconds between key repeats of a held key."""

WARNING_SECONDS = 10

AS_IT_IS = "Send as prompt"
TO_THE_PROMPT = "Back to the prompt"


class ChatScreen(ConversationScreen):
    """Passes user input to the session controller and key actions to the widgets."""

    BINDINGS = bindings("chat")
    AUTO_FOCUS = ""

    class PromptReady(Message):
        """The prompt is focused and receives keys."""

    def __init__(
        self,
        controller: SessionController,
        host: FullScreenHost,
        prompt: Prompt,
        commands: Callable[[], Registry],
        frame: FirstFrame | None = None,
    ) -> None:
        """`frame` is the first frame with the keys pressed so far."""
        super().__init__(controller, host, prompt)
        self._frame = frame
        ui = controller.settings.ui
        self._status = StatusBar(arrangement=Arrangement(ui.status, moves=ui.motion == "full"))
        self._commands = commands
        self._quit_armed_at = 0.0
        self._left_at = 0.0
        self._early: list[UserInput] = []
        self._shell: Shell | None = None
        self._banner: StartBanner | None = None

    def compose(self) -> ComposeResult:
        yield Static(self._first_banner(), id="room")
        yield self.prompt
        yield self._status

    def _first_banner(self) -> Content | str:
        """Return the start banner shown until the transcript exists; empty if a conversation is resumed."""
        options, app = self._controller.options, self._controller.app
        if options.resume is not None or options.prompt:
            return ""
        self._banner = StartBanner(str(options.cwd), self._frame.status_texts[0] if self._frame else "")
        # The width of the transcript, without its margin and scrollbar.
        return self._banner.content(app.size.width - 2)

    def on_mount(self) -> None:
        self.prompt.focus()
        if self._frame is not None:
            model, branch = self._frame.status_texts
            self._status.status = Status(model=model, branch=branch)
            self.prompt.insert(self._frame.text)
        self.call_after_refresh(self._mount_widgets)

    async def _mount_widgets(self) -> None:
        """Mount the transcript and the other widgets after the first paint of the prompt."""
        # Importing these takes a quarter of the time to the first paint.
        from cinch_tui.widgets.chat_widgets import STYLES, ChatWidgets

        self.post_message(self.PromptReady())
        self._controller.app.stylesheet.read_all(STYLES)
        widgets = ChatWidgets.above(self._status)
        widgets.transcript.banner = self._banner
        self.configure_transcript(widgets.transcript)
        with self._controller.app.batch_update():
            await self.query_one("#room").remove()
            await self.mount_all(widgets.above_prompt, before=self.prompt)
        self._widgets = widgets
        self._controller.open(self)
        while self._early:
            self.process_input(self._early.pop(0))

    async def agent_ready(self) -> None:
        """Open the panels of last time, and apply settings from now on."""
        from cinch_tui.config.settings import Settings
        from cinch_tui.screens.setting_effects import SettingEffects

        await self.open_panels()
        effects = SettingEffects(self._controller.app, self, self._controller.options)
        self._controller.subscribe_to_settings(effects.apply)
        if self._controller.settings.ui.side_by_side_min_columns != Settings().ui.side_by_side_min_columns:
            effects.side_by_side(self._controller.settings)

    @work(group="picture", exclusive=True)
    async def keep_picture(self) -> None:
        """Save this empty screen as the first frame of the next start."""
        if self._widgets is not None:
            # The transcript takes on new colours a frame later than the rest.
            await self._widgets.transcript.drained()
        self.call_after_refresh(self._keep_picture)

    def _keep_picture(self) -> None:
        from cinch_tui.terminal.first_picture import save_screen

        if self._widgets is None or self.prompt.text or self.has_panel or self._widgets.transcript.blocks:
            return
        if self.is_current:
            app, options = self._controller.app, self._controller.options
            save_screen(app, options, self.prompt.field, self._widgets.transcript, self._status.status)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._widgets is not None and super().check_action(action, parameters)

    @on(Prompt.Submitted)
    @on(Prompt.FollowUp)
    def _submitted(self, message: Prompt.Submitted | Prompt.FollowUp) -> None:
        user_input, is_follow_up = message.user_input, isinstance(message, Prompt.FollowUp)
        if self._widgets is None:
            self._early.append(user_input)
        elif is_follow_up and self._controller.is_running and self._is_prompt(user_input.text):
            self._guard(user_input, self._controller.sender.follow_up)
        else:
            self.process_input(user_input)

    @on(Prompt.RecallQueued)
    def _recall_queued(self) -> None:
        self._controller.sender.queue.recall()

    @on(Prompt.SendNow)
    def _send_now(self) -> None:
        self._controller.send_now()

    @on(Prompt.Revised)
    def _edit_finished(self, message: Prompt.Revised) -> None:
        self._guard(message.user_input, self._controller.sender.queue.finish_edit)

    @on(Prompt.RevisionCancelled)
    def _edit_cancelled(self) -> None:
        self._controller.sender.queue.cancel_edit()

    def on_queue_line_action_requested(self, message: QueueLine.ActionRequested) -> None:
        self._controller.sender.queue.apply(message)

    def action_queue(self) -> None:
        self.widgets.queue.enter()

    @on(Prompt.PasteRejected)
    def _warn(self, message: Prompt.PasteRejected) -> None:
        from cinch_tui.transcript.blocks import as_sentence

        self.notify(as_sentence(message.text), severity="warning", timeout=WARNING_SECONDS, markup=False)

    @on(Prompt.EditorRequested)
    @work(group="command")
    async def _editor_requested(self) -> None:
        await self._host.open_editor()

    def _is_prompt(self, text: str) -> bool:
        return text[0] != "!" and self._commands().parse(text) is None

    def process_input(self, user_input: UserInputLike) -> None:
        """Process user input: store a key, run a command, or send a prompt."""
        # Preloaded, see `cinch_tui.app.preload`.
        from cinch_tui.api_keys.leak_check import take_keys

        # The user wants to see the effect of their input.
        self.widgets.transcript.follow()
        user_input = as_user_input(user_input)
        rest, keys = take_keys(user_input.text)
        for key in keys:
            self._keep_key(key.provider, key.secret)
        if rest.strip() or not keys:
            self._guard(user_input.with_text(rest), self._execute)

    def _guard(self, user_input: UserInput, send: Callable[[UserInput], None]) -> None:
        """Send the input, or ask first if it contains an API key."""
        # Preloaded, see `cinch_tui.app.preload`.
        from harness.agent.guardrails import find_secrets

        if find_secrets(user_input.text):
            self._ask_about_keys(user_input, send)
        else:
            send(user_input)

    @work(group="command")
    async def _ask_about_keys(self, user_input: UserInput, send: Callable[[UserInput], None]) -> None:
        await self._controller.until_ready()
        from cinch_tui.commands.keys import ask_about_keys

        decision = await ask_about_keys(self._host, user_input.text)
        if decision.send:
            send(user_input)
        elif decision.text:
            self.prompt.restore(user_input.with_text(decision.text))

    def _execute(self, user_input: UserInput) -> None:
        from cinch_tui.commands.registry import Invocation, UnknownCommand
        from cinch_tui.shell_line import shell_line

        line, command = shell_line(user_input.text), self._commands().parse(user_input.text)
        if user_input.images and (line or isinstance(command, Invocation)):
            self.prompt.restore(user_input)
            self.widgets.notice("Commands do not accept images; the prompt was restored.", "warning")
            return
        if line:
            self._run_shell(line)
            return
        match command:
            case Invocation() as invocation:
                self._command(invocation, user_input)
            case UnknownCommand() as miss:
                self._suggest(user_input, miss)
            case None:
                self._send(user_input.with_text(self._commands().literal(user_input.text)))

    @work(group="command")
    async def _keep_key(self, provider: str, secret: str) -> None:
        await self._controller.until_ready()
        from cinch_tui.commands.keys import keep_key

        await keep_key(self._host, provider, secret)

    @work(group="command")
    async def _command(self, invocation: Invocation, user_input: UserInput) -> None:
        if not await self._commands().run(invocation, self._host):
            self.prompt.restore(user_input)

    @work(group="shell")
    async def _run_shell(self, line: ShellLine) -> None:
        from cinch_tui.transcript.shell_commands import Shell

        await self._controller.until_ready()
        self._shell = self._shell or Shell(self._controller.agent, self.widgets.transcript)
        self.prompt.own_commands += 1
        try:
            await self._shell.run(line)
        finally:
            self.prompt.own_commands -= 1

    @work(group="command")
    async def _suggest(self, user_input: UserInput, miss: UnknownCommand) -> None:
        from cinch_tui.transcript.blocks import as_sentence

        choices = [(name, "run this command") for name in miss.suggestions]
        if not miss.is_safe:
            choices.insert(0, (TO_THE_PROMPT, "to correct it"))
        title = as_sentence(f"{miss.reason}; what did you mean?")
        chosen = await self._host.pick(title, [*choices, (AS_IT_IS, "to the model")])
        if chosen in (None, TO_THE_PROMPT):
            self.prompt.restore(user_input)
        elif chosen == AS_IT_IS:
            self._send(user_input)
        elif chosen:
            self.process_input(chosen)

    def send(self, user_input: UserInputLike) -> None:
        """Send a prompt, or a steering message during a run; ask first if it contains an API key."""
        self._guard(as_user_input(user_input), self._send)

    def _send(self, user_input: UserInput) -> None:
        if self._shell:
            self._shell.hand_over()
        if self._controller.is_running:
            self._controller.sender.steer(user_input)
        else:
            self._run(user_input)

    def continue_run(self) -> None:
        """Ask the model again without a new message."""
        self._run(None)

    @work(group="run")
    async def _run(self, user_input: UserInput | None) -> None:
        self.prompt.run_is_on = True
        try:
            await self._controller.sender.run(user_input)
        finally:
            self.prompt.run_is_on = False

    def action_abort(self) -> None:
        """Handle Esc: clear the selection, close help or search, stop a command or side question, send a queued message
        now, or stop the agent."""
        help_panel = self.query("HelpPanel")
        if self.get_selected_text():
            self.clear_selection()
        elif help_panel:
            help_panel.remove()
        elif self.leave_search() or self.has_just_lost_list:
            return
        elif not ((self._shell and self._shell.stop()) or self._host.side_questions.stop()):
            self._controller.send_now_or_abort()

    @on(Interrupted)
    def action_interrupt(self) -> None:
        """Handle Ctrl+C: copy the selection, stop the agent, clear the prompt, or quit when pressed twice."""
        if selected := self.get_selected_text():
            self._host.copy(selected)
            self.clear_selection()
        elif self._shell and self._shell.stop():
            return
        elif self._controller.is_running:
            self._controller.abort()
        elif self.prompt.text:
            self._controller.add_to_history(self.prompt.take())
        else:
            self._quit_on_second_press("chat.interrupt", INTERRUPTED)

    def action_leave(self) -> None:
        """Handle Ctrl+D: quit when pressed twice in an empty prompt; a held key does not quit."""
        since, self._left_at = time.monotonic() - self._left_at, time.monotonic()
        if not self.prompt.text and since >= REPEATED_WITHIN:
            self._quit_on_second_press("chat.leave")

    def _quit_on_second_press(self, key_id: str, *status: int) -> None:
        if time.monotonic() - self._quit_armed_at < QUIT_WITHIN:
            self._controller.quit(*status)
            return
        self._quit_armed_at = time.monotonic()
        self.widgets.set_status(note=f"{label_of(key_id)} again quits{self._controller.cost_of_leaving}")
        self.set_timer(QUIT_WITHIN, lambda: self.widgets.set_status(note=""))

    @work(group="command")
    async def action_toggle_plan(self) -> None:
        await self._controller.until_ready()
        from cinch_tui.commands.session import toggle_plan

        toggle_plan(self._host)

    def action_accept_plan(self) -> None:
        self.process_input("/plan accept")

    def action_context(self) -> None:
        self.process_input("/context")

    @work(group="command")
    async def action_sessions(self) -> None:
        await self.pick_session()

    def on_text_selected(self) -> None:
        if selected := self.get_selected_text():
            self._host.copy(selected)


if TYPE_CHECKING:
    _: type[ChatView] = ChatScreen
