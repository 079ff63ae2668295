"""`cinch sessions …`: commands that change a session: rename, tag, fork, delete and restore."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from cinch_tui.reports.session_export import local_time
from harness.errors import ConfigError
from harness.messages import new_id
from harness.session.fork import fork_session
from harness.session.index import find_session
from harness.session.labels import parse_tags, rename_session, tag_session
from harness.session.references import message_at
from harness.session.resume import load_session
from harness.session.summary import summarize
from harness.session.trash import empty_trash, find_trashed, restore_session, trash_session, trashed_sessions
from harness.terminal_text import strip_escapes


class SessionFiles(Struct, frozen=True):
    """Folders of the sessions, and the output."""

    data_dir: Path
    cwd: Path
    out: TextIO

    def write(self, text: str) -> None:
        self.out.write(f"{text}\n")

    def find(self, which: str) -> Path:
        return find_session(self.data_dir, self.cwd, which)


AddVerb = Callable[[str, Callable[[Namespace, SessionFiles], int], str], argparse.ArgumentParser]
ID_HELP = "session id, a prefix of it, or latest"


def add_edit_commands(verb: AddVerb) -> None:
    """Add the commands to the parser, each with `verb(name, command, help)`."""
    rename = verb("rename", _rename, "Set the title of a session.")
    rename.add_argument("id", metavar="ID", help=ID_HELP)
    rename.add_argument("title", metavar="TITLE", nargs="+", help="new title; quotes are not needed")
    tag = verb("tag", _tag, "Add tags to a session, or print its tags.")
    tag.add_argument("id", metavar="ID", help=ID_HELP)
    tag.add_argument("tags", nargs="*", metavar="TAG", help="tags to add; without any, the tags are printed")
    tag.add_argument("--remove", action="append", default=[], metavar="TAG", help="remove a tag; repeatable")
    fork = verb("fork", _fork, "Copy a session, or its beginning, to a new one.")
    fork.add_argument("id", metavar="ID[@N]", help=f"{ID_HELP}; @N: copy up to message N, by number or id")
    remove = verb("rm", _remove, "Move sessions to the trash.")
    remove.add_argument("ids", nargs="+", metavar="ID", help=ID_HELP)
    remove.add_argument("--yes", action="store_true", help=argparse.SUPPRESS)
    restore = verb("restore", _restore, "Restore a session from the trash.")
    restore.add_argument("id", metavar="ID", help="session id, a prefix of it, or latest: the one deleted last")
    trash = verb("trash", _trash, "List the sessions in the trash.")
    trash.add_argument("--empty", action="store_true", help="delete them permanently; this cannot be undone")
    trash.add_argument("--yes", action="store_true", help="confirm --empty")


def _rename(arguments: Namespace, files: SessionFiles) -> int:
    path = files.find(arguments.id)
    title = rename_session(path, " ".join(arguments.title))
    files.write(f"{path.stem[:8]} was renamed to {strip_escapes(title)}")
    return 0


def _tag(arguments: Namespace, files: SessionFiles) -> int:
    path = files.find(arguments.id)
    tags = tag_session(path, add=parse_tags(" ".join(arguments.tags)), remove=parse_tags(" ".join(arguments.remove)))
    files.write(f"{path.stem[:8]} {strip_escapes(' '.join(f'#{tag}' for tag in tags)) or 'has no tags'}")
    return 0


def _fork(arguments: Namespace, files: SessionFiles) -> int:
    which, _, place = arguments.id.partition("@")
    path = files.find(which)
    made = fork_session(path, new_id(), at=message_at(load_session(path), place) if place else "")
    files.write(f"forked as {made.stem}; continue with: cinch --resume {made.stem}")
    return 0


def _remove(arguments: Namespace, files: SessionFiles) -> int:
    for path in dict.fromkeys(map(files.find, arguments.ids)):
        trash_session(files.data_dir, path)
        files.write(f"moved {path.stem} to the trash; to undo: cinch sessions restore {path.stem[:8]}")
    return 0


def _restore(arguments: Namespace, files: SessionFiles) -> int:
    restored = restore_session(find_trashed(files.data_dir, arguments.id))
    files.write(f"restored {restored.stem}; continue with: cinch --resume {restored.stem}")
    return 0


def _trash(arguments: Namespace, files: SessionFiles) -> int:
    found = trashed_sessions(files.data_dir)
    if arguments.empty:
        if not found:
            files.write("the trash is empty")
            return 0
        if not arguments.yes:
            raise ConfigError(f"this deletes {_count(len(found))} permanently; add --yes to confirm")
        files.write(f"deleted {_count(empty_trash(files.data_dir))} permanently")
        return 0
    for session in found:
        summary = summarize(session.path)
        title = " ".join(strip_escapes(summary.title).split())[:70] if summary else ""
        files.write(f"{session.id[:8]}  {local_time(session.deleted)}  {title}")
    if not found:
        files.write("the trash is empty")
    return 0


def _count(number: int) -> str:
    return f"{number} session{'' if number == 1 else 's'}"
