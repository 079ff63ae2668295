"""Builds an Agent from options and settings: the one module that knows every folder."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Iterator, Set
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.api_keys.credentials import KeyStore
from cinch_tui.config.agent_options import agent_options
from cinch_tui.config.options import Continue, Options, Resume
from cinch_tui.config.paths import Paths
from cinch_tui.config.settings import Settings
from cinch_tui.models.connecting import connect
from cinch_tui.models.last_choice import load_choice
from harness.agent.agent import Agent
from harness.approval.modes import EXECUTE, MODES, PLAN
from harness.approval.rules import Grants
from harness.context.normalise import normalise
from harness.errors import ConfigError, SessionLocked
from harness.execution.spill import forget_old_spills
from harness.instructions.loading import build_system_prompt, describe_environment, load_instructions, quoted
from harness.jobs import lost_jobs, lost_jobs_notice
from harness.lazy_dataclass import dataclass
from harness.messages import Message, new_id
from harness.ports.interaction import UserInteraction
from harness.ports.provider import Model
from harness.ports.tool import Tool
from harness.risk import Rule
from harness.session.paths import project_dir
from harness.session.snapshots import Snapshots
from harness.session.store import SessionStore
from harness.thinking_level import ThinkingLevel
from harness.workspace.workspace import Workspace
from providers.installed import BUILTIN, each_preset, find_preset
from providers.model_catalog.price_cache import PriceCache
from providers.model_catalog.prices import PricedModelInfo
from tools import builtin_tools

# What reads sessions is imported where one is read: most starts begin a new one.
if TYPE_CHECKING:
    from harness.session.resume import LoadedSession

TOUR = "demo/tour"


class NoModel(ConfigError):
    """No model was named and no provider has a key: the user must choose.

    `is_mistake`: something was set up, but not enough.
    """

    def __init__(self, message: str, *, is_mistake: bool = False) -> None:
        super().__init__(message)
        self.is_mistake = is_mistake


@dataclass(slots=True)
class Assembly:
    """An agent and what belongs to it. `warnings` is what the person should be told, `instructions` what of the system
    prompt comes from instruction files."""

    options: Options
    settings: Settings
    agent: Agent
    workspace: Workspace
    keys: KeyStore
    originals: Snapshots
    store: SessionStore | None = None
    loaded: LoadedSession | None = None
    warnings: list[str] = field(default_factory=list[str])
    instructions: str = ""
    _unsubscribe: Callable[[], None] | None = None

    def connect(self, name: str, thinking: ThinkingLevel) -> Model:
        """Another model for the agent.

        Raises:
            ConfigError: it cannot be had; the text says why.
        """
        name = full_name(name, self.keys)
        spec, named = self.agent.state.model.spec, name.partition("/")[0]
        base_url = spec.base_url if named == spec.provider else ""
        model = connect(name, base_url=base_url or None, credentials=self.keys, thinking=thinking)
        _hear_of_differences(model, self.agent)
        _keep_prices(model, self.options.paths)
        return model

    def find(self, which: str) -> LoadedSession:
        """A session by its id, the beginning of its id, or `latest`.

        Raises:
            SessionMissing, SessionTooNew, SessionError: it cannot be had.
        """
        from harness.session.index import find_session
        from harness.session.resume import load_session

        return load_session(find_session(self.options.paths.data, self.options.cwd, which))

    def start_session(self) -> None:
        """Start a new session in a file of its own."""
        self.agent.new_session()
        self._trust_what_is_allowed()
        self._follow(None)
        if self.agent.state.mode is PLAN:
            # The session is to say so.
            self.agent.set_mode(PLAN)

    def resume(self, loaded: LoadedSession, messages: list[Message]) -> None:
        """Go on with a session; one that another process writes to is forked.

        Raises:
            AlreadyRunning: a run is on.
        """
        self.agent.new_session(loaded.session_id, messages)
        self.agent.identity.restore(loaded.run_ids)
        if gone := lost_jobs(messages, self.agent.jobs):
            self.agent.add_reminder(lost_jobs_notice(gone))
        self._trust_what_is_allowed()
        self._follow(loaded)
        for model, usage in loaded.other_usage:
            self.agent.state.ledger.add(model, usage)
        # Who asks for plan mode at the start gets it, whatever mode the session was left in.
        now = self.agent.state.mode
        left = next((mode for mode in MODES.values() if mode.name == loaded.mode), now)
        wanted = PLAN if self.settings.plan.enabled else left
        if wanted is not now or wanted.name != (loaded.mode or EXECUTE.name):
            self.agent.set_mode(wanted)

    def close(self) -> None:
        """Write what waits and let the next writer in."""
        if self.store is not None:
            self.store.close()

    def _trust_what_is_allowed(self) -> None:
        for entry in self.settings.approval.allow:
            if ":" not in entry:
                self.agent.state.grants.trust(entry)

    def _follow(self, loaded: LoadedSession | None) -> None:
        """Let the session store write what happens from here on."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        self.close()
        self.store = None
        self.loaded = loaded
        if not self.options.keep_session:
            return
        self.store = self._open_store(loaded)
        self.store.choose(self.agent.state.model.spec)
        self._unsubscribe = self.agent.subscribe(self.store.store)

    def _open_store(self, loaded: LoadedSession | None) -> SessionStore:
        store = self._store(loaded)
        if loaded is None:
            return store
        try:
            store.acquire()
        except SessionLocked:
            from harness.session.fork import fork_session
            from harness.session.resume import load_session

            loaded = load_session(fork_session(loaded.path, new_id()))
            self.agent.new_session(loaded.session_id, self.agent.history.messages)
            self.warnings.append("This session is open elsewhere, so it goes on here as a copy.")
            return self._store(loaded)
        return store

    def _store(self, loaded: LoadedSession | None) -> SessionStore:
        agent, data = self.agent, self.options.paths.data
        warn = partial(agent.notify, level="warning")
        return SessionStore(data, self.workspace.root, agent.session_id, resumed=loaded, on_problem=warn)


