"""`cinch sessions`, `cinch config`, `cinch models`, `cinch doctor`, `cinch keys` and `cinch reset-terminal`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from cinch_tui.arguments import Arguments
from cinch_tui.output import Output
from cinch_tui.paths import find_paths
from harness.errors import ConfigError


def run_subcommand(arguments: Arguments) -> int:
    """Run one subcommand; the result is the exit status.

    Raises:
        ConfigError: it cannot be understood, or a file is wrong.
    """
    out = Output(sys.stdout)
    status = _run(arguments, out)
    if out.problem:
        raise ConfigError(out.problem)
    return status


def _run(arguments: Arguments, out: Output) -> int:
    argv, cwd = arguments.rest, _cwd()
    match arguments.command:
        case "sessions":
            from cinch_tui.sessions_command import main

            return main(argv, data_dir=find_paths(os.environ).data, cwd=cwd, out=out.stream)
        case "config":
            from cinch_tui.config_command import run_config

            return run_config(argv, cwd=cwd, out=out)
        case "models":
            from cinch_tui.models_command import run_models

            return run_models(argv, out=out)
        case "keys" | "reset-terminal":
            return _run_alone(arguments, out)
        case _:
            from cinch_tui.doctor.command import run_doctor

            return run_doctor(argv, cwd=cwd, out=out)


def _run_alone(arguments: Arguments, out: Output) -> int:
    if arguments.rest:
        raise ConfigError(f"cinch {arguments.command} takes no arguments, not {arguments.rest[0]!r}")
    if arguments.command == "keys":
        from cinch_tui.keys_command import run_keys

        return run_keys(out.stream)
    from cinch_tui.own_terminal import reset_terminal

    reset_terminal()
    return 0


def _cwd() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(f"the current folder is gone: {error.strerror}") from error
