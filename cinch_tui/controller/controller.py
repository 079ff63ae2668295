"""Session controller: connects the chat screen with its agent.

The agent is assembled after the first paint. A thread imports what only the agent needs in the meantime, hence the
imports inside functions.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from cinch_tui.app.preload import import_modules, index_sessions, warm, warm_reply
from cinch_tui.cli.start import collect_garbage
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.controller.chat_session import ChatSession
from cinch_tui.controller.prompt_sender import PromptSender
from cinch_tui.user_input import UserInput, append_marks
from harness.errors import CinchError, ConfigError, NoSessionYet, SessionError

if TYPE_CHECKING:
    from textual.app import App

    from cinch_tui.assembly.assembly import Assembly
    from cinch_tui.controller.chat_session import ChatView
    from cinch_tui.widgets.prompt.history import PromptHistory
    from harness.events import Event
    from harness.messages import Message
    from harness.ports.provider import Model
    from harness.session.resume import LoadedSession

QUIT_CONFIRMATION_S = 8.0
"""Seconds in which a repeated quit is taken as confirmation, if quitting would stop background jobs."""

SettingsSubscriber: TypeAlias = Callable[[Settings, Set[str]], None]
"""Called with the new settings and the names of those that changed; raises `CinchError` if one cannot be applied."""


class SessionController(ChatSession):
    """Owns the agent and the conversation; shows them through a view.

    Events of the agent are published on its own bus, changed settings to `subscribe_to_settings`.
    """

    def __init__(
        self,
        app: App[object],
        options: Options,
        settings: Settings,
        history: PromptHistory,
        on_ready: Callable[[], None],
    ) -> None:
        """Create a controller without an agent, which `open` assembles.

        `on_ready` is called once the agent exists, before the first prompt is sent.
        """
        super().__init__(app, options, settings, history)
        self.refusal = ""
        """Reason why the session could not be opened; empty if it could."""
        self.sender = PromptSender(self)
        self._on_ready = on_ready
        self._loaded: LoadedSession | None = None
        self._shown_messages: list[Message] = []
        self._start_notices: list[str] = []
        self._settings_subscribers: list[SettingsSubscriber] = []
        self._warned_at = -QUIT_CONFIRMATION_S
        self._has_preloaded_reply = False

    async def until_ready(self) -> bool:
        was_ready = self.sender.ready.is_set()
        await self.sender.ready.wait()
        return not was_ready

    # Starting

    def open(self, view: ChatView) -> None:
        """Assemble the agent in the background; the prompt accepts input meanwhile."""
        self._view = view
        self.app.run_worker(self._open, group="open", exclusive=True)

    async def _open(self) -> None:
        try:
            await asyncio.to_thread(import_modules)
            collect_garbage()
            if not await self._ask_for_trust():
                return
            await self._show_end()
            assembly = await self._assemble(None)
        except SessionError as error:
            # Another model would not help.
            self.refusal = str(error)
            self.quit()
            return
        except CinchError as error:
            from cinch_tui.models.connecting import NoModel

            # A first start without any configuration is not an error.
            is_first = type(error) is NoModel and not error.is_mistake
            assembly = await self._welcome("" if is_first else str(error))
        if assembly is None:
            self.quit()
            return
        await self._take_over(assembly)
        await self._begin()

    async def _ask_for_trust(self) -> bool:
        """Ask about files of the folder that change how cinch works, unless that was done before.

        Return False if the settings that apply with the answer are invalid.
        """
        from cinch_tui.trust.prompt import apply_answer, pending_question

        asked = await asyncio.to_thread(pending_question, self.options)
        if asked is None:
            return True
        from cinch_tui.config.names import changed_names
        from cinch_tui.trust.dialog import ask_for_trust

        answer, before = await ask_for_trust(self.app, asked, self.grace()), self.settings
        try:
            self.options, self.settings = await asyncio.to_thread(apply_answer, self.options, asked, answer)
        except ConfigError as error:
            self.refusal = str(error)
            self.quit()
            return False
        for subscriber in self._settings_subscribers:
            subscriber(self.settings, changed_names(before, self.settings))
        return True

    async def _show_end(self) -> None:
        """Load the session to resume, and show its end to read meanwhile."""
        options = self.options
        if not options.resume:
            return
        from cinch_tui.transcript.history_blocks import blocks_of, last_turns
        from harness.session.references import find_reference, load_reference
        from tools import builtin_tools

        try:
            reference = await asyncio.to_thread(find_reference, options.paths.data, options.cwd, options.resume)
        except NoSessionYet:
            # The agent gets what was typed meanwhile in any session.
            self._start_notices.append("There is no session in this folder yet: a new one is started.")
            return
        if not reference.message:
            self._shown_messages = await asyncio.to_thread(last_turns, reference.path)
            self.view.widgets.show(blocks_of(self._shown_messages, builtin_tools()))
            # Reading the rest keeps the interpreter busy, so paint this first.
            await self.view.widgets.transcript.drained()
        # Loading creates many objects that stay: looking for garbage among them takes a tenth of the time.
        gc.disable()
        self._loaded = await asyncio.to_thread(partial(load_reference, reference, fork=options.fork))

    async def _assemble(self, model: Model | None) -> Assembly:
        from cinch_tui.assembly.building import assemble
        from cinch_tui.user_dialogs.interaction import DialogInteraction

        user = DialogInteraction(self.app, grace=self.grace, editor=self.settings.ui.editor)
        return await assemble(self.options, self.settings, user, self._loaded, model)

    async def _welcome(self, reason: str) -> Assembly | None:
        """Ask for a model until one can be used; return None if the user quits."""
        from cinch_tui.models.onboarding import ask_for_model

        collect_garbage()
        while True:
            model = await ask_for_model(self.app, self.options, reason)
            if model is None:
                return None
            try:
                return await self._assemble(model)
            except CinchError as error:
                reason = str(error)

    async def _take_over(self, assembly: Assembly) -> None:
        from cinch_tui.commands.packages import package_commands
        from cinch_tui.controller.bridge import Bridge
        from cinch_tui.user_dialogs.job_prompts import JobPrompts
        from harness.agent.job_wake import JobWake
        from harness.approval.modes import PLAN

        self._assembly = assembly
        agent, widgets = assembly.agent, self.view.widgets
        self._bridge = Bridge(widgets, lambda: agent.state.known_tools)
        widgets.show_thinking(shown=self.settings.ui.show_thinking)
        agent.subscribe(self._bridge.receive)
        agent.subscribe(self.sender.queue.receive)
        agent.subscribe(self._receive)
        agent.subscribe(self._receive_context_change)
        agent.subscribe(JobPrompts(self).receive)
        agent.subscribe(JobWake(agent, self.view.continue_run, lambda: self.wakes_on_exit).receive)
        self.write_titles()
        self._on_ready()
        await self.view.agent_ready()
        state = agent.state
        widgets.set_status(model=state.model.spec.name, plan=state.mode is PLAN)
        self.show_permissions()
        widgets.transcript.banner = self.banner
        await self._show_all(agent.history.stored or agent.history.messages)
        if self._loaded is not None:
            collect_garbage()
        commands = await asyncio.to_thread(package_commands().problems)
        for warning in (*self.options.notices, *assembly.warnings, *commands, *await assembly.mcp.start()):
            self.notice(warning, "warning")
        self._apply_folder()
        self.sender.ready.set()

    def _apply_folder(self) -> None:
        from cinch_tui.template_offers import offer_tasks, offer_templates  # not before the first paint

        watched = self.mcp
        super()._apply_folder()
        for problem in offer_templates(self.assembly.folder):
            self.notice(problem, "warning")
        offer_tasks(self.assembly.tasks)
        if self.mcp is None or self.mcp is watched:
            return
        from cinch_tui.mcp_watch import McpWatch  # few users have MCP servers

        McpWatch(self, self.mcp, lambda text: self.view.widgets.set_status(servers=text)).start()

    async def _show_all(self, messages: Sequence[Message]) -> None:
        """Show a whole conversation whose end may be on the screen already."""
        from cinch_tui.transcript.history_blocks import blocks_of, last_todo, planned_spans

        before = len(messages) - len(self._shown_messages)
        loaded = self.assembly.loaded
        # Repaired messages, plans and summaries differ from what is shown.
        has_notes = loaded is not None and (loaded.compactions or any(planned_spans(loaded.notes)))
        if self._shown_messages and not has_notes and list(messages[before:]) == self._shown_messages:
            build = partial(blocks_of, messages, self.agent.state.known_tools, loaded, slice(before))
            await self.view.widgets.transcript.prepend_built(build)
            self.view.widgets.todo_panel.todo = last_todo(messages)
            self.show_usage()
        else:
            await self._show_resumed(messages)

    async def _begin(self) -> None:
        """Send the prompt of the command line or invite one, then preload what the first turn needs."""
        await self.show_branch()
        if self.options.resume == "":
            await self.view.pick_session()
        user_input = append_marks(self.options.prompt, self.options.images)
        if self.options.prompt:
            self.view.send(user_input)
        else:
            if user_input.images:
                self.view.prompt.restore(UserInput(f"{user_input.text} ", user_input.images))
            self._announce_tour()
            self.view.keep_picture()
        for text in self._start_notices:
            self.notice(text)
        await self._warm()
        if len(self.agent.history):
            self._preload_reply()

    async def _warm(self) -> None:
        """Load what a request needs; the size of the context window is known afterwards."""
        await warm(self.agent.state)
        if len(self.agent.history):
            self.show_usage()

    def user_typed(self) -> None:
        """Note that a key was pressed."""
        self.presence.typed()
        if self.sender.ready.is_set():
            self._preload_reply()

    def _preload_reply(self) -> None:
        """Load what replies need, once."""
        if not self._has_preloaded_reply:
            self._has_preloaded_reply = True
            self.app.run_worker(partial(warm_reply, self.agent.state, self.presence), group="preload")

    def _index_sessions(self) -> None:
        """Update the search index after the run, unless another one follows."""
        work = partial(index_sessions, self.options.paths.data, lambda: self.is_running)
        self.app.run_worker(work, group="session-index", exclusive=True)

    def _announce_tour(self) -> None:
        from cinch_tui.assembly.building import TOUR

        if self.agent.state.model.spec.name == TOUR and not len(self.agent.history):
            self.notice("This is the tour: a scripted model and a scratch project. Type any message and press Enter.")

    # Leaving

    @property
    def cost_of_leaving(self) -> str:
        """Background jobs that quitting would stop, as the end of a sentence; empty for none."""
        jobs = len(self.running_jobs)
        return f" and stops {jobs} background job{'' if jobs == 1 else 's'}" if jobs else ""

    def leave(self, again: str) -> None:
        if not self.cost_of_leaving or time.monotonic() - self._warned_at < QUIT_CONFIRMATION_S:
            self.quit()
            return
        self._warned_at = time.monotonic()
        text = f"{again} again quits{self.cost_of_leaving}."
        self.app.notify(text, severity="warning", timeout=QUIT_CONFIRMATION_S, markup=False)

    def quit(self, status: int = 0) -> None:
        """Stop the run and exit the app with this exit status."""
        self.abort()
        self.app.exit(return_code=status)

    # The run

    def send_now_or_abort(self) -> None:
        """Interrupt the turn to deliver a queued message or, without one, abort what the agent does.

        A summary is aborted in any case: the next turn would only begin it again.
        """
        if self.view.prompt.activity or not self.send_now():
            self.abort()

    def return_queued(self) -> None:
        if self.sender.queue.recall():
            self.notice("What you typed meanwhile is back in the prompt.")

    # Settings

    def subscribe_to_settings(self, subscriber: SettingsSubscriber) -> None:
        """Call this whenever settings change."""
        self._settings_subscribers.append(subscriber)

    def change_settings(self, settings: Settings, changed: Set[str]) -> None:
        super().change_settings(settings, changed)
        for subscriber in self._settings_subscribers:
            subscriber(settings, changed)
        self.show_usage()
        self.show_permissions()

    def _receive(self, event: Event) -> None:
        """Update the status line where the event alone does not say enough."""
        from harness.events import (
            AgentEnd,
            JobEnded,
            ModeChanged,
            ModelChanged,
            RequestStart,
            SubagentEvent,
            ToolApprovalResolved,
            UsageAdded,
            UsageUpdate,
        )

        if isinstance(event, AgentEnd):
            self._index_sessions()
        inner = event
        while isinstance(inner, SubagentEvent):
            inner = inner.event
        # Subagents report their own usage only, and a run that is stopped reports none.
        if isinstance(event, AgentEnd | UsageAdded) or (inner is not event and isinstance(inner, UsageUpdate)):
            self.show_usage()
        elif isinstance(inner, ToolApprovalResolved | ModeChanged | JobEnded):
            self.show_permissions()
        elif isinstance(event, RequestStart):
            self.view.widgets.status.update_context(event.tokens, self.context_window)
            self._preload_reply()
        elif isinstance(event, ModelChanged):
            self.app.run_worker(self._warm, group="preload")

    def _receive_context_change(self, event: Event) -> None:
        """Show that a summary is being written, and how full the context window is after a change of the context."""
        from harness.events import (
            CompactionEnd,
            CompactionStart,
            CompactionUndone,
            ContextEdited,
            ContextTrimmed,
            Evicted,
        )

        match event:
            case CompactionStart():
                self.show_activity("Summarizing older messages")
                self.show_usage()
            case CompactionEnd():
                self.show_activity("")
                self.show_usage()
            case Evicted() | CompactionUndone() | ContextEdited() | ContextTrimmed():
                self.show_usage()
            case _:
                pass
