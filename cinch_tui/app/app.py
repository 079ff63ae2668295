"""CinchApp: the theme, the style sheets, the chat screen, and how the program leaves."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual.app import App, SuspendNotSupported
from textual.events import Event, Key, Paste
from textual.screen import Screen
from textual.theme import Theme
from textual.worker import WorkerFailed

from cinch_tui.app.themes import ThemeSwitch
from cinch_tui.command_host.chat import ChatCommandHost
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.controller.controller import SessionController
from cinch_tui.images.image_store import ImageStore
from cinch_tui.keybindings.keymap import bindings, label_of, set_user_keys
from cinch_tui.rendering.background_cache import remember_backgrounds_by_colour
from cinch_tui.screens.chat import ChatScreen
from cinch_tui.terminal.background import QUERY, UNSUBSCRIBE, TerminalBackground, remember
from cinch_tui.terminal.cell_diff import ScreenCells
from cinch_tui.terminal.frame_output import cursor_position
from cinch_tui.terminal.guard import Guard
from cinch_tui.terminal.multiplexers import delays_escape, multiplexer_of
from cinch_tui.terminal.shutdown_signals import SHUTDOWN_TIMEOUT_S, ShutdownSignals, has_shell
from cinch_tui.terminal.window_title import WindowTitle
from cinch_tui.widgets.prompt.completion import CommandCompletion
from cinch_tui.widgets.prompt.draft import Draft
from cinch_tui.widgets.prompt.history import PromptHistory
from cinch_tui.widgets.prompt.path_completion import MentionCompletion
from cinch_tui.widgets.prompt.prompt import Prompt
from cinch_tui.widgets.prompt.resource_completion import ResourceCompletion
from harness.errors import CinchError, ConfigError
from harness.session.paths import project_dir

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.actions import ActionParseResult
    from textual.dom import DOMNode
    from textual.driver import Driver

    from cinch_tui.commands.registry import Registry
    from cinch_tui.terminal.first_frame import FirstFrame
    from cinch_tui.widgets.status_bar import StatusBar

REFUSED_STATUS = 2


def _stylesheets(*names: str) -> list[str | PurePath]:
    return [f"../styles/{name}.tcss" for name in names]


class CinchApp(App[object]):
    """The full-screen app."""

    TITLE = "cinch"
    BINDINGS = bindings("app")
    CSS_PATH = _stylesheets("chat", "prompt", "status")
    ENABLE_COMMAND_PALETTE = False
    NOTIFICATION_TIMEOUT = 4

    def __init__(self, options: Options, settings: Settings, frame: FirstFrame | None = None) -> None:
        super().__init__(driver_class=_driver())
        remember_backgrounds_by_colour()
        self._add_filters(options.environ)
        self.theme_switch = ThemeSwitch(self, settings.ui.theme, options.paths, options.environ)
        self._set_initial_theme(self.theme_switch.initial_theme())
        if problem := self.theme_switch.problem:
            options = replace(options, notices=(*options.notices, problem))
        self._title = WindowTitle(options.cwd.name, is_wanted=settings.ui.title)
        if settings.ui.motion == "reduced":
            self.animation_level = "none"
        self.set_keymap(set_user_keys(settings.keys))
        self._options = options
        self._settings = settings
        place = project_dir(options.paths.state, options.cwd)
        self._image_store = ImageStore(place / "pictures")
        history = PromptHistory(place / "history.jsonl", self._image_store)
        self.frame = frame
        self.has_prompt = threading.Event()
        """Set once the prompt takes keys; the driver keeps what is typed until then."""
        self.guard = frame.guard if frame else Guard()
        self.controller = SessionController(self, options, settings, history, self._observe_agent)
        self._kills = ShutdownSignals(self._leave)
        self._prompt_history = history
        self.fault = ""
        self._screen_cells = ScreenCells()
        self._chat: ChatScreen | None = None

    def _add_filters(self, environ: Mapping[str, str]) -> None:
        # Filters for terminals with limited color support.
        if self.no_color:
            from cinch_tui.rendering.color_filters import StyleFilter, without_colors

            self._filters[:] = [StyleFilter(without_colors)]
        elif self.console.color_system == "256":
            from cinch_tui.rendering.color_filters import StyleFilter, with_256_colors

            self._filters.append(StyleFilter(with_256_colors))
        if multiplexer_of(environ) == "screen":
            from cinch_tui.rendering.color_filters import StyleFilter, without_italics

            self._filters.append(StyleFilter(without_italics))

    def _set_initial_theme(self, theme: Theme) -> None:
        if not theme.dark or theme.ansi:
            self.theme = theme.name
            return
        # Setting the theme normally parses all style sheets a second time before the first paint.
        self.set_reactive(CinchApp.theme, theme.name)
        self.stylesheet.set_variables(self.get_css_variables())

    def get_default_screen(self) -> Screen[object]:
        """Return the chat screen; pushed over an empty screen, it would be laid out twice before the first paint."""
        resources = ResourceCompletion(lambda: self.controller.mcp)
        mentions = MentionCompletion(self._options.cwd, resources, self.controller.subagent_mentions)
        host = ChatCommandHost(self.controller)
        draft = Draft(project_dir(self._options.paths.state, self._options.cwd) / "drafts", self._image_store)
        prompt = Prompt(CommandCompletion(_commands, host), mentions, self._prompt_history, draft)
        if self._settings.ui.vim:
            prompt.field.uses_vim = True
        self._chat = host.screen = ChatScreen(self.controller, host, prompt, _commands, self.frame)
        return self._chat

    def _observe_agent(self) -> None:
        """Subscribe to the agent's events what writes to the terminal or the desktop."""
        # Imported once there is an agent.
        from cinch_tui.app.exit_summary import follow_resume_hint
        from cinch_tui.controller.status_command import status_line_updater
        from cinch_tui.notifications.notifications import notification_handler

        assembly = self.controller.assembly
        assembly.agent.subscribe(follow_resume_hint(assembly, self.guard.set_message))
        assembly.agent.subscribe(status_line_updater(self.controller))
        presence, ui = self.controller.presence, self._settings.ui
        assembly.agent.subscribe(notification_handler(self._write_to_terminal, presence, self._options, ui))

    def action_command_palette(self) -> None:
        # Not needed at start.
        from cinch_tui.screens.palette import Run, palette

        def run(chosen: Run | None) -> None:
            if chosen is not None:
                chosen()

        if isinstance(self.screen, ChatScreen):
            self.push_screen(palette(self.screen, _commands(), self.deliver_screenshot), run)

    async def on_unmount(self) -> None:
        """Close the controller: stop the run and write pending records."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUTDOWN_TIMEOUT_S):
                await self.controller.close()

    def on_mount(self) -> None:
        self._kills.listen()
        # After SIGCONT the screen has been overwritten.
        self.app_resume_signal.subscribe(self, self._paint_again)  # pyright: ignore[reportUnknownMemberType] as its App

    @property
    def enter_sequences(self) -> str:
        """Sequences sent to the terminal when the app takes over the screen."""
        return (QUERY if self.theme_switch.asks else "") + self._title.entering

    @property
    def leave_sequences(self) -> str:
        """Sequences sent to the terminal when the app releases the screen."""
        return UNSUBSCRIBE + self._title.leaving

    def copy_to_clipboard(self, text: str) -> None:
        super().copy_to_clipboard(text)
        # Rarely needed.
        from cinch_tui.terminal.multiplexers import clipboard_sequence, passthrough

        through = passthrough(clipboard_sequence(text), multiplexer_of(self._options.environ))
        if through and self._driver is not None:
            self._driver.write(through)

    def on_chat_screen_prompt_ready(self) -> None:
        self.has_prompt.set()

    def on_status_bar_changed(self, message: StatusBar.Changed) -> None:
        self._write_to_terminal(self._title.showing(message.state))

    def on_terminal_background(self, message: TerminalBackground) -> None:
        # Rarely needed: only when the background differs from the last start.
        from cinch_tui.terminal.first_picture import delete_saved_screens

        remember(self._options.environ, self.theme_switch.background_file, dark=message.dark)
        if self.theme_switch.set_background(dark=message.dark):
            delete_saved_screens(self._options)
            if isinstance(self.screen, ChatScreen):
                self.screen.keep_picture()

    def on_terminal_images(self) -> None:
        if self._chat is not None:
            self._chat.show_pictures("kitty")

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Key | Paste):
            # Some terminals send no focus events.
            if self.controller.presence.is_away:
                self._look_at_theme()
            self.controller.user_typed()
        await super().on_event(event)

    def _write_to_terminal(self, sequence: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def on_app_blur(self) -> None:
        self.controller.presence.is_looking = False

    def on_app_focus(self) -> None:
        self.controller.presence.is_looking = True
        self._look_at_theme()

    def _look_at_theme(self) -> None:
        """Reload the theme, since the user may have edited it."""
        try:
            self.theme_switch.reload_if_changed()
        except ConfigError as error:
            self.notify(str(error), severity="error", markup=False)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if position := cursor_position(screen.focused):
            self.cursor_position = position
        super()._display(screen, self._screen_cells.minimize(renderable))  # pyright: ignore[reportUnknownMemberType] its Screen names no type

    def _paint_again(self, source: App[object]) -> None:
        del source
        self.refresh(layout=True)

    def _leave(self) -> None:
        """Exit on a signal: restore the terminal and complete the session file."""
        self.controller.abort()
        self.exit(return_code=self._kills.status)

    async def action_quit(self) -> None:
        self.controller.leave(label_of("app.quit"))

    @contextmanager
    def suspend(self) -> Generator[None]:
        """Release the terminal for another program.

        Raises:
            OSError: The terminal cannot be released.
        """
        with ExitStack() as suspended:
            try:
                suspended.enter_context(super().suspend())
            except SuspendNotSupported as error:
                raise OSError(str(error)) from error
            yield

    def action_suspend_process(self) -> None:
        if has_shell():
            super().action_suspend_process()
        else:
            self.controller.notice("Cannot suspend: cinch was not started from a shell.", "warning")

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action; show an error that Textual would crash with as a notification."""
        try:
            return await super().run_action(action, default_namespace, namespaces)
        except CinchError as error:
            self.notify(str(error), severity="error", markup=False)
            return True

    def _handle_exception(self, error: Exception) -> None:
        # Rarely needed.
        from cinch_tui.app.crash import report_crash

        if isinstance(error, WorkerFailed) and isinstance(error.error, CinchError):
            self.notify(str(error.error), severity="error", markup=False)
            return
        if not self.fault:
            failed = error.error if isinstance(error, WorkerFailed) else error
            self.fault = report_crash(failed, self._options.paths.state)
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Show no traceback: Textual's contains the values of variables, which can include API keys."""
        self.panic()


