"""The agent that `cinch --agent` names: a file, or a subagent by its name."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.assembly.folder import extension_roots
from cinch_tui.config.file import ConfigEntry, ConfigFile
from cinch_tui.config.layers import AgentLayer
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.trust.prompt import folder_state
from extensions.agent_files import PARSERS, AgentFile, read_agent_file
from extensions.locations import extension_files
from extensions.subagents import load_subagents, read_instructions
from harness.errors import ConfigError


class ChosenAgent(Struct, frozen=True):
    """An agent, and its settings as a layer of the configuration."""

    file: AgentFile
    layer: AgentLayer
    notice: str = ""
    """Reason that a trusted folder does not make its settings trusted; empty for none."""


def chosen_agent(name: str, options: Options, settings: Settings) -> ChosenAgent:
    """Return the agent of this name, or in the file of this name.

    Raises:
        ConfigError: there is no such agent, or its file is not valid.
    """
    if Path(name).suffix.lower() in PARSERS:
        path = Path(name).expanduser().absolute()
        file = read_agent_file(path)
        is_trusted, notice = _trust_in(path, options)
    else:
        file, is_trusted, notice = _named(name, options, settings), True, ""
    if not is_trusted:
        file = replace(file, role=replace(file.role, hooks=None))
    entries = {key: ConfigEntry(value, 0) for key, value in _with_model(file, settings).settings.items()}
    return ChosenAgent(file, AgentLayer(ConfigFile(file.role.path, "", entries), is_trusted=is_trusted), notice)


def _trust_in(path: Path, options: Options) -> tuple[bool, str]:
    """Return whether a file is trusted: the user's, or one of the project with the content that the user trusts."""
    files, trust = folder_state(options, options.cwd)
    if not path.resolve().is_relative_to(files.root):
        return True, ""
    if not any(each.path == path for each in files.found):
        return False, f"{path} may only make settings stricter; move it to .cinch/agents, where it can be trusted"
    return trust.is_trusted and path not in trust.inert, ""


def _named(name: str, options: Options, settings: Settings) -> AgentFile:
    roots, _ = extension_roots(options, settings, options.cwd, *folder_state(options, options.cwd))
    for file in extension_files("agent", roots):
        if file.path.stem == name:
            return read_agent_file(file.path)
    subagents = {each.name: each for each in load_subagents(roots).subagents}
    if name not in subagents:
        hint = did_you_mean(name, subagents) or "; name one that /agents list shows, or a file"
        raise ConfigError(f"--agent: there is no agent {name!r}{hint}")
    role = subagents[name]
    try:
        return AgentFile(role, read_instructions(role.path))
    except (OSError, ValueError) as error:
        raise ConfigError(f"--agent: {role.path} cannot be read: {error}") from error


def _with_model(file: AgentFile, settings: Settings) -> AgentFile:
    """Return a file with the model of a family such as `haiku`, or without one if the provider has no such family."""
    role = file.role
    if not role.model.isalpha():
        return file
    from cinch_tui.models.offers import family_model  # it reads the price data

    provider = settings.model.name.partition("/")[0] or "anthropic"
    return replace(file, role=replace(role, model=family_model(role.model, provider)))
