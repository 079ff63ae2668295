"""Construction of an agent from options and settings; the only module that builds the concrete parts."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from cinch_tui.agent_hooks import AgentHooks
from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.api_tools import ApiTools
from cinch_tui.assembly.assembly import Assembly, use_instructions
from cinch_tui.assembly.dialects import CATS, PATCH, chosen_dialect, dialect_name
from cinch_tui.assembly.folder import Folder, read_folder
from cinch_tui.assembly.skill_access import SkillAccess
from cinch_tui.assembly.subagent_roles import SubagentRoles
from cinch_tui.config.agent_options import agent_options
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.installed_packages import package_hooks, package_tools
from cinch_tui.language_servers import AgentLanguageServers
from cinch_tui.mcp_session import McpSession
from cinch_tui.models.connecting import OptionalModels, choose_model, optional_models
from cinch_tui.permissions import ineffective_rules, is_enabled, load_rules
from cinch_tui.script_files import ScriptTools
from cinch_tui.task_session import TaskSession
from cinch_tui.web_options import secret_variables, web_options
from extensions.path_instructions import PathInstructions
from harness.agent.agent import Agent
from harness.execution.spill import forget_old_spills
from harness.instructions.changes import EnvironmentReminders
from harness.messages import new_id
from harness.ports.hooks import Hooks
from harness.ports.interaction import UserInteraction
from harness.ports.provider import Model
from harness.ports.tool import Tool
from harness.session.paths import project_dir
from harness.session.snapshots import Snapshots
from harness.workspace.workspace import Workspace
from tools import OPTIONAL_TOOLS, builtin_tools
from tools.builtin import CLASSES, OPTIONAL_CLASSES
from tools.formatting import Formatter
from tools.shell_options import ShellOptions

# Modules that read sessions are imported when one is read: most starts begin a new session.
if TYPE_CHECKING:
    from harness.session.resume import LoadedSession

TOUR = "demo/tour"


class _PackageParts(NamedTuple):
    """Parts of the agent, with those that installed packages add."""

    tools: Sequence[Tool]
    hooks: Sequence[Hooks]
    problems: Sequence[str]

    @classmethod
    def load(cls, own: Sequence[Tool]) -> _PackageParts:
        """Import the packages, if there are any; `own` are the tools of cinch."""
        tools, hooks = package_tools(own), package_hooks()
        usable = [*own, *(tool for each in tools.usable() for tool in each)]
        return cls(usable, hooks.usable(), [*tools.problems(), *hooks.problems()])


class _EditSteps(NamedTuple):
    """Steps after changes of files."""

    formatter: Formatter
    language_servers: AgentLanguageServers


async def assemble(
    options: Options,
    settings: Settings,
    user: UserInteraction,
    loaded: LoadedSession | None = None,
    model: Model | None = None,
) -> Assembly:
    """Create the agent of a start, with the loaded session if there is one.

    Raises:
        NoModel: no model was named and no provider has a key.
        ConfigError, SessionError: the configuration or the session is invalid, or the task type does not exist.
    """
    keys = KeyStore(options.paths, options.environ)
    if model is None:
        model = await asyncio.to_thread(choose_model, settings, keys, loaded)
    assembly = await _build(options, settings, user, model, keys)
    roles = assembly.roles
    roles.agent, roles.connect = assembly.agent, assembly.connect
    roles.hooks, roles.options = assembly.hooks, options
    assembly.agent.state.permissions.loosest = settings.approval.loosest_mode
    assembly.agent.on_close(assembly.language_servers.close)
    assembly.warnings.extend(assembly.language_servers.problems)
    summarizer = assembly.agent.options.compact_model
    for each in (model, *assembly.agent.options.fallback, *([summarizer] if summarizer else [])):
        assembly.prepare(each)
    assembly.warnings.extend(await assembly.load_tasks())
    assembly.tasks.choose(options.task)
    assembly.hooks.transcript = lambda: str(assembly.session_file or "")
    assembly.hooks.connect = assembly.connect_cheap
    assembly.warnings.extend(await assembly.hooks.load(options, assembly.folder))
    assembly.warnings.extend(assembly.load_formatters(settings))
    assembly.warnings.extend(await assembly.scripts.load(options, settings, assembly.folder.roots))
    state = assembly.agent.state
    known = {*CLASSES, *OPTIONAL_CLASSES, *(tool.name for tool in state.tools), *assembly.scripts.names}
    assembly.warnings.extend(ineffective_rules(state.permissions.store.rules, known))
    assembly.warnings.extend(await assembly.apis.load(options, settings))
    if loaded is None:
        assembly.start_session()
    else:
        assembly.warnings.extend(loaded.warnings)
        await assembly.resume(loaded, read_only=options.read_only)
    return assembly


async def _build(options: Options, settings: Settings, user: UserInteraction, model: Model, keys: KeyStore) -> Assembly:
    root = _root(options, model)
    spill_dir, kept_in = await _output_folders(options, root)
    workspace = Workspace(root, options.add_dirs, readable=(spill_dir,), trash=kept_in / "trash")
    folder = await read_folder(options, settings, root)
    servers = AgentLanguageServers(options, settings, is_trusted=folder.trust.is_trusted)
    edits = _EditSteps(Formatter(secrets=secret_variables), servers)
    packages = await asyncio.to_thread(_PackageParts.load, _tools(options, settings, keys, model, edits))
    rules, warnings = load_rules(options, settings, root)
    access, roles = SkillAccess(options, settings, workspace, rules), SubagentRoles(folder)
    tools = roles.with_subagents(access.tools([each for each in packages.tools if is_enabled(each, settings)], folder))
    fallback, summarizers = await asyncio.to_thread(_other_models, settings, keys)
    reminders, path_instructions = _instruction_sources(folder, root, options)
    here = replace(
        agent_options(settings, packages.hooks, headless=options.headless),
        workspace=workspace,
        user=user,
        grants=rules,
        fallback=fallback.models,
        compact_model=next(iter(summarizers.models), None),
        spill_dir=spill_dir,
        dialect=chosen_dialect(settings.tools.dialect, model.spec, offers_patch=PATCH in settings.tools.enabled),
        get_reminders=reminders,
        get_instructions=path_instructions,
    )
    agent = Agent(model, tools, folder.prompt, here)
    access.hooks = AgentHooks(agent)
    return Assembly(
        options,
        settings,
        agent,
        workspace,
        keys,
        _originals(agent, kept_in),
        folder,
        reminders,
        path_instructions,
        ApiTools(agent),
        McpSession(agent, options, settings),
        TaskSession(agent, options),
        roles,
        access.hooks,
        ScriptTools(agent, options, settings),
        servers,
        edits.formatter,
        warnings=[*folder.problems, *packages.problems, *warnings, *fallback.problems, *summarizers.problems],
    )


async def _output_folders(options: Options, root: Path) -> tuple[Path, Path]:
    """Return the folders of output that is too long to return, and of originals of changed and deleted files."""
    spill_dir = options.paths.cache / "output" / new_id()
    await asyncio.to_thread(forget_old_spills, spill_dir.parent)
    return spill_dir, project_dir(options.paths.state, root) if options.keep_session else spill_dir


def _instruction_sources(folder: Folder, root: Path, options: Options) -> tuple[EnvironmentReminders, PathInstructions]:
    """Return what adds changed facts, and instructions for files in use, to the conversation."""
    reminders = EnvironmentReminders(root, options.paths.config)
    path_instructions = PathInstructions(root, options.paths.config)
    use_instructions(folder, reminders, path_instructions)
    return reminders, path_instructions


def _other_models(settings: Settings, keys: KeyStore) -> tuple[OptionalModels, OptionalModels]:
    """Return the fallback models, and the model that summarizes."""
    named = (settings.context.model,) if settings.context.model else ()
    return (
        optional_models("providers.fallback", settings.providers.fallback, keys, settings.model.thinking),
        optional_models("context.model", named, keys, "off"),
    )


def _originals(agent: Agent, kept_in: Path) -> Snapshots:
    """Return the copies of files as they were before the agent changed them."""
    originals = Snapshots(lambda: kept_in / "originals" / agent.session_id)
    agent.workspace.on_change(originals.observe)
    agent.workspace.observers.on_move(originals.observe_move)
    agent.workspace.observers.on_past_change(originals.observe_past)
    return originals


def _tools(options: Options, settings: Settings, keys: KeyStore, model: Model, edits: _EditSteps) -> list[Tool]:
    # Errors are those of the formatted file.
    steps = (edits.formatter, edits.language_servers.check) if settings.lsp.enabled else (edits.formatter,)
    tools = builtin_tools(
        secrets=secret_variables,
        compression=settings.tools.bash_compression,
        optional=OPTIONAL_TOOLS,
        web=web_options(settings.web, keys),
        symbol_cache=options.paths.symbol_cache,
        servers=edits.language_servers.servers if settings.lsp.enabled else None,
        steps=steps,
        shell=ShellOptions(settings.tools.bash_on_timeout, settings.tools.bash_persistent),
    )
    if dialect_name(settings.tools.dialect, model.spec) == CATS:
        # Imported here because few users choose it.
        from tools.dialects.cats.tools import REPLACED, cats_tools

        own = cats_tools(secrets=secret_variables, compression=settings.tools.bash_compression, steps=steps)
        tools = [*own, *(tool for tool in tools if tool.name not in REPLACED)]
    # With a depth of 0 the model has no tool for subagents.
    return [tool for tool in tools if tool.name != "delegate_subagent" or settings.subagents.max_depth > 0]


def _root(options: Options, model: Model) -> Path:
    """Return the folder of the agent; for the tour, a temporary copy of a small project."""
    if model.spec.name != TOUR:
        return options.cwd
    from providers.demo.tour import SAMPLE

    root = Path(tempfile.mkdtemp(prefix="cinch-tour-"))
    for name, text in SAMPLE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def wanted_session(options: Options) -> LoadedSession | None:
    """Load the session to resume; None for a new session.

    Raises:
        SessionMissing, SessionTooNew, SessionError: the session cannot be loaded.
    """
    from harness.session.references import find_reference, load_reference

    if not options.resume:
        return None
    return load_reference(find_reference(options.paths.data, options.cwd, options.resume), fork=options.fork)
