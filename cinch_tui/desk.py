"""What happens between the chat and the agent: assembling it, talking to it, and which session it is in.

The agent is assembled after the first paint. What only that needs is imported by a thread meanwhile, and therefore
inside the functions here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cinch_tui.options import Options, Resume
from cinch_tui.settings import Settings
from cinch_tui.start import collect_garbage
from cinch_tui.warming import load_next, warm
from harness.errors import CinchError, SessionError

if TYPE_CHECKING:
    from textual.app import App

    from cinch_tui.assembly import Assembly
    from cinch_tui.branches import Contest
    from cinch_tui.bridge import Bridge
    from cinch_tui.guard import Guard
    from cinch_tui.screens.chat import ChatScreen
    from cinch_tui.transcript.blocks import NoticeLevel
    from cinch_tui.widgets.prompt.history import PromptHistory
    from harness.agent import Agent
    from harness.events import Event
    from harness.messages import Message
    from harness.provider import Model
    from harness.session.resume import LoadedSession

NOT_READY = "cinch is still starting; try again in a moment"
STILL_TYPING = 0.7
"""Seconds after a key in which a person is taken to be typing."""


class Desk:
    def __init__(
        self, app: App[object], options: Options, settings: Settings, history: PromptHistory, guard: Guard
    ) -> None:
        self.app = app
        self._guard = guard
        self.options = options
        self.settings = settings
        self._prompt_history = history
        self._screen: ChatScreen | None = None
        self._assembly: Assembly | None = None
        self._bridge: Bridge | None = None
        self._loaded: LoadedSession | None = None
        self._end: list[Message] = []
        self._ready = asyncio.Event()
        self.refusal = ""
        self.contest: Contest | None = None
        self._one_at_a_time = asyncio.Lock()

    @property
    def screen(self) -> ChatScreen:
        if self._screen is None:
            raise CinchError(NOT_READY)
        return self._screen

    @property
    def assembly(self) -> Assembly:
        """Raises `CinchError` as long as there is none."""
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
        try:
            await asyncio.to_thread(load_next)
            collect_garbage()
            await self._show_end()
            assembly = await self._assemble(None)
        except SessionError as error:
            # No other model could mend that.
            self.refusal = str(error)
            self.quit()
            return
        except CinchError as error:
            assembly = await self._welcome(str(error))
        if assembly is None:
            self.quit()
            return
        await self._take_over(assembly)
        await self._begin()

    async def _show_end(self) -> None:
        """The end of the session that is to go on: it can be read while the rest is."""
        from cinch_tui.assembly import wanted_session
        from cinch_tui.transcript.past import blocks_of, last_turns
        from tools import builtin_tools

        self._loaded = await asyncio.to_thread(wanted_session, self.options)
        if self._loaded is not None:
            self._end = await asyncio.to_thread(last_turns, self._loaded.messages)
            self.screen.board.show(blocks_of(self._end, builtin_tools()))
            # Reading the rest keeps the interpreter busy: what there is to see comes first.
            await self.screen.board.transcript.drained()

    async def _assemble(self, model: Model | None) -> Assembly:
        from cinch_tui.answers import ScreenPerson, show_on
        from cinch_tui.assembly import assemble

        person = ScreenPerson(show_on(self.app), grace=self.grace, editor=self.settings.ui.editor)
        return await assemble(self.options, self.settings, person, self._loaded, model)

    def grace(self) -> float:
        """Whoever is typing gets a moment before a question takes the keys; whoever waits for it does not wait."""
        from cinch_tui.screens.dialog import GRACE

        prompt = self.screen.prompt
        return GRACE if prompt.text and time.monotonic() - prompt.typed_at < STILL_TYPING else 0.0

    async def _welcome(self, reason: str) -> Assembly | None:
        """Ask for a way to a model until there is one; None when the person leaves."""
        from cinch_tui.welcoming import ask_for_model

        while True:
            model = await ask_for_model(self.app, self.options, reason)
            if model is None:
                return None
            try:
                return await self._assemble(model)
            except CinchError as error:
                reason = str(error)

    async def _take_over(self, assembly: Assembly) -> None:
        from cinch_tui.bridge import Bridge
        from cinch_tui.farewell import keep_way_back
        from cinch_tui.status_command import show_after_turns
        from harness.modes import PLAN

        self._assembly = assembly
        agent, board = assembly.agent, self.screen.board
        self._bridge = Bridge(board, show_thinking=self.settings.ui.show_thinking)
        agent.subscribe(self._bridge.receive)
        agent.subscribe(self._follow_queue)
        agent.subscribe(self._follow_spending)
        agent.subscribe(keep_way_back(assembly, self._guard.say))
        agent.subscribe(show_after_turns(self))
        state = agent.state
        board.status.status = replace(
            board.status.status, model=state.model.spec.name, plan=state.mode is PLAN, approval=state.approval
        )
        await self._show_all(agent.history.messages)
        for warning in (*self.options.notices, *assembly.warnings):
            self.notice(warning, "warning")
        self._ready.set()

    async def _show_all(self, messages: Sequence[Message]) -> None:
        """A whole conversation, whose end may be on the screen already."""
        from cinch_tui.transcript.past import blocks_of

        before = len(messages) - len(self._end)
        # What was healed is shown as it is now.
        if self._end and list(messages[before:]) == self._end:
            tools = self.agent.state.tools
            self.screen.board.transcript.prepend(await asyncio.to_thread(blocks_of, messages[:before], tools))
            self.show_figures()
        else:
            self._show_history(messages)

    async def _begin(self) -> None:
        """What is to be done first, and what is better loaded before it is needed."""
        await self._show_branch()
        if self.options.beginning == Resume(""):
            await self.pick_session()
        if self.options.prompt:
            self.screen.send(self.options.prompt)
        else:
            self._invite()
            self.screen.keep_picture()
        await warm(self.agent.state)

    def _invite(self) -> None:
        from cinch_tui.assembly import TOUR

        if self.agent.state.model.spec.name == TOUR and not self.agent.history.messages:
            self.notice("This is the tour. Say anything, and a scripted model shows you around on a scratch copy.")

    def quit(self) -> None:
        self.abort()
        self.app.exit()

    async def close(self) -> None:
        """Stop what is on, write what waits, let go of connections."""
        if self._assembly is not None:
            await self._assembly.agent.close()
            await asyncio.to_thread(self._assembly.close)

    # Talking

    async def run(self, text: str | None) -> None:
        """Prompt the agent, or with None let it go on, and wait for its end; what could not be said goes back into the
        prompt.

        Prompts that were sent before the agent was there wait for their turn.
        """
        await self._ready.wait()
        async with self._one_at_a_time:
            await self._prompt(text)

    async def _prompt(self, text: str | None) -> None:
        try:
            await self._say(text)
        except CinchError as error:
            self.notice(str(error), "error")
            if text is not None:
                self.screen.prompt.restore(text)
        if self.take_back():
            self.notice("What you typed meanwhile is back in the prompt.")
        await self._show_branch()

    async def _say(self, text: str | None) -> None:
        """To the agent, or, where that was asked for, to several models at once."""
        if text is None:
            await self.agent.continue_run()
            return
        if self.contest is None:
            await self.agent.prompt(text)
            return
        try:
            await self.contest.ask(text)
        finally:
            self.contest = None

    async def _show_branch(self) -> None:
        """The agent may have changed it, as may anyone."""
        from harness.session.places import git_branch

        branch = await asyncio.to_thread(git_branch, self.assembly.workspace.root)
        bar = self.screen.board.status
        bar.status = replace(bar.status, branch=branch)

    def take_back(self) -> bool:
        """Put what waits for the agent back into the prompt; whether there was anything."""
        waiting = "\n".join(message.text for message in self.agent.take_back())
        if waiting:
            self.screen.prompt.restore(waiting)
        self._follow_queue(None)
        return bool(waiting)

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

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self.screen.board.notice(text, level)

    async def pick(self, title: str, choices: Sequence[tuple[str, str]]) -> str | None:
        """Let the person choose one of these (name, detail); None when they do not."""
        from cinch_tui.screens.picker import Item, Picker

        items = [Item(name, detail, name) for name, detail in choices]
        return await self.app.push_screen_wait(Picker(title, items))

    def _follow_queue(self, event: Event | None) -> None:
        from harness.events import AgentEnd, MessageEnd
        from harness.messages import UserMessage

        heard = isinstance(event, MessageEnd) and isinstance(event.message, UserMessage)
        if event is None or heard or isinstance(event, AgentEnd):
            inbox = self.agent.inbox
            waiting = [("next", message.text) for message in inbox.steering.messages]
            waiting += [("afterwards", message.text) for message in inbox.follow_up.messages]
            self.screen.board.queue.show(waiting)
            self.screen.prompt.something_waits = bool(waiting)

    def _follow_spending(self, event: Event) -> None:
        """Sub-agents tell what they use as theirs, and a run that is stopped tells no more of it."""
        from harness.events import AgentEnd, SubagentEvent, UsageUpdate

        used = event
        while isinstance(used, SubagentEvent):
            used = used.event
        if isinstance(event, AgentEnd) or (used is not event and isinstance(used, UsageUpdate)):
            self.show_figures()

    # Which session

    def reset(self) -> None:
        """Begin a new conversation in the same file."""
        self.agent.new_session(self.agent.session_id)
        if self.assembly.store is not None:
            self.assembly.store.restart()
        self._show_history(())

    def new_session(self) -> None:
        self.assembly.begin()
        self._show_history(())

    async def pick_session(self) -> None:
        if self.is_running:
            self.notice("The agent is at work; Esc stops it.", "warning")
            return
        from cinch_tui.screens.sessions import pick_session

        chosen = await pick_session(self.app, self.options.paths.data, self.options.cwd)
        if chosen:
            await self.load_session(chosen)

    async def load_session(self, session_id: str) -> None:
        loaded = await asyncio.to_thread(self.assembly.find, session_id)
        await self._resume(loaded)

    def clear_view(self) -> None:
        """Empty the screen; the agent remembers."""
        self._show([])

    async def _resume(self, loaded: LoadedSession) -> None:
        from cinch_tui.assembly import read_messages

        messages = await asyncio.to_thread(read_messages, loaded)
        self.assembly.warnings.clear()
        self.assembly.resume(loaded, messages)
        self._show_history(messages)
        for warning in (*loaded.warnings, *self.assembly.warnings):
            self.notice(warning, "warning")

    def _show_history(self, messages: Sequence[Message]) -> None:
        self._show(messages)
        self.show_figures()

    def show_figures(self) -> None:
        """What the conversation has used, and how much of the window it takes."""
        agent = self.agent
        self.screen.board.show_usage(agent.state.usage, agent.history.context, agent.state.facts.context_window)

    def _show(self, messages: Sequence[Message]) -> None:
        from cinch_tui.transcript.past import blocks_of

        if self._bridge:
            self._bridge.forget()
        self.screen.board.show(blocks_of(messages, self.agent.state.tools))