def _commands() -> Registry:
    # Not needed before the first paint.
    from cinch_tui.commands.builtin import builtin_commands

    return builtin_commands()


def _driver() -> type[Driver] | None:
    if sys.platform == "win32":
        return None
    from cinch_tui.terminal.driver import GuardedDriver

    return GuardedDriver


def run_app(options: Options, settings: Settings, frame: FirstFrame | None = None) -> int:
    """Run the app until the user leaves and return the exit status. It takes over from `frame`.

    Raises:
        ConfigError: the theme cannot be used.
    """
    app = CinchApp(options, settings, frame)
    # Without a usable Esc key the app could not be controlled, so the mouse is disabled.
    app.run(mouse=not delays_escape(options.environ))
    # The terminal may be closed, and the user may leave before there is an agent.
    with suppress(OSError, CinchError):
        message = app.fault or app.controller.refusal
        if message:
            from harness.terminal_text import escape_controls

            sys.stderr.write(f"cinch: {escape_controls(message)}\n")
        from cinch_tui.app.exit_summary import print_exit_summary

        print_exit_summary(app.controller.assembly, with_exchange=app.controller.settings.ui.show_last_exchange)
    # After an exception Textual has a return code, but the process status would be 0.
    return app.return_code or (REFUSED_STATUS if app.controller.refusal else 0)
