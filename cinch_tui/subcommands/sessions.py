"""`cinch sessions …`: list, show, search, export and maintain saved sessions."""

from __future__ import annotations

import argparse
import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import NoReturn

from msgspec.structs import asdict

from cinch_tui.config.paths import find_paths
from cinch_tui.print_mode.output import Output
from cinch_tui.reports.session_export import as_text, local_time
from cinch_tui.subcommands.session_doctor import add_doctor_command
from cinch_tui.subcommands.session_edits import SessionFiles, add_edit_commands
from cinch_tui.subcommands.session_transfer import add_transfer_commands
from harness.errors import CinchError, ConfigError
from harness.session.index import SessionSummary, list_sessions, search_sessions
from harness.session.paths import unreadable_folders
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

    listed = verb("list", _list, "List sessions, newest first.")
    listed.add_argument("--all", action="store_true", help="list the sessions of all folders")
    listed.add_argument("--json", action="store_true", help="print a JSON array")
    verb("show", _show, "Print a conversation.").add_argument("id", help="session id, a prefix of it, or latest")
    search = verb("search", _search, "Search the text of sessions.")
    search.add_argument("text")
    search.add_argument("--all", action="store_true", help="search the sessions of all folders")
    add_transfer_commands(verb)
    add_edit_commands(verb)
    add_doctor_command(verb)
    return parser


def _list(arguments: Namespace, files: SessionFiles) -> int:
    cwd = None if arguments.all else files.cwd
    found, unread = list_sessions(files.data_dir, cwd), unreadable_folders(files.data_dir, cwd)
    for folder, why in unread:
        sys.stderr.write(f"cinch sessions: cannot read the sessions in {strip_escapes(str(folder))}: {why}\n")
    if arguments.json:
        files.write(json.dumps([asdict(each) | {"path": str(each.path)} for each in found], indent=2))
        return 1 if unread else 0
    for summary in found:
        files.write(_row(summary, with_folder=arguments.all))
    if not found and not unread:
        files.write(
            "no sessions" if arguments.all else f"no sessions in {files.cwd}; --all lists the sessions of all folders"
        )
    return 1 if unread else 0


def _row(summary: SessionSummary, *, with_folder: bool) -> str:
    title = " ".join(strip_escapes(summary.title).split())
    title = title if len(title) <= 70 else f"{title[:69]}…"
    place = f"  {strip_escapes(summary.cwd)}" if with_folder else ""
    return f"{summary.id[:8]}  {local_time(summary.updated)}  {title}{'  (in use)' if summary.locked else ''}{place}"


def _show(arguments: Namespace, files: SessionFiles) -> int:
    session = load_session(files.find(arguments.id))
    for part in as_text(session):
        files.out.write(part)
    for warning in session.warnings:
        files.write(f"({warning})")
    return 0


def _search(arguments: Namespace, files: SessionFiles) -> int:
    hits = search_sessions(files.data_dir, arguments.text, None if arguments.all else files.cwd)
    for hit in hits:
        files.write(f"{hit.session_id[:8]}  {local_time(hit.time)}  {hit.role}: {strip_escapes(hit.snippet)}")
    if not hits:
        files.write(
            f"no matches for {arguments.text!r}"
            + ("" if arguments.all else " in this folder; --all searches all folders")
        )
    return 0 if hits else 1
