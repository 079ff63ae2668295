"""An agent with its session, as commands and both interactive front ends control it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from harness.errors import CinchError

if TYPE_CHECKING:
    from cinch_tui.assembly.assembly import Assembly
    from cinch_tui.automatic_titles import AutomaticTitles
    from cinch_tui.config.options import Options
    from cinch_tui.config.settings import Settings
    from cinch_tui.reports.notices import NoticeLevel
    from cinch_tui.trust.prompt import TrustQuestion
    from cinch_tui.trust.store import TrustAnswer
    from harness.agent.agent import Agent
    from harness.jobs import Job
    from harness.messages import Message
    from tools.mcp.servers import McpServers

NOT_READY = "cinch is still starting; try again in a moment"
READ_ONLY = "this session is open read-only; /fork continues in a copy"


class AgentSession(ABC):
    """The conversation that commands act on, with its agent; a front end opens it and shows it in its own way."""

    def __init__(self, options: Options, settings: Settings) -> None:
        self.options = options
        self.settings = settings
        self._assembly: Assembly | None = None
        self._titles: AutomaticTitles | None = None
        self.mcp: McpServers | None = None
        """MCP servers; None if none is configured, or they are not started yet."""

    @property
    def assembly(self) -> Assembly:
        """Raises `CinchError` until the agent exists."""
        if self._assembly is None:
            raise CinchError(NOT_READY)
        return self._assembly

    @property
    def agent(self) -> Agent:
        """Raises `CinchError` until it exists."""
        return self.assembly.agent

    @property
    def is_running(self) -> bool:
        return self._assembly is not None and self._assembly.agent.is_running

    @property
    def running_jobs(self) -> Sequence[Job]:
        """Background jobs, which quitting would stop."""
        return self._assembly.agent.jobs.running if self._assembly else ()

    @property
    def wakes_on_exit(self) -> bool:
        """True if the end of a background job may start a run."""
        return self.settings.tools.bash_wake_on_exit and not self.assembly.is_read_only

    def subagent_mentions(self) -> Sequence[tuple[str, str]]:
        """Return the mentions and descriptions of the subagents in files; none until the agent exists."""
        found = self._assembly.folder.subagents.subagents if self._assembly else ()
        if not found:
            return ()
        from cinch_tui.attached_files import AGENT_PREFIX  # not before the first paint

        return [(AGENT_PREFIX + each.name, each.description) for each in found]

    async def until_ready(self) -> bool:
        """Wait until the agent exists; return True if it did not before."""
        return False

    @abstractmethod
    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        """Show one or two lines to the user."""

    @abstractmethod
    def show_activity(self, text: str) -> None:
        """Show which model call outside of replies keeps the agent busy, and that it can be stopped; empty for none."""

    @abstractmethod
    def leave(self, again: str) -> None:
        """Quit; if that would stop background jobs, warn first. `again` is the key or command that confirms."""

    @abstractmethod
    def _show_history(self, messages: Sequence[Message]) -> None:
        """Show another conversation, which may be empty."""

    async def _show_resumed(self, messages: Sequence[Message]) -> None:
        """Show a resumed conversation, which may be long."""
        self._show_history(messages)

    def abort(self) -> None:
        if self.is_running:
            self.agent.abort()

    @abstractmethod
    def return_queued(self) -> None:
        """Give queued messages back to the user, after work that ended without delivering them."""

    def send_now(self) -> bool:
        """Interrupt the turn to deliver a queued steering message; return False if none is queued."""
        return self.is_running and bool(self.agent.inbox.steering) and self.agent.interrupt()

    def reset(self) -> None:
        """Begin a new conversation in the same session file."""
        with self.assembly.hooks.changing_session("clear"):
            self.agent.new_session(self.agent.session_id)
        if self.assembly.store is not None:
            self.assembly.store.restart()
        self._show_history(())

    def new_session(self) -> None:
        self.assembly.start_session()
        self._show_history(())

    async def hand_off_if_due(self) -> None:
        """Continue in a new session with a brief of this one if the context exceeds `context.handoff_at`.

        If the brief cannot be written, this session continues.
        """
        if not self.agent.is_handoff_due:
            return
        from harness.messages import user  # not before the first paint

        hint = self._return_hint()
        self.show_activity("Writing a brief for a new session")
        try:
            brief = await self.agent.handoff()
        except CinchError as error:
            self.notice(f"No new session was started, because its brief failed: {error}", "warning")
            return
        finally:
            self.show_activity("")
        self.new_session()
        self.agent.append_messages([user(brief)])
        self.notice(f"The context was nearly full: this is a new session with a brief of the work. {hint}")

    def _return_hint(self) -> str:
        """Return how to return to the session from another one."""
        if self.assembly.store is None:
            return "The old one was not saved (--no-session)."
        return f"The old one is session {self.agent.session_id[:8]}; /resume {self.agent.session_id[:8]} returns to it."

    def check_writable(self) -> None:
        """Check that the conversation can be continued.

        Raises:
            CinchError: The session is open read-only.
        """
        if self.assembly.is_read_only:
            raise CinchError(READ_ONLY)

    async def fork_session(self, at: str = "") -> None:
        """Copy the session, or its messages up to the one with the uuid `at`, and open the copy.

        Raises:
            SessionError: The session is not saved, or the copy cannot be written.
        """
        from harness.messages import new_id
        from harness.session.fork import fork_session  # not before the first paint

        original = self.assembly.session_file
        if original is None:
            raise CinchError("this conversation is not saved (--no-session), so it cannot be forked")
        if self.assembly.store is not None:
            await self.assembly.store.drain()
        copy = await asyncio.to_thread(lambda: fork_session(original, new_id(), at=at))
        await self.load_session(copy.stem, keeps_model=True)
        self.notice(f"This is a copy. The original is session {original.stem[:8]}; /sessions lists it.")

    def change_settings(self, settings: Settings, changed: Set[str]) -> None:
        """Use these settings from now on; `changed` are the names of those that differ.

        Raises:
            CinchError: One of them cannot be applied.
        """
        from cinch_tui.config.agent_options import apply_to_agent

        self.settings = settings
        apply_to_agent(self.agent, settings, changed)

    async def use_output_style(self, name: str) -> None:
        """Let the model write its replies in this style from the next request on; empty for the default."""
        from msgspec.structs import replace

        extensions = replace(self.settings.extensions, output_style=name)
        self.settings = replace(self.settings, extensions=extensions)
        await self.assembly.reread_folder(self.settings)

    async def change_trust(self, question: TrustQuestion, answer: TrustAnswer) -> None:
        """Store the user's answer about the folder and apply it from the next request on.

        Raises:
            CinchError: A configuration file is invalid.
        """
        from cinch_tui.config.names import changed_names, keys
        from cinch_tui.config.setting import NEXT_START
        from cinch_tui.trust.prompt import apply_answer

        before, shown = self.settings, self.options.notices
        options, settings = await asyncio.to_thread(apply_answer, self.options, question, answer)
        problems = await self.assembly.reload_folder(options, settings)
        self._apply_folder()
        self.options = options
        changed = changed_names(before, settings)
        self.change_settings(settings, changed)
        for each in (*(each for each in options.notices if each not in shown), *problems):
            self.notice(each, "warning")
        # Permissions apply at once here.
        later = [name for name in sorted(changed) if not name.startswith(("approval.", "permissions."))]
        if late := [name for name in later if keys()[name].applies == NEXT_START]:
            self.notice(f"At the next start: {', '.join(late)}.")

    async def reload_folder(self) -> None:
        """Use the extensions in files as they are now, from the next request on.

        Raises:
            CinchError: A permission rule is invalid.
        """
        for each in await self.assembly.reload_folder(self.options, self.settings):
            self.notice(each, "warning")
        for each in self.assembly.folder.problems:
            self.notice(each, "warning")
        self._apply_folder()

    def _apply_folder(self) -> None:
        """Follow the MCP servers and hooks that are used now; front ends offer commands of the folder, too."""
        self.mcp = self.assembly.mcp.servers
        self.assembly.hooks.start()

    def write_titles(self) -> None:
        """Write titles of new sessions from now on, if the settings say so."""
        from cinch_tui.automatic_titles import AutomaticTitles

        self._titles = AutomaticTitles(self)
        self.agent.subscribe(self._titles.receive)

    async def load_session(self, session_id: str, *, read_only: bool = False, keeps_model: bool = False) -> None:
        """Open a session by its id, which may name a message: `ID@MESSAGE`.

        Args:
            session_id: The id.
            read_only: True to show it without continuing it.
            keeps_model: True to keep model and mode instead of those of the session.

        Raises:
            SessionError: There is no such session or message, or it cannot be read.
        """
        from harness.session.paths import project_name  # not before the first paint
        from harness.session.references import find_reference, load_reference

        data, cwd = self.options.paths.data, self.options.cwd
        loaded = await asyncio.to_thread(lambda: load_reference(find_reference(data, cwd, session_id)))
        self.assembly.warnings.clear()
        messages = await self.assembly.resume(loaded, read_only=read_only, keeps_model=keeps_model)
        await self._show_resumed(messages)
        for warning in (*loaded.warnings, *self.assembly.warnings):
            self.notice(warning, "warning")
        here = self.assembly.workspace.root
        if loaded.cwd.is_absolute() and project_name(loaded.cwd) != project_name(here):
            self.notice(f"This session was started in {loaded.cwd}; the agent works in {here}.", "warning")

    async def close(self) -> None:
        """Stop what runs, write what is pending, close connections."""
        if self._titles is not None:
            await self._titles.stop()
        if self._assembly is not None:
            await self._assembly.agent.close()
            await self._assembly.apis.close()
            await asyncio.to_thread(self._assembly.close)


def resume_hint(assembly: Assembly, options: str = "") -> str:
    """Return how to resume the session with these options; empty if it has no prompts or is not saved."""
    from harness.context.history import is_prompt  # not before the first paint

    if assembly.store is None or not any(map(is_prompt, assembly.agent.history.outline)):
        return ""
    if not assembly.store.is_saved:
        return f"The end of this conversation could not be saved in {assembly.store.path}"
    return f"Resume this session: cinch {options}-r {assembly.agent.session_id}"
