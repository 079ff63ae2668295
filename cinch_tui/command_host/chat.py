"""Command host of the full-screen app."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cinch_tui.commands.side_questions import SideQuestions
from cinch_tui.keybindings.keymap import label_of
from harness.errors import CinchError, ConfigError

if TYPE_CHECKING:
    from cinch_tui.api_keys.provider_key import KeyCheck
    from cinch_tui.changes import SessionChanges
    from cinch_tui.commands.host import DiffBase, FullScreenCommands, FullScreenHost
    from cinch_tui.controller.controller import SessionController
    from cinch_tui.mcp_control import McpControl
    from cinch_tui.models.model_catalog import ModelCatalog
    from cinch_tui.saved_sessions import SessionChoice
    from cinch_tui.screens.chat import ChatScreen
    from cinch_tui.screens.key_entry import CheckKey
    from cinch_tui.trust.prompt import TrustQuestion
    from cinch_tui.trust.store import TrustAnswer
    from cinch_tui.user_input import UserInput
    from harness.job_spec import JobInput
    from harness.jobs import Job
    from tools.mcp.auth.browser_login import LoginRequest


class ModelCycle:
    """Models named, chosen or used since the start, in that order."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def step(self, current: str, at_hand: Iterable[str]) -> str:
        """Return the model after `current`, or `current` if there is no other."""
        self._names.update(dict.fromkeys(name for name in (*at_hand, current) if "/" in name))
        names = list(self._names)
        return names[(names.index(current) + 1) % len(names)]


