"""Options and settings of a start, built from the arguments."""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from cinch_tui.cli.arguments import Arguments
from cinch_tui.config.config import Config
from cinch_tui.config.layers import Sources, load_config
from cinch_tui.config.names import keys
from cinch_tui.config.options import Options
from cinch_tui.config.paths import MANAGED_FILE, Paths, find_paths, local_config_file, project_config_file
from cinch_tui.config.setting import Value
from cinch_tui.config.settings import Settings
from cinch_tui.user_input import Attachment
from harness.entry_points import disable_packages
from harness.errors import CinchError, ConfigError

YOUNG_OBJECTS = 10_000

# Settings by command-line flag.
FLAGS: dict[str, tuple[str, ...]] = {
    "model": ("model.name",),
    "base_url": ("model.base_url",),
    "thinking": ("model.thinking",),
    "plan": ("plan.enabled",),
    "plain": ("ui.plain",),
    "approve": ("approval.mode",),
    "allow": ("permissions.allow",),
    "ask": ("permissions.ask",),
    "deny": ("permissions.deny",),
    "max_turns": ("limits.max_turns", "limits.max_turns_headless"),
    "max_cost": ("limits.max_cost_usd",),
}


def prepare(arguments: Arguments) -> tuple[Options, Settings]:
    """Return the options and settings of one start.

    Raises:
        ConfigError: a folder, file, image, key or value is invalid.
    """
    paths = find_paths(os.environ)
    cwd = working_folder(arguments.cwd, "--cwd")
    if record := arguments.record or os.environ.get("CINCH_RECORD", ""):
        _record_to(record)
    sources = config_sources(paths, cwd, arguments)
    config = load_config(sources)
    options = _options(arguments, sources, config, cwd)
    if arguments.agent:
        # Rarely used.
        from cinch_tui.assembly.chosen_agent import chosen_agent

        agent = chosen_agent(arguments.agent, options, config.settings)
        sources = replace(sources, agent=agent.layer)
        config = load_config(sources)
        options = _options(arguments, sources, config, cwd)
        options = replace(options, agent=agent.file, notices=(*options.notices, *filter(None, [agent.notice])))
    if config.settings.tools.dialect:
        # Few users choose one.
        from cinch_tui.assembly.dialects import check_dialects

        check_dialects(config.settings.tools.dialect)
    disable_packages(config.settings.extensions.disabled_packages)
    if config.settings.model.name.startswith("local/"):
        # Before the app starts, so that progress is shown on the normal screen.
        from cinch_tui.subcommands.pull import pull_if_missing

        pull_if_missing(config.settings.model.name)
    return options, config.settings


def _options(arguments: Arguments, sources: Sources, config: Config, cwd: Path) -> Options:
    """Return the options of one start, without the chosen agent."""
    return Options(
        cwd=cwd,
        paths=find_paths(os.environ),
        environ=config.environ,
        sources=sources,
        prompt=arguments.prompt,
        images=_images(arguments.images, cwd),
        headless=arguments.print_mode,
        output_format=arguments.output_format,
        resume="latest" if arguments.continue_last else arguments.resume,
        fork=arguments.fork,
        read_only=arguments.read_only,
        keep_session=arguments.keep_session,
        add_dirs=tuple(working_folder(name, "--add-dir") for name in arguments.add_dir),
        system=arguments.system,
        task=arguments.task,
        verbose=arguments.verbose,
        require_mcp=arguments.require_mcp,
        notices=config.notices,
        rules=config.rules,
        rule_examples=config.examples,
        servers=config.servers,
        apis=config.apis,
        language_servers=config.language_servers,
        hooks=config.hooks,
    )


def collect_garbage() -> None:
    """Turn on garbage collection; objects that exist already are exempt."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()


def config_sources(paths: Paths, cwd: Path, arguments: Arguments | None = None) -> Sources:
    """Return the sources of the settings of a folder, including the flags of the command line."""
    named = arguments.config if arguments else ""
    user_file = Path(named).expanduser().absolute() if named else paths.config_file
    return Sources(
        user_file=user_file,
        project_file=project_config_file(cwd),
        environ=os.environ,
        trust_file=paths.trust_file,
        flags=_flags(arguments) if arguments else {},
        named=bool(named),
        local_file=local_config_file(cwd),
        managed_file=MANAGED_FILE,
        folder=cwd,
        session_pins=_pins_of_start(cwd, user_file) if arguments and arguments.trust else None,
    )


def _pins_of_start(cwd: Path, user_file: Path) -> dict[str, str]:
    """Return the hashes of the files that `--trust` trusts: those that are there now."""
    from cinch_tui.trust.inventory import inventory
    from cinch_tui.trust.store import session_pins

    return session_pins(inventory(cwd, user_file))


def _flags(arguments: Arguments) -> dict[str, Value]:
    given: dict[str, Value] = {}
    for flag, names in FLAGS.items():
        # Subcommands have only some of the flags.
        value: object = getattr(arguments, flag, None)
        if value is None or value == []:
            continue
        for name in names:
            try:
                given[name] = keys()[name].check(value)
            except ValueError as error:
                raise ConfigError(f"--{flag.replace('_', '-')} {error}, not {value!r}") from error
    return given


def _record_to(name: str) -> None:
    """Record the requests and responses of every model that is connected from now on."""
    # Rarely used.
    from providers.cassette.file import CassetteFile

    path = Path(name).expanduser().absolute()
    CassetteFile(path).open()
    # Read when a model is connected, like the base URLs of services.
    os.environ["CINCH_RECORD"] = str(path)


def _images(names: Sequence[str], root: Path) -> tuple[Attachment, ...]:
    """Read the images; an invalid one is a usage error, so they are read before anything is sent or painted."""
    if not names:
        return ()
    # Rarely used.
    from cinch_tui.images.image_loader import attachments, load_image

    try:
        return attachments([load_image(Path(name).expanduser().absolute(), root) for name in names])
    except CinchError as error:
        raise ConfigError(f"--image: {error}") from error


def working_folder(name: str, flag: str) -> Path:
    """Return the folder given by a flag; without a name, the current folder.

    Raises:
        ConfigError: the path is not a folder, or the folder is not accessible.
    """
    what = f"{flag}: {name}" if name else "the current folder"
    try:
        folder = Path(name).expanduser().resolve()
        is_folder = folder.is_dir()
    except PermissionError as error:
        raise ConfigError(f"{what} cannot be read: {error.strerror}") from error
    except OSError as error:
        raise ConfigError(f"the current folder no longer exists: {error.strerror}") from error
    except RuntimeError as error:
        raise ConfigError(f"{what} is a symbolic link to itself") from error
    if not is_folder:
        raise ConfigError(f"{name or folder} is not a folder")
    if not os.access(folder, os.X_OK):
        raise ConfigError(f"{what} is not accessible: {os.strerror(errno.EACCES)}")
    return folder
