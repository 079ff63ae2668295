"""From arguments to what a front needs: options and settings."""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Sequence
from pathlib import Path

from cinch_tui.cli.arguments import Arguments
from cinch_tui.config.layers import Sources, load_config
from cinch_tui.config.names import keys
from cinch_tui.config.options import OUTPUT_FORMATS, Continue, Options, Resume, SessionChoice
from cinch_tui.config.paths import Paths, find_paths, project_config_file
from cinch_tui.config.settings import Settings, Value
from cinch_tui.user_input import Attachment
from harness.errors import CinchError, ConfigError

YOUNG_OBJECTS = 10_000

# Which flag sets which keys.
FLAGS: dict[str, tuple[str, ...]] = {
    "model": ("model.name",),
    "base_url": ("model.base_url",),
    "thinking": ("model.thinking",),
    "plan": ("plan.enabled",),
    "plain": ("ui.plain",),
    "approve": ("approval.mode",),
    "allow": ("approval.allow",),
    "max_turns": ("limits.max_turns", "limits.max_turns_headless"),
    "max_cost": ("limits.max_cost_usd",),
}


def prepare(arguments: Arguments) -> tuple[Options, Settings]:
    """Options and settings for one start.

    Raises:
        ConfigError: a folder, file, picture, key or value cannot be used.
    """
    paths = find_paths(os.environ)
    cwd = working_folder(arguments.cwd, "--cwd")
    if record := arguments.record or os.environ.get("CINCH_RECORD", ""):
        _record_to(record)
    sources = config_sources(paths, cwd, arguments)
    config = load_config(sources)
    if config.settings.model.name.startswith("local/"):
        # While there is still a plain terminal to tell of it.
        from cinch_tui.subcommands.pull import pull_if_missing

        pull_if_missing(config.settings.model.name)
    options = Options(
        cwd=cwd,
        paths=paths,
        environ=os.environ,
        sources=sources,
        prompt=arguments.prompt,
        images=_images(arguments.images, cwd),
        headless=arguments.print_mode,
        output_format=next(name for name in OUTPUT_FORMATS if name == arguments.output_format),
        session_choice=_beginning(arguments),
        fork=arguments.fork,
        keep_session=arguments.keep_session,
        add_dirs=tuple(working_folder(name, "--add-dir") for name in arguments.add_dir),
        system=arguments.system,
        verbose=arguments.verbose,
        notices=config.notices,
    )
    return options, config.settings


def collect_garbage() -> None:
    """From here on; what is there by now stays, and is not looked through again."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()


def config_sources(paths: Paths, cwd: Path, arguments: Arguments | None = None) -> Sources:
    """Where the settings of a folder come from, with the flags of the command line on top."""
    named = arguments.config if arguments else ""
    return Sources(
        user_file=Path(named).expanduser().absolute() if named else paths.config_file,
        project_file=project_config_file(cwd),
        environ=os.environ,
        trust_file=paths.trust_file,
        flags=_flags(arguments) if arguments else {},
        named=bool(named),
    )


def _flags(arguments: Arguments) -> dict[str, Value]:
    given: dict[str, Value] = {}
    for flag, names in FLAGS.items():
        value: object = getattr(arguments, flag)
        if value is None or value == []:
            continue
        for name in names:
            try:
                given[name] = keys()[name].check(value)
            except ValueError as error:
                raise ConfigError(f"--{flag.replace('_', '-')} {error}, not {value!r}") from error
    return given


def _beginning(arguments: Arguments) -> SessionChoice:
    if arguments.continue_last:
        return Continue()
    return "new" if arguments.resume is None else Resume(arguments.resume)


def _record_to(name: str) -> None:
    """Have every model that is connected from here on recorded."""
    # Hardly any start records.
    from providers.cassette.file import CassetteFile

    path = Path(name).expanduser().absolute()
    CassetteFile(path).open()
    # Read where a model is connected, as the addresses of services are.
    os.environ["CINCH_RECORD"] = str(path)


def _images(names: Sequence[str], root: Path) -> tuple[Attachment, ...]:
    """Read before anything is sent or painted: one that cannot be shown is a mistake in the command."""
    if not names:
        return ()
    # Few starts show pictures.
    from cinch_tui.images.image_loader import attachments, read_shot

    try:
        return attachments([read_shot(Path(name).expanduser().absolute(), root) for name in names])
    except CinchError as error:
        raise ConfigError(f"--image: {error}") from error


def working_folder(name: str, flag: str) -> Path:
    """The folder that a flag names; without a name, the current one.

    Raises:
        ConfigError: it is no folder, or cannot be entered.
    """
    what = f"{flag}: {name}" if name else "the current folder"
    try:
        folder = Path(name).expanduser().resolve()
        is_folder = folder.is_dir()
    except PermissionError as error:
        raise ConfigError(f"{what} cannot be read: {error.strerror}") from error
    except OSError as error:
        raise ConfigError(f"the current folder is gone: {error.strerror}") from error
    except RuntimeError as error:
        raise ConfigError(f"{what} is a link that leads to itself") from error
    if not is_folder:
        raise ConfigError(f"{name or folder} is not a folder")
    if not os.access(folder, os.X_OK):
        raise ConfigError(f"{what} may not be entered: {os.strerror(errno.EACCES)}")
    return folder
