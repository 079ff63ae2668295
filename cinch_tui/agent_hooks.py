"""Hooks of the user around an agent and its sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from cinch_tui.hook_files import distrust_changed, metadata_source, read_hooks

if TYPE_CHECKING:
    from pathlib import Path

    from cinch_tui.assembly.folder import Folder
    from cinch_tui.config.options import Options
    from extensions.hooks.config import HookHandler, LoadedHooks
    from extensions.hooks.session import HookSession
    from extensions.locations import Level
    from harness.agent.agent import Agent
    from harness.messages import JsonValue, ModelSpec, Usage
    from harness.ports.hooks import Hooks
    from harness.ports.provider import Model


class AgentHooks:
    """Hooks of an agent. Nothing is imported if none is configured.

    Args:
        agent: The agent.
    """

    def __init__(self, agent: Agent) -> None:
        self.transcript: Callable[[], str] = lambda: ""
        """Returns the path of the session file; empty if it is not saved."""
        self.connect: Callable[[str], Awaitable[Model | None]] | None = None
        """Connects a model for small tasks, as `Assembly.connect_cheap` does."""
        self.loaded: LoadedHooks | None = None
        """All hooks in files; None if there are none."""
        self.session: HookSession | None = None
        """Hooks that are used; None if there are none."""
        self._agent = agent
        self._handlers: tuple[HookHandler, ...] = ()
        self._attached: tuple[object, ...] = ()
        self._unsubscribe: Callable[[], None] | None = None
        self._has_session = False
        self._is_started = False
        self._closes = False
        self._options: Options | None = None
        self._inert: frozenset[Path] = frozenset()
        self._of_runs: list[HookSession] = []

    async def load(self, options: Options, folder: Folder) -> list[str]:
        """Use the hooks that are configured and trusted now, from the next run on; return problems with files."""
        self._options, self._inert = options, frozenset(folder.trust.inert)
        self.loaded = loaded = await asyncio.to_thread(self._read, options, folder)
        handlers = loaded.usable if loaded else ()
        if handlers != self._handlers:
            await self._remove()
            self._handlers = handlers
            if handlers:
                self._add(handlers)
        return loaded.problems if loaded else []

    def of_run(
        self, events: JsonValue, path: Path, level: Level, plugin_root: str = "", *, is_subagent: bool = False
    ) -> tuple[Hooks, ...]:
        """Return the hooks that a skill, command or subagent has for its runs. Mistakes are reported.

        Args:
            events: Its hooks, as written; None if it has none.
            path: Its file, whose content is trusted.
            level: Whose it is.
            plugin_root: Folder of its plugin; empty if it is not from one.
            is_subagent: True for a subagent.
        """
        if not events:
            return ()
        # Imported here because few files have hooks.
        from extensions.hooks.config import run_hooks
        from extensions.hooks.user_hooks import UserHooks

        loaded = run_hooks(events, metadata_source(path, level, plugin_root, self._agent.workspace.root))
        loaded.disabled_by = self.loaded.disabled_by if self.loaded else None
        distrust_changed(loaded, self._inert)
        for problem in (*loaded.problems, *loaded.unsupported):
            self._agent.notify(problem, level="warning")
        handlers = loaded.usable
        if is_subagent:
            handlers = tuple(replace(each, event="SubagentStop") if each.event == "Stop" else each for each in handlers)
        if not handlers:
            return ()
        session = self._session(handlers)
        self._of_runs.append(session)
        self._close_with_agent()
        return (UserHooks(session),)

    def _read(self, options: Options, folder: Folder) -> LoadedHooks | None:
        """Read the hooks in files, and in that of the chosen agent."""
        role, own = options.agent.role if options.agent else None, None
        if role and role.hooks:
            plugin_root = str(role.root.path) if role.root.plugin else ""
            own = role.hooks, metadata_source(role.path, role.root.level, plugin_root, self._agent.workspace.root)
        return read_hooks(options.hooks, folder.roots, folder.trust.inert, own)

    def start(self) -> None:
        """Run the SessionStart hooks, now that the user can see their messages. A run starts them otherwise."""
        self._is_started = True
        if self.session is not None:
            self.session.start()

    @contextmanager
    def changing_session(self, source: Literal["clear", "resume"]) -> Generator[None]:
        """Run the hooks of the end of a session before this block, and those of the start of the next one after it."""
        is_first, self._has_session = not self._has_session, True
        if self.session is not None and not is_first:
            self.session.end(source)
        yield
        if self.session is not None:
            self.session.begin("startup" if is_first and source == "clear" else source)
            if self._is_started:
                self.session.start()

    def _session(self, handlers: Sequence[HookHandler]) -> HookSession:
        from cinch_tui.user_input import user_input_of
        from cinch_tui.web_options import secret_variables
        from extensions.hooks.dispatch import HookDispatcher
        from extensions.hooks.model_hooks import HookModels
        from extensions.hooks.running import HookPlace
        from extensions.hooks.session import HookSession
        from harness.instructions.loading import project_root
        from tools.environment import command_environment

        root = self._agent.workspace.root
        environment = command_environment(os.environ, secret_variables())
        place = HookPlace(root, project_root(root), environment, HookModels(self._model, self._count))
        dispatcher = HookDispatcher(self._agent, handlers, place, lambda: self.transcript())
        return HookSession(dispatcher, lambda message: user_input_of(message).text, has_user=not self._is_headless)

    async def _model(self, name: str) -> Model | None:
        """Connect the model that a hook asks; that of the agent if its provider has no small one."""
        if self.connect is None:
            return None
        return await self.connect(name) or await self.connect(self._agent.state.model.spec.name)

    def _count(self, spec: ModelSpec, usage: Usage) -> None:
        from harness.events import UsageAdded

        self._agent.state.ledger.add(spec.name, usage)
        self._agent.publish(UsageAdded(model=spec.name, usage=usage, source="hook"))

    @property
    def _is_headless(self) -> bool:
        return self._options is not None and self._options.headless

    def _add(self, handlers: Sequence[HookHandler]) -> None:
        # Imported here because few users have hooks.
        from extensions.hooks.user_hooks import PromptHooks, UserHooks

        agent, session = self._agent, self._session(handlers)
        hooks, guardrail = UserHooks(session), PromptHooks(session)
        self.session, self._attached = session, (hooks, guardrail)
        agent.options = replace(
            agent.options,
            hooks=(*agent.options.hooks, hooks),
            guardrails=(*agent.options.guardrails, guardrail),
        )
        self._unsubscribe = agent.subscribe(session.receive)
        self._close_with_agent()

    def _close_with_agent(self) -> None:
        if not self._closes:
            self._closes = True
            self._agent.on_close(self._close)

    async def _remove(self) -> None:
        session, self.session = self.session, None
        if session is None:
            return
        options = self._agent.options
        self._agent.options = replace(
            options,
            hooks=tuple(each for each in options.hooks if each not in self._attached),
            guardrails=tuple(each for each in options.guardrails if each not in self._attached),
        )
        if self._unsubscribe is not None:
            self._unsubscribe()
        await session.stop()

    async def _close(self) -> None:
        for each in self._of_runs:
            await each.stop()
        if self.session is not None:
            await self.session.close("other" if self._is_headless else "prompt_input_exit")