async def assemble(
    options: Options,
    settings: Settings,
    user: UserInteraction,
    loaded: LoadedSession | None = None,
    model: Model | None = None,
) -> Assembly:
    """An agent for this start, that goes on with the session that was loaded.

    Raises:
        NoModel: none was named and no provider has a key.
        ConfigError, SessionError: something cannot be used; the text says what.
    """
    keys = KeyStore(options.paths, options.environ)
    if model is None:
        model = await asyncio.to_thread(choose_model, settings, keys, loaded)
    assembly = await _build(options, settings, user, model, keys)
    for each in (model, *assembly.agent.options.fallback):
        _keep_prices(each, options.paths)
    if loaded is None:
        assembly.start_session()
    else:
        messages = await asyncio.to_thread(repaired_messages, loaded)
        assembly.warnings.extend(loaded.warnings)
        assembly.resume(loaded, messages)
    return assembly


def repaired_messages(loaded: LoadedSession) -> list[Message]:
    """All that was said, with what an old crash left behind healed once rather than before every request."""
    return list(normalise(loaded.messages))


def choose_model(settings: Settings, keys: KeyStore, loaded: LoadedSession | None = None) -> Model:
    """The model that is named, else the one the session used, else the one chosen on the welcome screen, else that of
    the first provider that has a key.

    Never a local server or the demo on its own account: those are only used when a person named or chose them. Where a
    proxy was set up, no key that lies around leads past it.

    Raises:
        NoModel: there is none.
        ConfigError: the one that is named cannot be had.
    """
    wanted = settings.model
    if wanted.name:
        name = wanted.name if wanted.base_url else full_name(wanted.name, keys)
        return connect(name, base_url=wanted.base_url or None, credentials=keys, thinking=wanted.thinking)
    if loaded is not None and loaded.spec is not None:
        with contextlib.suppress(ConfigError):
            spec = loaded.spec
            return connect(spec.name, base_url=spec.base_url or None, credentials=keys, thinking=spec.thinking)
    chosen = load_choice(keys.paths.choice_file)
    if chosen is not None:
        with contextlib.suppress(ConfigError):
            return connect(chosen.name, base_url=chosen.base_url or None, credentials=keys, thinking=wanted.thinking)
    if proxies := _proxies_set_up(keys):
        said = f"no model is chosen: {proxies[0]} names a proxy, so name one of its models: -m proxy/MODEL"
        raise NoModel(said, is_mistake=True)
    for preset in each_preset():
        if preset.key_required and preset.default_model and keys.find(preset.name, preset.own_variables):
            with contextlib.suppress(ConfigError):
                return connect(preset.name, credentials=keys, thinking=wanted.thinking)
    raise NoModel(
        "no model is chosen and no API key was found: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or the key "
        "of another provider (cinch models --providers lists them), name a model with -m provider/model, or try -m demo"
    )


def full_name(name: str, keys: KeyStore) -> str:
    """The model's name with its provider, which may be missing: `claude-sonnet-5-5`.

    Raises:
        ConfigError: the name means several models.
    """
    if name in BUILTIN or find_preset(name.partition("/")[0]) or name.startswith(tuple(f"{each}/" for each in BUILTIN)):
        return name
    # Most name the provider too, and do not wait for the list of models.
    from cinch_tui.models.resolving import resolve_model

    return resolve_model(name, keys)


def _proxies_set_up(keys: KeyStore) -> list[str]:
    """The variables that name a proxy: of presets whose address nobody knows but the person."""
    named = [preset.base_url_variable for preset in each_preset() if not preset.base_url]
    return [variable for variable in named if keys.environ.get(variable, "").strip()]


