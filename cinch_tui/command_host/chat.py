"""What commands may do to the app: the controller's abilities and the reports, under the names the commands know."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.command_host.agent import AgentCommandHost
from cinch_tui.commands.side_questions import Asides
from cinch_tui.keys.keymap import hint, label_of
from harness.errors import CinchError, ConfigError

if TYPE_CHECKING:
    from cinch_tui.api_keys.check import KeyCheck
    from cinch_tui.command_host.cycles import ModelCycle, ThemeCycle
    from cinch_tui.commands.host import ApprovalMode, DiffBase, ScreenHost
    from cinch_tui.controller.controller import SessionController
    from cinch_tui.models.model_catalog import ModelCatalog
    from cinch_tui.screens.chat import ChatScreen
    from cinch_tui.transcript.blocks import NoticeLevel
    from cinch_tui.widgets.key_field import CheckKey


class ChatCommandHost(AgentCommandHost):
    def __init__(self, controller: SessionController) -> None:
        super().__init__(controller)
        self._controller = controller
        self.screen: ChatScreen | None = None
        self._market: ModelCatalog | None = None
        self._asides = Asides()
        self._colours: ThemeCycle | None = None
        self._models: ModelCycle | None = None

    @property
    def _screen(self) -> ChatScreen:
        assert self.screen is not None
        return self.screen

    # The screen

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self._controller.notice(text, level)

    def show(self, title: str, text: str) -> None:
        from cinch_tui.transcript.replies import ReplyBlock

        block = ReplyBlock(f"### {title}\n\n{text}")
        block.finish()
        self._controller.view.widgets.transcript.add(block)

    def show_help(self) -> None:
        from cinch_tui.screens.help import help_screen

        self._controller.app.push_screen(help_screen())

    def toggle_help(self) -> None:
        from cinch_tui.widgets.help_panel import toggle_help

        if not toggle_help(self._screen):
            self.show_help()

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        from cinch_tui.user_dialogs.pickers import pick

        return await pick(self._controller.app, title, choices, current)

    async def ask_key(self, title: str, note: str, check: CheckKey) -> tuple[str, KeyCheck] | None:
        from cinch_tui.screens.key_entry import KeyEntry

        entered = await self._controller.app.push_screen_wait(KeyEntry(title, note, check))
        return None if entered is None else (entered.secret, entered.verdict)

    async def show_settings(self) -> None:
        from cinch_tui.command_host.settings import open_settings

        await open_settings(self._controller)

    async def show_context(self) -> None:
        from cinch_tui.screens.context import open_context

        await open_context(self._controller.app, self._controller.assembly)

    @property
    def shows_thinking(self) -> bool:
        return self._controller.view.widgets.shows_thinking

    def show_thinking(self, *, shown: bool) -> None:
        self._controller.view.widgets.show_thinking(shown=shown)

    def clear_view(self) -> None:
        self._screen.widgets.transcript.banner = None
        self._screen.replace_conversation([])

    def toggle_times(self) -> None:
        self._controller.view.widgets.transcript.action_stamps()

    def copy(self, text: str) -> None:
        from cinch_tui.terminal.clipboard import copy

        self._controller.app.run_worker(copy(self._controller.app, text), group="copy")

    def theme_names(self) -> Sequence[str]:
        from cinch_tui.screens.setting_effects import theme_switch_of

        return theme_switch_of(self._controller.app).names()

    async def choose_theme(self, name: str) -> None:
        from cinch_tui.app.theme_switch import pick_theme
        from cinch_tui.config.edit import set_in_file
        from cinch_tui.screens.setting_effects import theme_switch_of
        from cinch_tui.terminal.first_picture import forget_pictures

        theme_switch = theme_switch_of(self._controller.app)
        chosen = name or await pick_theme(self._controller.app, theme_switch)
        if chosen:
            theme_switch.choose(chosen)
            path = self._controller.options.sources.user_file
            await asyncio.to_thread(set_in_file, path, "ui.theme", chosen)
            await asyncio.to_thread(forget_pictures, self._controller.options)
            self._screen.keep_picture()
            self.notice(f"The theme is {chosen}, from now on ({path}).")

    def next_colours(self) -> None:
        from cinch_tui.command_host.cycles import ThemeCycle
        from cinch_tui.screens.setting_effects import theme_switch_of

        self._colours = self._colours or ThemeCycle(theme_switch_of(self._controller.app))
        self._controller.app.notify(f"The theme is {self._colours.step()}.", markup=False)

    async def open_editor(self) -> None:
        from cinch_tui.terminal.editor import Edited, EditorFailed, Unsaved, compose

        prompt = self._controller.view.prompt
        draft = prompt.take()
        match await compose(draft.text, self._controller.settings.ui.editor, self._controller.app.suspend):
            case Edited(text) if self._controller.settings.ui.editor_sends:
                self._controller.view.send(draft.with_text(text))
            case Edited(text):
                prompt.restore(draft.with_text(text))
            case EditorFailed(reason, text):
                prompt.restore(draft.with_text(text))
                self.notice(reason, "error")
            case Unsaved():
                prompt.restore(draft)
                self.notice("Nothing is sent: nothing was saved. What you had written is in the prompt.")
            case _:
                self._controller.add_to_history(draft)
                self.notice("Nothing is sent: the file was empty.")

    async def toggle_vim(self) -> None:
        from cinch_tui.config.edit import set_in_file

        prompt, path = self._controller.view.prompt, self._controller.options.sources.user_file
        prompt.uses_vim = not prompt.uses_vim
        await asyncio.to_thread(set_in_file, path, "ui.vim", prompt.uses_vim)
        self.notice(f"The prompt is edited with the keys of {'vi' if prompt.uses_vim else 'a shell'} ({path}).")

    async def paste(self) -> None:
        await self._controller.view.prompt.action_paste()

    def quit(self) -> None:
        self._controller.leave("/quit")

    # The session

    @property
    def stop_key(self) -> str:
        return label_of("chat.abort")

    async def until_ready(self) -> bool:
        return await self._controller.until_ready()

    @property
    def is_running(self) -> bool:
        return self._controller.is_running

    def reset(self) -> None:
        self._controller.reset()

    async def new_session(self) -> None:
        self._controller.new_session()

    async def pick_session(self) -> None:
        controller = self._controller
        if controller.is_running:
            text = " ".join(filter(None, ("The agent is at work.", hint("chat.abort stops it."))))
            self.notice(text, "warning")
            return
        from cinch_tui.screens.sessions import pick_session

        options = controller.options
        chosen = await pick_session(controller.app, options.paths.data, options.cwd, controller.agent.session_id)
        if chosen:
            await controller.load_session(chosen)

    async def load_session(self, session_id: str) -> None:
        await self._controller.load_session(session_id)

    async def show_changes(self, base: DiffBase) -> None:
        from cinch_tui.changes import SessionChanges
        from cinch_tui.screens.changes import ChangesScreen

        assembly = self._controller.assembly
        ledger = SessionChanges(assembly.originals, assembly.workspace, assembly.agent.add_reminder)
        await self._controller.app.push_screen_wait(ChangesScreen(ledger, base))

    # The model

    def model_names(self) -> Sequence[str]:
        from cinch_tui.reports import summaries as reports

        offered = [offer.name for offer in self._market.offers] if self._market else []
        return tuple(dict.fromkeys([*offered, *reports.model_names()]))

    async def choose_model(self) -> None:
        from cinch_tui.models.model_catalog import ModelCatalog, pick_model, used_in

        self._market = self._market or ModelCatalog(self._controller.assembly.keys)
        agent = self._controller.agent
        spec, used = agent.state.model.spec, used_in(agent.history.messages)
        chosen = await pick_model(self._controller.app, self._market, spec, used)
        if chosen:
            await self.set_model(chosen)

    async def next_model(self) -> None:
        """The next of those that settings name or this conversation used; what is wrong with it is told."""
        from cinch_tui.command_host.cycles import ModelCycle
        from cinch_tui.models.model_catalog import used_in

        self._models = self._models or ModelCycle()
        agent, settings = self._controller.agent, self._controller.settings
        current = agent.state.model.spec.name
        named = (settings.model.name, *settings.providers.fallback)
        name = self._models.step(current, (*named, *reversed(used_in(agent.history.messages))))
        if name == current:
            self.notice("No other model is named or was used here; /model chooses among all.")
            return
        try:
            await self.set_model(name)
        except CinchError as error:
            self.notice(str(error), "error")

    async def set_model(self, name: str) -> None:
        level = self._controller.agent.state.model.spec.thinking
        model = await asyncio.to_thread(self._controller.assembly.connect, name, level)
        self._controller.agent.set_model(model)
        self.notice(f"The model is {model.spec.name} from the next reply on.")

    def ask_again(self) -> None:
        if self._controller.agent.retry_now():
            return
        if self._controller.is_running:
            raise CinchError("the model is at work: there is no wait to cut short")
        self._controller.view.continue_run()

    async def examine(self, names: Sequence[str]) -> str:
        from cinch_tui.doctor.report import report_block
        from cinch_tui.models.last_choice import ModelChoice

        options, spec = self._controller.options, self._controller.agent.state.model.spec
        self._controller.view.widgets.set_status(note="asking services…")
        try:
            return await report_block(names, options.paths, options.cwd, ModelChoice(spec.name, spec.base_url))
        finally:
            self._controller.view.widgets.set_status(note="")

    # Several models at once

    async def ask_several(self, models: Sequence[str], prompt: str) -> None:
        from cinch_tui.controller.parallel_run import ParallelRun

        try:
            if len(models) < 2:
                raise ConfigError("/parallel takes two models or more: /parallel <model> <model> -- prompt")
            connect, level = self._controller.assembly.connect, self._controller.agent.state.model.spec.thinking
            connected = [await asyncio.to_thread(connect, name, level) for name in models]
            for model in connected:
                # Their prices are shown at their end.
                await model.info.load()
        except CinchError:
            typed = f"/parallel {' '.join(models)} -- {prompt}" if prompt else f"/parallel {' '.join(models)}"
            self._controller.view.prompt.restore(typed)
            raise
        self._controller.sender.parallel_run = parallel_run = ParallelRun(self._controller, connected)
        if prompt:
            self._controller.view.send(prompt)
        else:
            self.notice(f"The next prompt goes to {', '.join(parallel_run.names)}; /parallel off takes that back.")

    def ask_one(self) -> None:
        self._controller.sender.parallel_run = None
        self.notice(f"The next prompt goes to {self._controller.agent.state.model.spec.name}.")

    def pick_answer(self) -> None:
        if self._controller.sender.parallel_run is None:
            raise CinchError("there are no answers to pick from")
        self._controller.sender.parallel_run.pick_again()

    # Beside the work

    async def ask_aside(self, question: str) -> None:
        from cinch_tui.transcript.aside_block import SideQuestionBlock

        controller, block = self._controller, SideQuestionBlock(question)
        transcript = controller.view.widgets.transcript
        transcript.add(block)

        def tell(text: str) -> None:
            block.append(text)
            transcript.changed(block)

        ending = "Stopped."
        try:
            ending = await self._asides.ask(controller.agent, question, tell)
        finally:
            block.finish(ending)
            transcript.changed(block)
            controller.show_usage()

    def stop_aside(self) -> bool:
        return self._asides.stop()

    # Around the conversation

    def panels(self) -> Sequence[tuple[str, str, bool]]:
        from cinch_tui.panels.registry import PANELS

        panels = self._screen.panels
        return [(spec.name, spec.summary, panels.is_shown(spec)) for spec in PANELS]

    def toggle_panel(self, name: str) -> None:
        self._screen.panels.toggle(name)

    def open_panel(self, name: str) -> None:
        self._screen.panels.turn_to(name, focus=True)

    # Approval

    def set_approval(self, mode: ApprovalMode) -> None:
        self._controller.agent.state.approval = mode
        self._controller.show_permissions()

    def grant(self, tool: str) -> bool:
        known = super().grant(tool)
        self._controller.show_permissions()
        return known

    def revoke(self, grant: str | None) -> Sequence[str]:
        revoked = super().revoke(grant)
        self._controller.show_permissions()
        return revoked


if TYPE_CHECKING:
    _: type[ScreenHost] = ChatCommandHost
