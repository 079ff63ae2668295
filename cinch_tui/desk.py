"""What a person can do with the agent from the chat: talk, stop, change its settings, change the session.

Fulfils the commands' `Front`. Everything here waits until the agent is assembled, which happens after the first paint.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cinch_tui import reports
from cinch_tui.answers import ScreenPerson, show_on
from cinch_tui.bridge import Bridge
from cinch_tui.options import Options, Resume
from cinch_tui.settings import Settings
from cinch_tui.transcript.blocks import NoticeLevel
from harness.errors import CinchError, ConfigError
from harness.events import AgentEnd, Event, MessageEnd
from harness.messages import Message, ThinkingLevel, UserMessage
from harness.modes import EXECUTE, PLAN

if TYPE_CHECKING:
    from cinch_tui.assembly import Assembly
    from cinch_tui.commands.front import ApprovalMode, Front, TranscriptPart
    from cinch_tui.screens.chat import ChatScreen
    from cinch_tui.widgets.prompt.history import PromptHistory
    from harness.agent import Agent
    from harness.provider import Model
    from harness.session.resume import LoadedSession

logger = logging.getLogger(__name__)

NOT_READY = "cinch is still starting; try again in a moment"


class Desk:
    def __init__(self, options: Options, settings: Settings, history: PromptHistory) -> None:
        self._options = options
        self._settings = settings
        self._prompt_history = history
        self._screen: ChatScreen | None = None
        self._assembly: Assembly | None = None
        self._bridge: Bridge | None = None
        self._ready = asyncio.Event()

    @property
    def screen(self) -> ChatScreen:
        if self._screen is None:
            raise CinchError(NOT_READY)
        return self._screen

    @property
    def assembly(self) -> Assembly:
        if self._assembly is None:
            raise CinchError(NOT_READY)
        return self._assembly

    @property
    def agent(self) -> Agent:
        return self.assembly.agent

    @property
    def is_running(self) -> bool:
        return self._assembly is not None and self._assembly.agent.is_running

    # Starting and leaving

    def open(self, screen: ChatScreen) -> None:
        """Assemble the agent behind the first paint; the prompt can be typed into meanwhile."""
        self._screen = screen
        screen.run_worker(self._open(), group="open", exclusive=True)

    async def _open(self) -> None:
        for notice in self._options.notices:
            self.notice(notice, "warning")
        try:
            # Pydantic, the tools and the session code are not needed to paint; a thread loads them.
            await asyncio.to_thread(importlib.import_module, "cinch_tui.assembly")
            assembly = await self._assemble(None)
        except CinchError as error:
            assembly = await self._welcome(str(error))
        if assembly is None:
            self.quit()
            return
        self._take_over(assembly)
        await self._begin()

    async def _assemble(self, model: Model | None) -> Assembly:
        from cinch_tui.assembly import assemble

        person = ScreenPerson(show_on(self.screen.app))
        return await assemble(self._options, self._settings, person, model)

    async def _welcome(self, reason: str) -> Assembly | None:
        """Ask for a way to a model until there is one; None when the person leaves."""
        from cinch_tui.welcoming import ask_for_model

        while True:
            model = await ask_for_model(self.screen.app, self._options, reason)
            if model is None:
                return None
            try:
                return await self._assemble(model)
            except CinchError as error:
                reason = str(error)

    def _take_over(self, assembly: Assembly) -> None:
        self._assembly = assembly
        agent = assembly.agent
        board = self.screen.board
        self._bridge = Bridge(board, show_thinking=self._settings.ui.show_thinking)
        agent.subscribe(self._bridge.receive)
        agent.subscribe(self._follow_queue)
        state = agent.state
        board.status.status = replace(
            board.status.status, model=state.model.spec.name, plan=state.mode is PLAN, approval=state.approval
        )
        self._show_history(agent.history.messages)
        for warning in assembly.warnings:
            self.notice(warning, "warning")
        self._ready.set()

    async def _begin(self) -> None:
        """What is to be done first, and what is better loaded before it is needed."""
        if self._options.beginning == Resume(""):
            await self.pick_session()
        if self._options.prompt:
            self.screen.send(self._options.prompt)
        model = self.agent.state.model
        await asyncio.to_thread(_warm, model)
        await model.facts.load()

    def quit(self) -> None:
        self.abort()
        if self._assembly is not None:
            self._assembly.close()
        self.screen.app.exit()

    def farewell(self) -> str:
        """What to say on the normal screen afterwards: how to come back."""
        if self._assembly is None or self._assembly.store is None or not self._assembly.agent.history.prompts():
            return ""
        return f"Go on with this session: cinch -r {self._assembly.agent.session_id}"

    # Talking

    async def run(self, text: str) -> None:
        """Prompt the agent and wait for its end; what could not be said goes back into the prompt."""
        await self._ready.wait()
        try:
            await self.agent.prompt(text)
        except CinchError as error:
            self.notice(str(error), "error")
            self.screen.prompt.restore(text)
        unsaid = "\n".join(message.text for message in self.agent.take_back())
        if unsaid:
            self.screen.prompt.restore(unsaid)
            self.notice("What you typed meanwhile is back in the prompt.")
        self._follow_queue(None)

    def steer(self, text: str) -> None:
        self.agent.steer(text)
        self._follow_queue(None)

    def follow_up(self, text: str) -> None:
        self.agent.follow_up(text)
        self._follow_queue(None)

    def abort(self) -> None:
        if self.is_running:
            self.agent.abort()

    def set_aside(self, text: str) -> None:
        """Keep a text that was cleared away where Up finds it."""
        self._prompt_history.add(text)

    def _follow_queue(self, event: Event | None) -> None:
        heard = isinstance(event, MessageEnd) and isinstance(event.message, UserMessage)
        if event is None or heard or isinstance(event, AgentEnd):
            inbox = self.agent.inbox
            waiting = [("next", message.text) for message in inbox.steering.messages]
            waiting += [("afterwards", message.text) for message in inbox.follow_up.messages]
            self.screen.board.queue.show(waiting)

    # The screen

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self.screen.board.notice(text, level)

    def show(self, title: str, text: str) -> None:
        from cinch_tui.transcript.replies import ReplyBlock

        self.screen.board.transcript.add(ReplyBlock(f"### {title}\n\n{text}"))

    def show_help(self) -> None:
        from cinch_tui.screens.help import help_screen

        self.screen.app.push_screen(help_screen())

    def clear_view(self) -> None:
        self.screen.board.show([])
        if self._bridge:
            self._bridge.forget()

    def transcript_source(self, part: TranscriptPart) -> str:
        return reports.source(self.agent.history.messages, part)

    def copy(self, text: str) -> None:
        from cinch_tui.clipboard import copy

        self.screen.run_worker(copy(self.screen.app, text), group="copy")

    async def open_editor(self) -> None:
        from cinch_tui.editor import Edited, EditorFailed, compose

        draft = self.screen.prompt.take()
        match await compose(draft, self._settings.ui.editor, self.screen.app.suspend):
            case Edited(text):
                self.screen.send(text)
            case EditorFailed(reason):
                self.screen.prompt.restore(draft)
                self.notice(reason, "error")
            case _:
                self.notice("Nothing is sent: the file was empty.")

    # The session

    def toggle_plan(self) -> None:
        self.agent.set_mode(EXECUTE if self.agent.state.mode is PLAN else PLAN)

    def reset(self) -> None:
        self.agent.new_session(self.agent.session_id)
        if self.assembly.store is not None:
            self.assembly.store.restart()
        self._show_history(())

    async def new_session(self) -> None:
        self.assembly.begin()
        self._show_history(())

    async def pick_session(self) -> None:
        if self.is_running:
            self.notice("The agent is at work; Esc stops it.", "warning")
            return
        from cinch_tui.screens.sessions import pick_session

        chosen = await pick_session(self.screen.app, self._options.paths.data, self._options.cwd)
        if chosen:
            await self.load_session(chosen)

    async def load_session(self, session_id: str) -> None:
        loaded = await asyncio.to_thread(self.assembly.find, session_id)
        await self._resume(loaded)

    async def _resume(self, loaded: LoadedSession) -> None:
        messages = await asyncio.to_thread(list, loaded.messages)
        self.assembly.warnings.clear()
        self.assembly.resume(loaded, messages)
        self._show_history(messages)
        for warning in (*loaded.warnings, *self.assembly.warnings):
            self.notice(warning, "warning")

    async def save_session(self) -> str:
        store = self.assembly.store
        if store is None:
            return "This conversation is not saved (--no-session)."
        await asyncio.to_thread(store.flush)
        return f"Saved in {store.path}"

    def session_ids(self) -> Sequence[str]:
        return ()

    def session_summary(self) -> str:
        return reports.session_summary(self.assembly)

    def usage_report(self) -> str:
        return reports.usage_report(self.agent)

    # The model

    def model_names(self) -> Sequence[str]:
        return reports.model_names()

    async def choose_model(self) -> None:
        from cinch_tui.screens.picker import Item, Picker

        current = self.agent.state.model.spec.name
        items = [Item(name, "in use" if name == current else "", name) for name in self.model_names()]
        chosen = await self.screen.app.push_screen_wait(Picker("Which model?", items))
        if chosen:
            await self.set_model(chosen)

    async def set_model(self, name: str) -> None:
        level = self.agent.state.model.spec.thinking
        model = await asyncio.to_thread(self.assembly.connect, name, level)
        self.agent.set_model(model)
        self.notice(f"The model is {model.spec.name} from the next reply on.")
        await asyncio.to_thread(_warm, model)
        await model.facts.load()

    @property
    def thinking(self) -> ThinkingLevel:
        return self.agent.state.model.spec.thinking

    def set_thinking(self, level: ThinkingLevel) -> None:
        self.agent.set_thinking(level)

    @property
    def system_prompt(self) -> str:
        return self.agent.state.system_prompt

    def set_system(self, text: str) -> None:
        self.agent.state.system_prompt = text

    # Approval and keys

    def set_approval(self, mode: ApprovalMode) -> None:
        self.agent.state.approval = mode
        bar = self.screen.board.status
        bar.status = replace(bar.status, approval=mode)

    def approval_summary(self) -> str:
        return reports.approval_summary(self.agent)

    def trusted_tools(self) -> Sequence[str]:
        return sorted(self.agent.state.grants.trusted)

    def untrust(self, tool: str | None) -> Sequence[str]:
        grants = self.agent.state.grants
        dropped = sorted(name for name in grants.trusted if tool in (None, name))
        grants.untrust(tool)
        return dropped

    def provider_names(self) -> Sequence[str]:
        return reports.provider_names()

    async def key_summary(self) -> str:
        return await asyncio.to_thread(reports.key_summary, self.assembly.keys)

    async def store_key(self, provider: str, secret: str) -> None:
        if provider not in self.provider_names():
            raise ConfigError(f"there is no provider {provider!r}; there are {', '.join(self.provider_names())}")
        where = await asyncio.to_thread(self.assembly.keys.store, provider, secret)
        self.notice(f"The key for {provider} is kept in the {where}; /model uses it.")

    async def keep_key(self, provider: str, secret: str) -> None:
        try:
            await self.store_key(provider, secret)
        except CinchError as error:
            self.notice(str(error), "error")

    def _show_history(self, messages: Sequence[Message]) -> None:
        from cinch_tui.transcript.past import blocks_of

        if self._bridge:
            self._bridge.forget()
        agent, board = self.agent, self.screen.board
        board.show(blocks_of(messages, agent.state.tools))
        last = agent.history.last_reply()
        board.show_usage(agent.state.usage, last.usage.context if last else 0, agent.state.facts.context_window)


def _warm(model: Model) -> None:
    """Build the HTTP client before it is needed: it costs as much as a short reply."""
    warm: Callable[[], None] | None = getattr(model.provider, "warm", None)
    if warm:
        warm()


if TYPE_CHECKING:
    _: type[Front] = Desk
