"""`cinch sessions …`: list, show, search, export and maintain saved sessions."""

from __future__ import annotations

import argparse
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import NoReturn

from cinch_tui.config.paths import find_paths
from cinch_tui.print_mode.output import Output
from cinch_tui.reports.session_export import as_text
from cinch_tui.subcommands.session_doctor import add_doctor_command
from cinch_tui.subcommands.session_edits import ID_HELP, SessionFiles, add_edit_commands
from cinch_tui.subcommands.session_lists import add_list_commands
from cinch_tui.subcommands.session_transfer import add_transfer_commands
from harness.errors import CinchError, ConfigError
from harness.session.resume import load_session
from harness.terminal_text import strip_escapes


def run(argv: list[str], cwd: Path, out: Output) -> int:
    """Run one command; the status is 0 on success, 1 on failure, 2 for invalid arguments."""
    # Exports are read by other programs, so they do not depend on the locale.
    out.encode_as("utf-8" if argv[:1] == ["export"] else None)
    try:
        with redirect_stdout(out.stream):
            arguments = _parser().parse_args(argv)
        command: Callable[[Namespace, SessionFiles], int] = arguments.command
        return command(arguments, SessionFiles(find_paths(os.environ).data, cwd, out.stream))
    except SystemExit:  # help was printed
        return 0
    except CinchError as error:
        sys.stderr.write(f"cinch sessions: {strip_escapes(str(error))}\n")
        return 2 if isinstance(error, ConfigError) else 1


class _SessionsParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; see cinch sessions --help")


def _parser() -> argparse.ArgumentParser:
    parser = _SessionsParser(prog="cinch sessions", description="Manage saved sessions.")
    verbs = parser.add_subparsers(metavar="COMMAND", required=True)

    def verb(name: str, command: Callable[[Namespace, SessionFiles], int], text: str) -> argparse.ArgumentParser:
        sub = verbs.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        return sub

    add_list_commands(verb)
    verb("show", _show, "Print a conversation.").add_argument("id", metavar="ID", help=ID_HELP)
    add_transfer_commands(verb)
    add_edit_commands(verb)
    add_doctor_command(verb)
    return parser


def _show(arguments: Namespace, files: SessionFiles) -> int:
    session = load_session(files.find(arguments.id))
    for part in as_text(session):
        files.out.write(part)
    for warning in session.warnings:
        files.write(f"({warning})")
    return 0
