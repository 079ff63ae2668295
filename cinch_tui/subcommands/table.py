"""`cinch sessions`, `cinch config`, `cinch models`, `cinch doctor`, `cinch keys` and `cinch reset-terminal`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cinch_tui.cli.arguments import Arguments
from cinch_tui.cli.start import working_folder
from cinch_tui.config.paths import find_paths
from cinch_tui.print_mode.output import Output
from harness.errors import ConfigError

HELP_FLAGS = (["--help"], ["-h"])
HELP = {
    "config": """\
cinch config show     print the effective settings and their origins
cinch config path     print the files and folders of cinch
cinch config edit     edit the user file in $EDITOR or $VISUAL
cinch config trust    trust this project's .cinch/config.toml""",
    "keys": """\
cinch keys            show what a key press sends and does
  --list              list all key bindings; a star marks those you changed""",
    "reset-terminal": """\
cinch reset-terminal  reset the terminal after a program has crashed""",
}
"""Help of the subcommands without an argument parser of their own."""


def run_subcommand(arguments: Arguments) -> int:
    """Run one subcommand and return the exit status.

    Raises:
        ConfigError: the arguments or a file are invalid.
    """
    out = Output(sys.stdout)
    status = _run(arguments, out)
    if out.problem:
        raise ConfigError(out.problem)
    return status


def _run(arguments: Arguments, out: Output) -> int:
    argv, cwd = arguments.rest, working_folder(arguments.cwd, "--cwd")
    if list(argv) in HELP_FLAGS and (text := HELP.get(arguments.command)):
        out.write_text(text)
        return 0
    match arguments.command:
        case "sessions":
            from cinch_tui.subcommands.sessions import main

            # Exports are read by other programs, so they do not depend on the locale.
            out.encode_as("utf-8" if argv[:1] == ["export"] else None)
            return main(argv, data_dir=find_paths(os.environ).data, cwd=cwd, out=out.stream)
        case "config":
            from cinch_tui.subcommands.config import run_config

            return run_config(argv, cwd=cwd, out=out)
        case "models":
            from cinch_tui.subcommands.models import run_models

            return run_models(argv, out=out)
        case "keys":
            from cinch_tui.subcommands.keys import run_keys

            return run_keys(argv, cwd=cwd, out=out)
        case "reset-terminal":
            return _reset(argv)
        case _:
            from cinch_tui.subcommands.doctor import run_doctor

            return run_doctor(argv, cwd=cwd, out=out)


def _reset(argv: Sequence[str]) -> int:
    if argv:
        raise ConfigError(f"cinch reset-terminal takes no arguments, not {argv[0]!r}")
    from cinch_tui.terminal.raw_mode import reset_terminal

    reset_terminal()
    return 0
