"""`cinch sessions export` and `cinch sessions import`."""

from __future__ import annotations

import argparse
import sys
from argparse import Namespace
from pathlib import Path

from cinch_tui.reports.export_files import FORMATS, export_files, export_text, format_for, make_folder
from cinch_tui.subcommands.session_edits import ID_HELP, AddVerb, SessionFiles
from harness.errors import SessionError
from harness.session.paths import project_dir
from harness.session.resume import LoadedSession, load_session
from harness.terminal_text import strip_escapes

_IMPORTED = ("auto", "claude", "codex", "swink")


def add_transfer_commands(verb: AddVerb) -> None:
    """Add the commands to the parser, each with `verb(name, command, help)`."""
    export = verb("export", _export, "Export a session.")
    export.formatter_class = argparse.RawDescriptionHelpFormatter
    export.epilog = "formats:\n" + "\n".join(f"  {name:<8} {each.title}" for name, each in FORMATS.items())
    export.add_argument("id", metavar="ID", help=ID_HELP)
    export.add_argument(
        "--format", choices=tuple(FORMATS), default="", help="format; default: by the suffix of FILE, else md"
    )
    export.add_argument(
        "-o", "--output", default="", metavar="FILE", help="file, or folder/, to write; default: the standard output"
    )
    export.add_argument("--force", action="store_true", help="replace existing files")
    imported = verb("import", _import, "Import a session of Claude Code, Codex, swink-agent or cinch.")
    imported.add_argument("file", metavar="FILE", type=Path, help="session file, which is not changed")
    imported.add_argument("--format", choices=_IMPORTED, default="auto", help="format; default: detected")


def _export(arguments: Namespace, files: SessionFiles) -> int:
    session = load_session(files.find(arguments.id))
    output: str = arguments.output
    target = files.cwd / Path(output).expanduser()
    name = format_for(arguments.format, target if output else None)
    if not output:
        _print(session, name, files)
        return 0
    if output.endswith("/"):
        make_folder(target)
    for path in export_files(session, name, target, force=arguments.force):
        files.write(f"wrote {strip_escapes(str(path))}")
    return 0


def _print(session: LoadedSession, name: str, files: SessionFiles) -> None:
    try:
        for part in export_text(session, name):
            files.out.write(part)
    except OSError as error:
        if error.filename is None:  # the output, which its owner reports
            raise
        raise SessionError(f"{error.filename} cannot be read: {error.strerror}") from error
    subagents = len(list(session.path.with_suffix("").glob("subagents/agent-*")))
    if subagents and name in ("claude", "phi"):
        sys.stderr.write(f"not exported: {subagents} subagents; use -o FOLDER to export them\n")


def _import(arguments: Namespace, files: SessionFiles) -> int:
    from harness.session.formats.importing import import_session

    folder = project_dir(files.data_dir, files.cwd)
    made = import_session(files.cwd / arguments.file.expanduser(), folder, arguments.format, files.cwd)
    files.write(f"imported as {made.path.stem}; continue with: cinch --resume {made.path.stem}")
    if made.damaged:
        files.write(f"unreadable lines, skipped: {made.damaged}")
    for kind, count in made.left_out.items():
        files.write(f"not imported: {strip_escapes(kind)} ({count})")
    return 0