async def _build(
    options: Options, settings: Settings, person: UserInteraction, model: Model, keys: KeyStore
) -> Assembly:
    root = _root(options, model)
    spill_dir = options.paths.cache / "output" / new_id()
    await asyncio.to_thread(forget_old_spills, spill_dir.parent)
    workspace = Workspace(root, options.add_dirs, readable=(spill_dir,))
    loaded = await load_instructions(root, options.paths.config)
    environment = await asyncio.to_thread(describe_environment, root)
    prompt = options.system or build_system_prompt(environment, loaded.instructions)
    tools = _tools(settings)
    grants, warnings = _grants(options, settings, root)
    fallback, missing = await asyncio.to_thread(_fallback, settings, keys)
    warnings.extend(missing)
    warnings.extend(_idle_allowances(settings, {tool.name for tool in tools}))
    here = replace(
        agent_options(settings, headless=options.headless),
        workspace=workspace,
        user=person,
        grants=grants,
        fallback=fallback,
        spill_dir=spill_dir,
    )
    agent = Agent(model, tools, prompt, here)
    _hear_of_differences(model, agent)
    kept_in = project_dir(options.paths.state, root) / "originals" if options.keep_session else spill_dir / "originals"
    originals = Snapshots(lambda: kept_in / agent.session_id)
    workspace.on_change(originals.observe)
    return Assembly(
        options,
        settings,
        agent,
        workspace,
        keys,
        originals,
        warnings=[*loaded.problems, *warnings],
        instructions=quoted(loaded.instructions),
    )


def _fallback(settings: Settings, keys: KeyStore) -> tuple[list[Model], list[str]]:
    """The models to fall back on, and why some of those that are named cannot be had: the chosen one works without."""
    models: list[Model] = []
    problems: list[str] = []
    for name in settings.providers.fallback:
        try:
            models.append(connect(full_name(name, keys), credentials=keys, thinking=settings.model.thinking))
        except ConfigError as error:
            problems.append(f"providers.fallback: {error}")
    return models, problems


def _tools(settings: Settings) -> list[Tool]:
    tools = builtin_tools(secrets=_key_variables)
    # Without sub-agents, a model is not told of them.
    return [tool for tool in tools if tool.name != "delegate_sub_agent" or settings.subagents.max_depth > 0]


def _key_variables() -> tuple[str, ...]:
    """The environment variables that hold nothing but model keys: no command the model runs is to see them."""
    return tuple(variable for preset in each_preset() for variable in preset.own_variables)


def _hear_of_differences(model: Model, agent: Agent) -> None:
    """Have the person told when what is replayed is not what was recorded."""
    if model.spec.provider != "replay":
        return
    from providers.cassette.provider import ReplayProvider

    if isinstance(model.provider, ReplayProvider):
        model.provider.queue.on_mismatch = partial(agent.notify, level="warning")


def _keep_prices(model: Model, paths: Paths) -> None:
    """Have what the price data tells of it looked up once a day: that takes as long as many a run in print mode."""
    if isinstance(model.info, PricedModelInfo):
        model.info.cache = PriceCache(paths.cache / "prices")


def _root(options: Options, model: Model) -> Path:
    """The folder the agent works in: this one, or for the tour a scratch copy of a small project."""
    if model.spec.name != TOUR:
        return options.cwd
    from providers.demo.sample import SAMPLE

    root = Path(tempfile.mkdtemp(prefix="cinch-tour-"))
    for name, text in SAMPLE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def wanted_session(options: Options) -> LoadedSession | None:
    """The session to go on with; None when a new one is to begin.

    Raises:
        SessionMissing, SessionTooNew, SessionError: it cannot be had.
    """
    match options.session_choice:
        case Continue():
            which = "latest"
        case Resume(session_id) if session_id:
            which = session_id
        case _:
            return None
    from harness.session.fork import fork_session
    from harness.session.index import find_session
    from harness.session.resume import load_session

    path = find_session(options.paths.data, options.cwd, which)
    return load_session(fork_session(path, new_id()) if options.fork else path)


def _grants(options: Options, settings: Settings, root: Path) -> tuple[Grants, list[str]]:
    rules = project_dir(options.paths.data, root) / "rules.json"
    named = [Rule(tool, scope) for tool, _, scope in (entry.partition(":") for entry in settings.approval.allow)]
    grants = Grants(rules, rules=[rule for rule in named if rule.scope])
    problem = grants.load()
    return grants, [problem] if problem else []


def _idle_allowances(settings: Settings, tools: Set[str]) -> Iterator[str]:
    """What is said to need no asking, but in words that spare no question."""
    for entry in settings.approval.allow:
        tool, colon, scope = entry.partition(":")
        if tool not in tools:
            yield f"{entry!r} allows nothing: there is no tool of that name"
        elif colon and not scope.strip():
            yield f"{entry!r} allows nothing: no command is named after the colon"
        elif scope and tool != "bash":
            yield f"{entry!r} allows nothing: only commands have a prefix, as in 'bash:make test'"
