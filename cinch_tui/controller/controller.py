"""What happens between the chat and the agent: assembling it, and which session it is in.

The agent is assembled after the first paint. What only that needs is imported by a thread meanwhile, and therefore
inside the functions here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cinch_tui.app.preload import load_next, warm
from cinch_tui.cli.start import collect_garbage
from cinch_tui.config.options import Options, Resume
from cinch_tui.config.settings import Settings
from cinch_tui.controller.channels import show_thinking
from cinch_tui.controller.grants import follow_grants, show_grants
from cinch_tui.controller.prompt_sender import PromptSender
from cinch_tui.keys.keymap import hint
from cinch_tui.notifications.presence import Presence
from cinch_tui.user_input import Said, Words
from harness.errors import CinchError, NoSessionYet, SessionError

if TYPE_CHECKING:
    from textual.app import App

    from cinch_tui.app.start_banner import StartBanner
    from cinch_tui.assembly import Assembly
    from cinch_tui.controller.bridge import Bridge
    from cinch_tui.panels.panel_manager import PanelManager
    from cinch_tui.screens.chat import ChatScreen
    from cinch_tui.terminal.guard import Guard
    from cinch_tui.transcript.blocks import NoticeLevel
    from cinch_tui.widgets.prompt.history import PromptHistory
    from harness.agent.agent import Agent
    from harness.events import Event
    from harness.messages import Message
    from harness.ports.provider import Model
    from harness.session.resume import LoadedSession

LEAVE_WITHIN = 8.0
"""Seconds in which leaving again means it, where something would be lost by it."""
NOT_READY = "cinch is still starting; try again in a moment"


class SessionController:
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
        self._panels: PanelManager | None = None
        self._loaded: LoadedSession | None = None
        self._end: list[Message] = []
        self._news: list[str] = []
        self.refusal = ""
        self._warned_at = -LEAVE_WITHIN
        self.presence = Presence()
        self.sender = PromptSender(self)

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
            from cinch_tui.assembly import NoModel

            # Who has not set up anything yet has made no mistake.
            is_first = type(error) is NoModel and not error.is_mistake
            assembly = await self._welcome("" if is_first else str(error))
        if assembly is None:
            self.quit()
            return
        await self._take_over(assembly)
        await self._begin()

    async def _show_end(self) -> None:
        """The end of the session that is to go on: it can be read while the rest is."""
        from cinch_tui.assembly import wanted_session
        from cinch_tui.transcript.history_blocks import blocks_of, last_turns
        from tools import builtin_tools

        try:
            self._loaded = await asyncio.to_thread(wanted_session, self.options)
        except NoSessionYet:
            # What was typed meanwhile is meant for the agent, whichever session it is in.
            self._news.append("There is no session in this folder yet: a new one is started.")
        if self._loaded is not None:
            self._end = await asyncio.to_thread(last_turns, self._loaded.messages)
            self.screen.widgets.show(blocks_of(self._end, builtin_tools(), self._loaded))
            # Reading the rest keeps the interpreter busy: what there is to see comes first.
            await self.screen.widgets.transcript.drained()

    async def _assemble(self, model: Model | None) -> Assembly:
        from cinch_tui.assembly import assemble
        from cinch_tui.user_dialogs.interaction import DialogInteraction, show_on

        person = DialogInteraction(show_on(self.app), grace=self.grace, editor=self.settings.ui.editor)
        return await assemble(self.options, self.settings, person, self._loaded, model)

    def grace(self) -> float:
        """For how long keys are still the prompt's when a question comes up by itself."""
        from cinch_tui.screens.dialog import GRACE, PAUSE

        return PAUSE if self.screen.prompt.text.strip() and self.presence.is_composing else GRACE

    async def _welcome(self, reason: str) -> Assembly | None:
        """Ask for a way to a model until there is one; None when the person leaves."""
        from cinch_tui.models.onboarding import ask_for_model

        while True:
            model = await ask_for_model(self.app, self.options, reason)
            if model is None:
                return None
            try:
                return await self._assemble(model)
            except CinchError as error:
                reason = str(error)

    async def _take_over(self, assembly: Assembly) -> None:
        from cinch_tui.app.exit_summary import keep_way_back
        from cinch_tui.command_host.setting_effects import divide_diffs
        from cinch_tui.controller.bridge import Bridge
        from cinch_tui.controller.status_command import show_after_turns
        from cinch_tui.notifications.notifying import calling
        from harness.approval.modes import PLAN

        self._assembly = assembly
        agent, widgets = assembly.agent, self.screen.widgets
        self._bridge = Bridge(widgets)
        show_thinking(self, shown=self.settings.ui.show_thinking)
        agent.subscribe(self._bridge.receive)
        agent.subscribe(self.sender.queue.follow)
        agent.subscribe(self._follow_spending)
        agent.subscribe(follow_grants(self))
        agent.subscribe(keep_way_back(assembly, self._guard.say))
        agent.subscribe(show_after_turns(self))
        agent.subscribe(calling(self))
        panels = await self.screen.open_panels()
        agent.subscribe(panels.hear)
        self._panels = panels
        state = agent.state
        if self.settings.ui.side_by_side != Settings().ui.side_by_side:
            divide_diffs(self)
        widgets.status.status = replace(
            widgets.status.status, model=state.model.spec.name, plan=state.mode is PLAN, approval=state.approval
        )
        widgets.transcript.banner = self.banner
        await self._show_all(agent.history.messages)
        for warning in (*self.options.notices, *assembly.warnings):
            self.notice(warning, "warning")
        self.sender.begin()

    @property
    def banner(self) -> StartBanner:
        """What an empty conversation shows."""
        from cinch_tui.app.start_banner import StartBanner

        return StartBanner(str(self.assembly.workspace.root), self.agent.state.model.spec.name)

    async def _show_all(self, messages: Sequence[Message]) -> None:
        """A whole conversation, whose end may be on the screen already."""
        from cinch_tui.transcript.history_blocks import blocks_of, last_todo

        before = len(messages) - len(self._end)
        # What was healed is shown as it is now.
        if self._end and list(messages[before:]) == self._end:
            earlier = blocks_of, messages[:before], self.agent.state.tools, self.assembly.loaded
            self.screen.widgets.transcript.prepend(await asyncio.to_thread(*earlier))
            self.screen.widgets.todo_panel.todo = last_todo(messages)
            self.show_figures()
        else:
            self._show_history(messages)

    async def _begin(self) -> None:
        """What is to be done first, and what is better loaded before it is needed."""
        await self.show_branch()
        if self.options.beginning == Resume(""):
            await self.pick_session()
        said = self.options.said
        if self.options.prompt:
            self.screen.send(said)
        else:
            if said.images:
                self.screen.prompt.restore(Words(f"{said.text} ", said.images))
            self._invite()
            self.screen.keep_picture()
        for news in self._news:
            self.notice(news)
        await warm(self.agent.state)

    def _invite(self) -> None:
        from cinch_tui.assembly import TOUR

        if self.agent.state.model.spec.name == TOUR and not self.agent.history.messages:
            self.notice("This is the tour. Say anything, and a scripted model shows you around on a scratch copy.")

    @property
    def cost_of_leaving(self) -> str:
        """What ends when the person leaves, as the end of a sentence."""
        jobs = len(self._assembly.agent.jobs.running) if self._assembly else 0
        return f" and stops {jobs} background job{'' if jobs == 1 else 's'}" if jobs else ""

    def leave(self, again: str) -> None:
        """Quit, or, where that would stop jobs, tell so first; `again` names what quits then."""
        if not self.cost_of_leaving or time.monotonic() - self._warned_at < LEAVE_WITHIN:
            self.quit()
            return
        self._warned_at = time.monotonic()
        text = f"{again} again quits{self.cost_of_leaving}."
        self.app.notify(text, severity="warning", timeout=LEAVE_WITHIN, markup=False)

    def quit(self, status: int = 0) -> None:
        """Leave; `status` is that of the process."""
        self.abort()
        self.app.exit(return_code=status)

    async def close(self) -> None:
        """Stop what is on, write what waits, let go of connections."""
        if self._assembly is not None:
            await self._assembly.agent.close()
            await asyncio.to_thread(self._assembly.close)

    async def show_branch(self) -> None:
        """The agent may have changed it, as may anyone."""
        from harness.session.paths import git_branch

        branch = await asyncio.to_thread(git_branch, self.assembly.workspace.root)
        bar = self.screen.widgets.status
        bar.status = replace(bar.status, branch=branch)

    def abort(self) -> None:
        if self.is_running:
            self.agent.abort()

    def send_now(self) -> bool:
        """Interrupt the turn to deliver a queued steering message; returns False when there is none to deliver."""
        return self.is_running and bool(self.agent.inbox.steering) and self.agent.interrupt()

    def send_now_or_abort(self) -> None:
        if not self.send_now():
            self.abort()

    def set_aside(self, said: Said) -> None:
        """Keep what was cleared away where Up finds it."""
        self._prompt_history.add(said)

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self.screen.widgets.notice(text, level)

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        """Let the user choose one of these (name, detail), without a filter where there are few; None on Esc."""
        from cinch_tui.screens.picker import Item, Picker
        from cinch_tui.screens.short_list import MOST, ShortList

        if len(choices) <= MOST and not current:
            return await self.app.push_screen_wait(ShortList(title, choices))
        items = [Item(name, detail, name) for name, detail in choices]
        return await self.app.push_screen_wait(Picker(title, items, current=current))

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
            self.notice(" ".join(filter(None, ("The agent is at work.", hint("chat.abort stops it.")))), "warning")
            return
        from cinch_tui.screens.sessions import pick_session

        chosen = await pick_session(self.app, self.options.paths.data, self.options.cwd, self.agent.session_id)
        if chosen:
            await self.load_session(chosen)

    async def load_session(self, session_id: str) -> None:
        loaded = await asyncio.to_thread(self.assembly.find, session_id)
        await self._resume(loaded)

    def clear_view(self) -> None:
        """Empty the screen; the agent remembers."""
        # It is no new conversation.
        self.screen.widgets.transcript.banner = None
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
        self.screen.widgets.transcript.banner = self.banner
        self._show(messages)
        self.show_figures()
        show_grants(self)
        # How another conversation ended is no news of this one.
        bar = self.screen.widgets.status
        bar.status = replace(bar.status, state="idle", note="")

    def show_figures(self) -> None:
        """What the conversation has used, and how much of the window it takes."""
        agent = self.agent
        self.screen.widgets.show_usage(agent.state.usage, agent.history.context, agent.state.model_info.context_window)

    def _show(self, messages: Sequence[Message]) -> None:
        from cinch_tui.transcript.history_blocks import blocks_of, last_todo

        if self._bridge:
            self._bridge.forget()
        if self._panels:
            self._panels.forget()
        self.screen.widgets.show(blocks_of(messages, self.agent.state.tools, self.assembly.loaded))
        self.screen.widgets.todo_panel.todo = last_todo(messages)
