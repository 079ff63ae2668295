"""What commands may do to the app: the desk's abilities and the reports, under the names the commands know."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cinch_tui.agent_front import AgentFront
from cinch_tui.asides import Asides
from cinch_tui.desk import Desk
from cinch_tui.warming import warm
from harness.errors import CinchError, ConfigError

if TYPE_CHECKING:
    from cinch_tui.commands.front import ApprovalMode, DiffBase, Front
    from cinch_tui.market import Market
    from cinch_tui.transcript.blocks import NoticeLevel
    from cinch_tui.wardrobe import Wardrobe


class ChatFront(AgentFront):
    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._desk = desk
        self._market: Market | None = None
        self._asides = Asides()

    # The screen

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self._desk.notice(text, level)

    def show(self, title: str, text: str) -> None:
        from cinch_tui.transcript.replies import ReplyBlock

        block = ReplyBlock(f"### {title}\n\n{text}")
        block.finish()
        self._desk.screen.board.transcript.add(block)

    def show_help(self) -> None:
        from cinch_tui.screens.help import help_screen

        self._desk.app.push_screen(help_screen())

    def clear_view(self) -> None:
        self._desk.clear_view()

    def copy(self, text: str) -> None:
        from cinch_tui.clipboard import copy

        self._desk.screen.run_worker(copy(self._desk.app, text), group="copy")

    def theme_names(self) -> Sequence[str]:
        return self._wardrobe().names()

    async def choose_theme(self, name: str) -> None:
        from cinch_tui.config_edit import set_in_file
        from cinch_tui.first_picture import forget_pictures
        from cinch_tui.wardrobe import pick_theme

        wardrobe = self._wardrobe()
        chosen = name or await pick_theme(self._desk.app, wardrobe)
        if chosen:
            wardrobe.choose(chosen)
            path = self._desk.options.paths.config_file
            await asyncio.to_thread(set_in_file, path, "ui.theme", chosen)
            await asyncio.to_thread(forget_pictures, self._desk.options)
            self._desk.screen.keep_picture()
            self.notice(f"The theme is {chosen}, from now on ({path}).")

    def _wardrobe(self) -> Wardrobe:
        from cinch_tui.wardrobe import Dressed

        app = self._desk.app
        assert isinstance(app, Dressed)
        return app.wardrobe

    async def open_editor(self) -> None:
        from cinch_tui.editor import Edited, EditorFailed, compose

        prompt = self._desk.screen.prompt
        draft = prompt.take()
        match await compose(draft, self._desk.settings.ui.editor, self._desk.app.suspend):
            case Edited(text):
                self._desk.screen.send(text)
            case EditorFailed(reason, text):
                prompt.restore(text)
                self.notice(reason, "error")
            case _:
                self.notice("Nothing is sent: the file was empty.")

    def quit(self) -> None:
        self._desk.quit()

    # The session

    @property
    def is_running(self) -> bool:
        return self._desk.is_running

    def reset(self) -> None:
        self._desk.reset()

    async def new_session(self) -> None:
        self._desk.new_session()

    async def pick_session(self) -> None:
        await self._desk.pick_session()

    async def load_session(self, session_id: str) -> None:
        await self._desk.load_session(session_id)

    async def show_changes(self, base: DiffBase) -> None:
        from cinch_tui.changes import Ledger
        from cinch_tui.screens.changes import ChangesScreen

        assembly = self._desk.assembly
        ledger = Ledger(assembly.originals, assembly.workspace, assembly.agent.remind)
        await self._desk.app.push_screen_wait(ChangesScreen(ledger, base))

    # The model

    def model_names(self) -> Sequence[str]:
        from cinch_tui import reports

        offered = [offer.name for offer in self._market.offers] if self._market else []
        return tuple(dict.fromkeys([*offered, *reports.model_names()]))

    async def choose_model(self) -> None:
        from cinch_tui.market import Market, pick_model, used_in

        self._market = self._market or Market(self._desk.assembly.keys)
        agent = self._desk.agent
        spec, used = agent.state.model.spec, used_in(agent.history.messages)
        chosen = await pick_model(self._desk.app, self._market, spec, used)
        if chosen:
            await self.set_model(chosen)

    async def set_model(self, name: str) -> None:
        level = self._desk.agent.state.model.spec.thinking
        model = await asyncio.to_thread(self._desk.assembly.connect, name, level)
        self._desk.agent.set_model(model)
        self.notice(f"The model is {model.spec.name} from the next reply on.")
        await warm(self._desk.agent.state)

    def ask_again(self) -> None:
        if self._desk.agent.retry_now():
            return
        if self._desk.is_running:
            raise CinchError("the model is at work: there is no wait to cut short")
        self._desk.screen.go_on()

    async def examine(self, names: Sequence[str]) -> str:
        from cinch_tui.doctor.report import examined
        from cinch_tui.last_choice import Choice

        options, spec = self._desk.options, self._desk.agent.state.model.spec
        self._desk.screen.board.note("asking services…")
        try:
            return await examined(names, options.paths, options.cwd, Choice(spec.name, spec.base_url))
        finally:
            self._desk.screen.board.note("")

    # Several models at once

    async def ask_several(self, models: Sequence[str], prompt: str) -> None:
        from cinch_tui.branches import Contest

        try:
            if len(models) < 2:
                raise ConfigError("/parallel takes two models or more: /parallel preset/model preset/model -- prompt")
            connect, level = self._desk.assembly.connect, self.thinking
            connected = [await asyncio.to_thread(connect, name, level) for name in models]
            for model in connected:
                # Their prices are shown at their end.
                await model.facts.load()
        except CinchError:
            if prompt:
                self._desk.screen.prompt.restore(f"/parallel {' '.join(models)} -- {prompt}")
            raise
        self._desk.contest = contest = Contest(self._desk, connected)
        if prompt:
            self._desk.screen.send(prompt)
        else:
            self.notice(f"The next prompt goes to {', '.join(contest.names)}; /parallel off takes that back.")

    def ask_one(self) -> None:
        if self._desk.contest is None:
            raise CinchError("the next prompt goes to the session's model anyway")
        self._desk.contest = None
        self.notice(f"The next prompt goes to {self._desk.agent.state.model.spec.name}.")

    def pick_answer(self) -> None:
        if self._desk.contest is None:
            raise CinchError("there are no answers to pick from")
        self._desk.contest.pick_again()

    # Beside the work

    async def ask_aside(self, question: str) -> None:
        from cinch_tui.transcript.aside_block import AsideBlock

        desk, block = self._desk, AsideBlock(question)
        transcript = desk.screen.board.transcript
        transcript.add(block)

        def tell(text: str) -> None:
            block.append(text)
            transcript.changed(block)

        ending = "Stopped."
        try:
            ending = await self._asides.ask(desk.agent, question, tell)
        finally:
            block.finish(ending)
            transcript.changed(block)
            desk.show_figures()

    def stop_aside(self) -> bool:
        return self._asides.stop()

    # Approval

    def set_approval(self, mode: ApprovalMode) -> None:
        self._desk.agent.state.approval = mode
        bar = self._desk.screen.board.status
        bar.status = replace(bar.status, approval=mode)


if TYPE_CHECKING:
    _: type[Front] = ChatFront
