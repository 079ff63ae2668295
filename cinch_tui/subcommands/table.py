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

ASKS_FOR_HELP = (["--help"], ["-h"])
HELP = {
    "config": """\
cinch config show     what is in force here, and where each value comes from
cinch config path     all files and folders of cinch
cinch config edit     open your file in $EDITOR or $VISUAL; a new one lists every setting
cinch config trust    let this project's .cinch/config.toml set everything""",
    "keys": """\
cinch keys            show what arrives when a key is pressed, and what it does
  --list              print every key, with a star before those that you changed""",
    "reset-terminal": """\
cinch reset-terminal  repair a terminal that a program left broken""",
}
"""The subcommands whose arguments are a word at most; the others tell their own."""


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
    argv, cwd = arguments.rest, working_folder(arguments.cwd, "--cwd")
    if list(argv) in ASKS_FOR_HELP and (text := HELP.get(arguments.command)):
        out.write_text(text)
        return 0
    match arguments.command:
        case "sessions":
            from cinch_tui.subcommands.sessions import main

            # What is exported is read by programs, which know no locale of ours.
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
            from cinch_tui.doctor.command import run_doctor

            return run_doctor(argv, cwd=cwd, out=out)


def _reset(argv: Sequence[str]) -> int:
    if argv:
        raise ConfigError(f"cinch reset-terminal takes no arguments, not {argv[0]!r}")
    from cinch_tui.terminal.raw_mode import reset_terminal

    reset_terminal()
    return 0
