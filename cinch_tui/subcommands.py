"""`cinch sessions`, `cinch config`, `cinch models` and `cinch doctor`."""

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
        case _:
            from cinch_tui.doctor.command import run_doctor

            return run_doctor(argv, cwd=cwd, out=out)


def _cwd() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(f"the current folder is gone: {error.strerror}") from error
