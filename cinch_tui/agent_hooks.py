"""Hooks of the user around an agent and its sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from cinch_tui.hook_files import read_hooks

if TYPE_CHECKING:
    from cinch_tui.assembly.folder import Folder
    from cinch_tui.config.options import Options
    from extensions.hooks.config import HookHandler, LoadedHooks
    from extensions.hooks.session import HookSession
    from harness.agent.agent import Agent


class AgentHooks:
    """Hooks of an agent. Nothing is imported if none is configured.

    Args:
        agent: The agent.
    """

    def __init__(self, agent: Agent) -> None:
        self.transcript: Callable[[], str] = lambda: ""
        """Returns the path of the session file; empty if it is not saved."""
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
        self._is_headless = False

    async def load(self, options: Options, folder: Folder) -> list[str]:
        """Use the hooks that are configured and trusted now, from the next run on; return problems with files."""
        self._is_headless = options.headless
        self.loaded = loaded = await asyncio.to_thread(read_hooks, options.hooks, folder.roots, folder.trust.inert)
        handlers = loaded.usable if loaded else ()
        if handlers != self._handlers:
            await self._remove()
            self._handlers = handlers
            if handlers:
                self._add(handlers, options)
        return loaded.problems if loaded else []

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

    def _add(self, handlers: Sequence[HookHandler], options: Options) -> None:
        # Imported here because few users have hooks.
        from cinch_tui.user_input import user_input_of
        from cinch_tui.web_options import secret_variables
        from extensions.hooks.dispatch import HookDispatcher
        from extensions.hooks.running import HookPlace
        from extensions.hooks.session import HookSession
        from extensions.hooks.user_hooks import PromptHooks, UserHooks
        from harness.instructions.loading import project_root
        from tools.environment import command_environment

        agent = self._agent
        root = agent.workspace.root
        environment = command_environment(os.environ, secret_variables())
        place = HookPlace(root, project_root(root), environment)
        dispatcher = HookDispatcher(agent, handlers, place, lambda: self.transcript())
        session = HookSession(dispatcher, lambda message: user_input_of(message).text, has_user=not options.headless)
        hooks, guardrail = UserHooks(session), PromptHooks(session)
        self.session, self._attached = session, (hooks, guardrail)
        agent.options = replace(
            agent.options,
            hooks=(*agent.options.hooks, hooks),
            guardrails=(*agent.options.guardrails, guardrail),
        )
        self._unsubscribe = agent.subscribe(session.receive)
        if not self._closes:
            self._closes = True
            agent.on_close(self._close)

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
        if self.session is not None:
            await self.session.close("other" if self._is_headless else "prompt_input_exit")
