"""An agent with its workspace, keys and session: connecting other models, resuming sessions, reloading its folder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from cinch_tui.agent_hooks import AgentHooks
from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.api_tools import ApiTools
from cinch_tui.assembly.folder import Folder, read_folder
from cinch_tui.assembly.skill_access import SkillAccess
from cinch_tui.assembly.subagent_roles import SubagentRoles
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.language_servers import AgentLanguageServers
from cinch_tui.mcp_session import McpSession
from cinch_tui.models.connecting import connect, connect_spec, full_name, small_model
from cinch_tui.permissions import reload_rules
from cinch_tui.reports.notices import lost_jobs_notice
from cinch_tui.script_files import ScriptTools
from cinch_tui.session_recording import SessionRecording
from cinch_tui.task_session import TaskSession
from extensions.path_instructions import PathInstructions
from harness.agent.agent import Agent
from harness.approval.modes import EXECUTE, MODES, PLAN
from harness.errors import ConfigError, SessionLocked
from harness.instructions.changes import EnvironmentReminders
from harness.messages import Message
from harness.ports.provider import Model
from harness.session.recorder import SessionRecorder
from harness.session.snapshots import Snapshots
from harness.thinking_level import ThinkingLevel
from harness.workspace.workspace import Workspace
from providers.model_catalog.prices import PriceCache, PricedModelInfo
from tools.formatting import Formatter, format_rules

# Modules that read sessions are imported when one is read: most starts begin a new session.
if TYPE_CHECKING:
    from harness.session.resume import LoadedSession


class Assembly(Struct):
    """An agent with its workspace, keys and session."""

    options: Options
    settings: Settings
    agent: Agent
    workspace: Workspace
    keys: KeyStore
    originals: Snapshots
    folder: Folder
    reminders: EnvironmentReminders
    path_instructions: PathInstructions
    apis: ApiTools
    mcp: McpSession
    tasks: TaskSession
    roles: SubagentRoles
    hooks: AgentHooks
    scripts: ScriptTools
    language_servers: AgentLanguageServers
    formatter: Formatter
    loaded: LoadedSession | None = None
    warnings: list[str] = []

    is_read_only: bool = False
    """True if the session is shown without continuing it."""

    target: str = ""
    """Id of the message that the session was resumed at; empty for its end."""

    _recording: SessionRecording = field(default_factory=SessionRecording)

    def connect(self, name: str, thinking: ThinkingLevel) -> Model:
        """Connect another model for the agent.

        Raises:
            ConfigError: the model is not available.
        """
        name = full_name(name, self.keys)
        spec, named = self.agent.state.model.spec, name.partition("/")[0]
        base_url = spec.base_url if named == spec.provider else ""
        model = connect(name, base_url=base_url or None, credentials=self.keys, thinking=thinking)
        self.prepare(model)
        return model

    async def connect_cheap(self, name: str = "") -> Model | None:
        """Connect a model for small tasks: the named one, else the cheap one of the provider in use, if it is known.

        The name may be that of a family of Claude, such as `haiku`.

        Raises:
            ConfigError: the model is not available.
        """
        return await asyncio.to_thread(self._connect_cheap, name)

    def _connect_cheap(self, name: str) -> Model | None:
        spec = self.agent.state.model.spec
        name = name or small_model(spec, self.keys)
        if name.isalpha():
            from cinch_tui.models.offers import family_model  # it reads the price data

            name = family_model(name, spec.provider) or name
        return self.connect(name, "off") if name else None

    def prepare(self, model: Model) -> None:
        """Report replayed requests that differ from recorded ones; cache the price lookup, which is slow, for a day."""
        if isinstance(model.info, PricedModelInfo):
            model.info.cache = PriceCache(self.options.paths.cache / "prices")
        if model.spec.provider == "replay":
            from providers.cassette.provider import ReplayProvider

            if isinstance(model.provider, ReplayProvider):
                model.provider.queue.on_mismatch = partial(self.agent.notify, level="warning")

    def start_session(self) -> None:
        """Start a new session in a file of its own."""
        with self.hooks.changing_session("clear"):
            self.agent.new_session()
            self.agent.set_system_prompt(self.folder.prompt)
            self._follow(None)
        if self.agent.state.mode is PLAN:
            # Recorded in the session.
            self.agent.set_mode(PLAN)

    @property
    def store(self) -> SessionRecorder | None:
        """Recorder of the session; None if it is not saved."""
        return self._recording.store

    @property
    def session_file(self) -> Path | None:
        """File of the conversation; None if it is not saved."""
        if self.store is not None:
            return self.store.path
        return self.loaded.path if self.is_read_only and self.loaded else None

    async def resume(
        self, loaded: LoadedSession, *, read_only: bool = False, keeps_model: bool = False
    ) -> Sequence[Message]:
        """Resume a session, or a copy of it if another process has it open.

        Args:
            loaded: the session.
            read_only: True to write nothing to it.
            keeps_model: True to keep model and mode instead of those of the session.

        Returns:
            Its messages.

        Raises:
            AlreadyRunning: a run is active.
            SessionError: the session cannot be copied.
        """
        from harness.session.repaired import repaired_messages

        # The session may be one of those that are being closed.
        await self._recording.released()
        writes = self.options.keep_session and not read_only
        if writes and await asyncio.to_thread(self._is_open_elsewhere, loaded.path):
            loaded = await asyncio.to_thread(_copy_of, loaded)
            self.warnings.append(
                "This session is open in another process; continuing in a copy; --read-only shows the original."
            )
        messages = await asyncio.to_thread(repaired_messages, loaded)
        model = None if keeps_model else await asyncio.to_thread(self._model_of, loaded)
        # Nothing is awaited from here on: what happens meanwhile would be recorded nowhere.
        with self.hooks.changing_session("resume"):
            self._restore(loaded, messages)
            if model is not None:
                self.agent.set_model(model)
            self._follow(loaded, read_only=read_only)
        self._restore_mode(loaded, keeps=keeps_model)
        return messages

    def _model_of(self, loaded: LoadedSession) -> Model | None:
        """Connect the model of a session; None if it is in use, not available, or if the settings name one."""
        spec, current = loaded.spec, self.agent.state.model.spec
        if spec is None or self.settings.model.name or spec == current:
            return None
        try:
            model = connect_spec(spec, self.keys)
        except ConfigError as error:
            self.warnings.append(f"The model of the session is not available; {current.name} replaces it. {error}")
            return None
        self.prepare(model)
        return model

    def _is_open_elsewhere(self, path: Path) -> bool:
        from harness.session.journal import is_locked

        return (self.store is None or self.store.path != path) and is_locked(path)

    def _restore(self, loaded: LoadedSession, messages: Sequence[Message]) -> None:
        """Replace the conversation of the agent, and stop recording that of the session before."""
        lost = lost_jobs_notice(messages, self.agent.jobs)
        self.agent.restore_session(loaded, messages)
        self._recording.stop()
        self.target = loaded.target
        # Unchanged since the last request, if possible, so that the provider's cache still fits.
        is_own = self.options.system or self.options.agent
        is_kept = loaded.system and not is_own and self.reminders.fits(loaded.system, self.folder.prompt)
        self.agent.set_system_prompt(loaded.system if is_kept else self.folder.prompt)
        if lost:
            self.warnings.append(lost)

    def _restore_mode(self, loaded: LoadedSession, *, keeps: bool) -> None:
        """Set the mode of a session; that of the settings takes precedence."""
        now = self.agent.state.mode
        left = next((mode for mode in MODES.values() if mode.name == loaded.mode), EXECUTE)
        wanted = PLAN if self.settings.plan.enabled else now if keeps else left
        if wanted is not now or wanted is not left:
            self.agent.set_mode(wanted)

    async def reload_folder(self, options: Options, settings: Settings) -> list[str]:
        """Use what is trusted now, from the next request on, and return problems with its permission rules.

        Args:
            options: options with the user's answer.
            settings: settings that apply with it.

        Raises:
            ConfigError: a rule that asks or denies is invalid.
        """
        root = self.workspace.root
        folder = await read_folder(options, settings, root)
        problems = await asyncio.to_thread(reload_rules, self.agent.state.permissions.store, options, settings, root)
        self.options = options
        self._use(folder, settings)
        permissions = self.agent.state.permissions
        permissions.loosest = settings.approval.loosest_mode
        if not permissions.allows_mode(permissions.approval):
            permissions.set_approval(permissions.loosest)
        problems += self.language_servers.load(options, settings, is_trusted=folder.trust.is_trusted)
        problems += self.load_formatters(settings)
        problems += await self.load_tasks()
        problems += await self.hooks.load(options, folder)
        problems += await self.scripts.load(options, settings, folder.roots)
        return problems + await self.apis.load(options, settings) + await self.mcp.load(options, settings)

    def load_formatters(self, settings: Settings) -> list[str]:
        """Use the formatters of the settings after the next edit, and return problems with them."""
        self.formatter.rules, problems = format_rules(settings.format)
        self.formatter.timeout_s = settings.tools.format_timeout_s
        return problems

    async def reread_folder(self, settings: Settings) -> None:
        """Read the folder again, with other settings of extensions; trust stays as it is."""
        self._use(await read_folder(self.options, settings, self.workspace.root), settings)

    def _use(self, folder: Folder, settings: Settings) -> None:
        self.settings, self.folder = settings, folder
        use_instructions(folder, self.reminders, self.path_instructions)
        self.roles.folder = folder
        access = SkillAccess(self.options, settings, self.workspace, self.agent.state.permissions.store, self.hooks)
        self.agent.set_tools(self.roles.with_subagents(access.tools(self.agent.state.tools, folder)))
        self.agent.set_system_prompt(folder.prompt)

    async def load_tasks(self) -> list[str]:
        """Use the task types of the folder, and return problems for the user."""
        return await self.tasks.load(self.folder.roots, self.settings.tasks, self.connect_cheap)

    def close(self) -> None:
        """Write pending records and release the session file."""
        self._recording.close()

    def _follow(self, loaded: LoadedSession | None, *, read_only: bool = False) -> None:
        """Record events in the session file from now on."""
        recording = self._recording
        recording.release(loaded.path if loaded else None)
        self.loaded = loaded
        store = None
        if self.options.keep_session and not read_only:
            store = recording.recorder(self.agent, self.options.paths.data, self.workspace.root, loaded)
        if store is not None and loaded is not None:
            try:
                store.acquire()
            except SessionLocked:
                # Another process has opened it since it was found unlocked.
                store, read_only = None, True
        self.is_read_only = read_only
        if read_only:
            self.warnings.append("This session is open read-only. /fork continues in a copy.")
        if store is not None:
            recording.start(self.agent, store)


def use_instructions(folder: Folder, reminders: EnvironmentReminders, by_path: PathInstructions) -> None:
    """Let the sources of reminders read the instruction files and rules that a folder may bring along now."""
    reminders.project, reminders.rules = folder.trust.is_trusted, folder.rules.general
    by_path.use(folder.rules.by_path, is_trusted=folder.trust.is_trusted)


def _copy_of(loaded: LoadedSession) -> LoadedSession:
    from harness.session.references import SessionReference, load_reference

    return load_reference(SessionReference(loaded.path, loaded.target), fork=True)