class ChatCommandHost:
    """Opens screens over the chat screen, which is set once it exists."""

    def __init__(self, controller: SessionController) -> None:
        self.session = controller
        self.notice = controller.notice
        self.screen: ChatScreen | None = None
        self.side_questions = SideQuestions()
        self._app = controller.app
        self._catalog: ModelCatalog | None = None
        self._models = ModelCycle()

    @property
    def full_screen(self) -> FullScreenCommands:
        return self

    @property
    def stop_key(self) -> str:
        return label_of("chat.abort")

    @property
    def _chat(self) -> ChatScreen:
        assert self.screen is not None
        return self.screen

    def send(self, user_input: UserInput) -> None:
        self._chat.send(user_input)

    def continue_run(self) -> None:
        self._chat.continue_run()

    # Output

    def show(self, title: str, text: str) -> None:
        from cinch_tui.transcript.replies import ReplyBlock

        block = ReplyBlock(f"### {title}\n\n{text}")
        block.finish()
        self._chat.widgets.transcript.add(block)

    def show_progress(self, text: str) -> None:
        self._chat.widgets.set_status(note=text)

    def show_activity(self, text: str) -> None:
        self._chat.widgets.set_status(state="running" if text else "idle")
        self.session.show_activity(text)

    def show_permissions(self) -> None:
        self.session.show_permissions()

    def show_help(self) -> None:
        """Toggle the help beside the conversation; without room for it, open the help screen."""
        from cinch_tui.screens.help import toggle_help

        if not toggle_help(self._chat):
            self._chat.action_help()

    async def show_settings(self) -> None:
        from cinch_tui.command_host.settings import open_settings

        await open_settings(self.session)

    async def show_context(self) -> None:
        from cinch_tui.screens.context import open_context

        await open_context(self._app, self.session.assembly)

    async def show_mcp(self, control: McpControl) -> None:
        from cinch_tui.screens.mcp import McpScreen

        await self._app.push_screen_wait(McpScreen(control))

    async def show_login(self, request: LoginRequest) -> None:
        from cinch_tui.screens.mcp_login import show_login

        await show_login(self._app, request)

    async def show_changes(self, changes: SessionChanges, base: DiffBase) -> None:
        from cinch_tui.screens.changes import ChangesScreen

        await self._app.push_screen_wait(ChangesScreen(changes, base))

    async def answer_side_question(self, question: str) -> None:
        from cinch_tui.transcript.blocks import SideQuestionBlock

        block, transcript = SideQuestionBlock(question), self._chat.widgets.transcript
        transcript.add(block)

        def append(text: str) -> None:
            block.append(text)
            transcript.changed(block)

        ending = "Stopped."
        try:
            ending = await self.side_questions.ask(self.session.agent, question, append)
        finally:
            block.finish(ending)
            transcript.changed(block)
            self.session.show_usage()

    def copy(self, text: str) -> None:
        self._app.run_worker(partial(self._copy, text), group="copy")

    async def _copy(self, text: str) -> None:
        from cinch_tui.terminal.clipboard import copy_text

        copied = await copy_text(text, self._app.copy_to_clipboard)
        self._app.notify(copied.message, markup=False)

    @property
    def shows_thinking(self) -> bool:
        return self._chat.widgets.shows_thinking

    def show_thinking(self, *, shown: bool) -> None:
        self._chat.widgets.show_thinking(shown=shown)

    # Input

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        from cinch_tui.user_dialogs.interaction import pick

        return await pick(self._app, title, choices, current)

    async def ask_for_trust(self, question: TrustQuestion) -> TrustAnswer:
        from cinch_tui.trust.dialog import ask_for_trust

        return await ask_for_trust(self._app, question)

    async def ask_key(self, title: str, note: str, check: CheckKey) -> tuple[str, KeyCheck] | None:
        from cinch_tui.screens.key_entry import KeyEntry

        entered = await self._app.push_screen_wait(KeyEntry(title, note, check))
        return None if entered is None else (entered.secret, entered.verdict)

    async def type_into(self, job: Job, terminal: JobInput) -> None:
        from cinch_tui.screens.job_terminal import JobTerminal

        await self._app.push_screen_wait(JobTerminal(job, terminal))

    def restore_prompt(self, user_input: UserInput) -> None:
        self._chat.prompt.restore(user_input)

    async def review_brief(self, brief: str) -> str:
        from cinch_tui.screens.plan_review import BRIEF_REVIEW, PlanScreen
        from harness.user_requests import Plan

        screen = PlanScreen(Plan(brief), grace=0, editor=self.session.settings.ui.editor, review=BRIEF_REVIEW)
        decision = await self._app.push_screen_wait(screen)
        return (decision.plan or brief) if decision.accepted else ""

    async def pick_session(self, query: str = "") -> SessionChoice | None:
        from cinch_tui.saved_sessions import SavedSessions
        from cinch_tui.screens.session_browser import SessionBrowser

        return await self._app.push_screen_wait(SessionBrowser(SavedSessions(self.session), query))

    def listed_models(self) -> Sequence[str]:
        return [offer.name for offer in self._catalog.offers] if self._catalog else []

    async def pick_model(self) -> str | None:
        from cinch_tui.models.model_catalog import ModelCatalog, pick_model, used_in

        self._catalog = self._catalog or ModelCatalog(self.session.assembly.keys)
        agent = self.session.agent
        return await pick_model(self._app, self._catalog, agent.state.model.spec, used_in(agent.history.outline))

    async def paste(self) -> None:
        await self._chat.prompt.action_paste()

    # Models

    async def next_model(self) -> None:
        from cinch_tui.commands.model import set_model
        from cinch_tui.models.model_catalog import used_in

        agent, settings = self.session.agent, self.session.settings
        current, used = agent.state.model.spec.name, used_in(agent.history.outline)
        name = self._models.step(current, (settings.model.name, *settings.providers.fallback, *reversed(used)))
        if name == current:
            self.notice("No other model is configured or was used here; /model lists all.")
            return
        try:
            await set_model(self, name)
        except CinchError as error:
            self.notice(str(error), "error")

    async def ask_several(self, models: Sequence[str], prompt: str) -> None:
        from cinch_tui.controller.parallel_run import ParallelRun
        from harness.parallel.evaluators import find_strategy

        try:
            if len(models) < 2:
                raise ConfigError("/parallel takes two models or more: /parallel <model> <model> -- prompt")
            connect, level = self.session.assembly.connect, self.session.agent.state.model.spec.thinking
            evaluator = self.session.settings.parallel.evaluator
            if evaluator:
                await asyncio.to_thread(find_strategy, evaluator, self.session.agent.state.model)
            connected = [await asyncio.to_thread(connect, name, level) for name in models]
            for model in connected:
                # Their prices are shown at the end of the run.
                await model.info.load()
        except CinchError:
            typed = f"/parallel {' '.join(models)} -- {prompt}" if prompt else f"/parallel {' '.join(models)}"
            self._chat.prompt.restore(typed)
            raise
        self.session.sender.parallel_run = run = ParallelRun(self.session, connected, evaluator)
        if prompt:
            self._chat.send(prompt)
        else:
            self.notice(f"The next prompt goes to {', '.join(run.names)}; /parallel off takes that back.")

    def ask_one(self) -> None:
        self.session.sender.parallel_run = None

    def pick_answer(self) -> None:
        if self.session.sender.parallel_run is None:
            raise CinchError("there are no answers to choose from")
        self.session.sender.parallel_run.pick_again()

    # The screen

    def clear_view(self) -> None:
        self._chat.widgets.transcript.banner = None
        self._chat.replace_conversation([])

    def toggle_timestamps(self) -> None:
        self._chat.widgets.transcript.action_stamps()

    def panels(self) -> Sequence[tuple[str, str, bool]]:
        from cinch_tui.panels.panel import PANELS

        return [(spec.name, spec.summary, self._chat.panels.is_shown(spec)) for spec in PANELS]

    def toggle_panel(self, name: str) -> None:
        self._chat.panels.toggle(name)

    def open_panel(self, name: str) -> None:
        self._chat.panels.turn_to(name, focus=True)

    def theme_names(self) -> Sequence[str]:
        from cinch_tui.screens.setting_effects import theme_switch_of

        return theme_switch_of(self._app).names()

    async def choose_theme(self, name: str) -> None:
        from cinch_tui.app.themes import pick_theme
        from cinch_tui.config.edit import set_in_file
        from cinch_tui.screens.setting_effects import theme_switch_of
        from cinch_tui.terminal.first_picture import delete_saved_screens

        theme_switch, options = theme_switch_of(self._app), self.session.options
        chosen = name or await pick_theme(self._app, theme_switch)
        if chosen:
            theme_switch.choose(chosen)
            path = options.sources.user_file
            await asyncio.to_thread(set_in_file, path, "ui.theme", chosen)
            await asyncio.to_thread(delete_saved_screens, options)
            self._chat.keep_picture()
            self.notice(f"The theme is {chosen}, from now on ({path}).")

    def next_colours(self) -> None:
        from cinch_tui.screens.setting_effects import theme_switch_of

        self._app.notify(f"The theme is {theme_switch_of(self._app).next_mono()}.", markup=False)

    async def open_editor(self) -> None:
        from cinch_tui.terminal.external_programs import EditedText, EditorFailed, UnchangedText, edit_prompt

        prompt, ui = self._chat.prompt, self.session.settings.ui
        draft = prompt.take()
        match edit_prompt(draft.text, ui.editor, self._app.suspend):
            case EditedText(text) if ui.editor_sends:
                self._chat.send(draft.with_text(text))
            case EditedText(text):
                prompt.restore(draft.with_text(text))
            case EditorFailed(reason, text):
                prompt.restore(draft.with_text(text))
                self.notice(reason, "error")
            case UnchangedText():
                prompt.restore(draft)
                self.notice("Not sent: the file was not saved. Your text is back in the prompt.")
            case _:
                self.session.add_to_history(draft)
                self.notice("Not sent: the file is empty.")

    async def edit_text(self, text: str, name: str) -> str:
        from cinch_tui.terminal.external_programs import changed_text, edit_text

        return changed_text(edit_text(text, name, self.session.settings.ui.editor, self._app.suspend))

    async def toggle_vim(self) -> None:
        from cinch_tui.config.edit import set_in_file

        field, path = self._chat.prompt.field, self.session.options.sources.user_file
        field.uses_vim = not field.uses_vim
        await asyncio.to_thread(set_in_file, path, "ui.vim", field.uses_vim)
        self.notice(f"vi keys in the prompt are {'on' if field.uses_vim else 'off'} ({path}).")


if TYPE_CHECKING:
    _: type[FullScreenHost] = ChatCommandHost
