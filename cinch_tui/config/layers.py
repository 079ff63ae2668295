"""Settings in layers: defaults, files of user and project, the environment, the command line, the managed file.

They are read in order, and `merged_layers` decides which value wins. Keys that an untrusted project must not set are
held back, see `cinch_tui.trust.store.TrustStore`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.config.config import Config, Layer, Origin
from cinch_tui.config.merged_layers import MergedLayers
from cinch_tui.config.names import build, keys
from cinch_tui.config.setting import Value

if TYPE_CHECKING:
    from cinch_tui.config.dotenv_files import ExtendedEnvironment
    from cinch_tui.config.file import ConfigFile


class AgentLayer(Struct, frozen=True):
    """Settings of the agent that the user chose."""

    file: ConfigFile
    """The settings, as a configuration file."""
    is_trusted: bool = True
    """False if its file belongs to a folder that the user does not trust."""


class Sources(Struct, frozen=True):
    """Sources of settings."""

    user_file: Path
    project_file: Path | None
    environ: Mapping[str, str]
    trust_file: Path
    flags: Mapping[str, Value] = {}
    """Values from the command line, by dotted name."""

    named: bool = False
    """True if the user named `user_file` with `--config`, so that it must exist."""

    local_file: Path | None = None
    """The project's local file, which git ignores."""

    folder: Path | None = None
    """The folder that cinch works in; None: the one with the project's `.cinch`."""

    agent: AgentLayer | None = None
    """The agent that the user named with `--agent`."""

    managed_file: Path | None = None
    """The administrator's file."""

    session_pins: Mapping[str, str] | None = None
    """Hashes of the project's files that are trusted for this session only, by path; None if the folder is not."""


def load_config(sources: Sources) -> Config:
    """Read all layers.

    Raises:
        ConfigError: a file cannot be read, or a key or value is invalid; with file, line and the nearest key.
    """
    layers = MergedLayers(sources.environ)
    _add_files(layers, sources)
    layers.add_environment()
    if sources.agent is not None:
        layers.add_file(sources.agent.file, "agent", trusted=sources.agent.is_trusted)
    for name, value in sources.flags.items():
        layers.put(keys()[name], value, Origin(value, "the command line", "flag"))
    if sources.managed_file is not None and must_be_read(sources.managed_file):
        from cinch_tui.config.file import read_config_file

        layers.add_file(read_config_file(sources.managed_file), "managed")
    if layers.values.get("permissions.import_claude") and sources.folder is not None:
        # Imported here because few users turn it on.
        from cinch_tui.trust.claude_settings import claude_files
        from cinch_tui.trust.store import TrustStore

        store = TrustStore(sources.trust_file, sources.session_pins)
        layers.add_claude_files(claude_files(sources.folder, sources.user_file, store))
    settings = layers.with_limited_mode(build(layers.values))
    if settings.keys:
        settings = layers.with_own_keys(settings)
    environ, problems = sources.environ, ()
    if settings.environment.dotenv:
        environ, problems = _with_dotenv(sources, settings.environment.dotenv)
    return Config(
        settings=settings,
        environ=environ,
        origins=layers.origins,
        held_back=tuple(layers.held_back),
        rules=tuple(layers.rules),
        examples=layers.examples,
        servers=tuple(layers.servers.values()),
        apis=tuple(layers.apis.values()),
        language_servers=tuple(layers.language_servers.values()),
        hooks=tuple(layers.hooks),
        warnings=(*layers.warnings, *problems),
        untrusted_files=tuple(layers.untrusted_files),
    )


def _add_files(layers: MergedLayers, sources: Sources) -> None:
    own = sources.user_file
    has_own = sources.named or must_be_read(own)
    of_project = list(_project_files(sources))
    # Without a file, neither the parser nor the trust store is needed.
    if has_own:
        from cinch_tui.config.file import read_config_file

        layers.add_file(read_config_file(own), "file")
    if of_project:
        _add_project_files(layers, sources, of_project)


def _project_files(sources: Sources) -> Iterator[tuple[Path, Layer]]:
    # Path.resolve() fails for a link to itself before Python 3.13.
    own = os.path.realpath(sources.user_file)
    if sources.project_file is not None and os.path.realpath(sources.project_file) != own:
        yield sources.project_file, "project"
    if sources.local_file is not None and os.path.realpath(sources.local_file) != own:
        yield sources.local_file, "local"


def _add_project_files(layers: MergedLayers, sources: Sources, files: Sequence[tuple[Path, Layer]]) -> None:
    from cinch_tui.config.file import read_config_file
    from cinch_tui.trust.store import TrustStore

    store = TrustStore(sources.trust_file, sources.session_pins)
    for path, layer in files:
        file = read_config_file(path)
        folder = sources.folder or path.parent.parent
        layers.add_file(file, layer, trusted=store.trusts(folder, path, file.sha256))


def _with_dotenv(sources: Sources, names: Sequence[str]) -> ExtendedEnvironment:
    """Return the environment with variables of `.env` in a trusted project and beside the user's file."""
    # Imported here because few users turn it on.
    from cinch_tui.config.dotenv_files import NAME, DotenvFile, with_dotenv

    files = [] if sources.folder is None else [DotenvFile(sources.folder / NAME, lambda: _is_trusted(sources))]
    if not sources.named:
        files.append(DotenvFile(sources.user_file.parent / NAME))
    return with_dotenv(sources.environ, names, files)


def _is_trusted(sources: Sources) -> bool:
    """Return True if the user trusts the folder."""
    from cinch_tui.trust.inventory import inventory
    from cinch_tui.trust.store import TrustStore

    assert sources.folder is not None
    found = inventory(sources.folder, sources.user_file)
    return TrustStore(sources.trust_file, sources.session_pins).state(found).is_trusted


def must_be_read(path: Path) -> bool:
    """Return True if a file exists or cannot be checked: skipping an inaccessible file would ignore its settings."""
    try:
        return path.exists()
    except PermissionError:
        return True
