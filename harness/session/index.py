"""Index of the sessions on disk: list them, and find one by its id."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

from msgspec.structs import replace

from harness.errors import NoSessionYet, SessionMissing
from harness.session.journal import is_locked
from harness.session.paths import checked_id, find_files, project_dir
from harness.session.summary import SessionSummary, last_message_time, shortened
from harness.session.summary_cache import SummaryCache

_NEAR = 0.75


def list_sessions(
    data_dir: Path,
    cwd: Path | None,
    *,
    limit: int | None = None,
    on_problem: Callable[[str], None] = lambda _: None,
) -> list[SessionSummary]:
    """List the sessions of a folder, or of all folders if `cwd` is None, the one with the newest message first.

    Args:
        data_dir: Folder of all sessions.
        cwd: Folder in which the sessions were started.
        limit: Number of sessions, those whose files changed last; None: all.
        on_problem: Receives a message for each folder and file that cannot be read.
    """
    files = sorted(find_files(data_dir, cwd, on_problem), key=attrgetter("modified"), reverse=True)[:limit]
    if not files:
        return []
    cache = SummaryCache(data_dir, files, on_problem)
    found: list[SessionSummary] = []
    for file in files:
        if summary := cache.summary(file):
            found.append(replace(summary, locked=is_locked(summary.path)) if file.has_lock else summary)
    cache.save()
    return sorted(found, key=attrgetter("updated"), reverse=True)


def find_session(data_dir: Path, cwd: Path, which: str) -> Path:
    """Find a session by its id, a prefix of its id, or `latest`; sessions of `cwd` take precedence.

    Raises:
        NoSessionYet: `latest` was requested and the folder has no session.
        SessionMissing: No session has this id, several start with it, or the folder cannot be read.
    """
    _check_readable(project_dir(data_dir, cwd))
    if which == "latest":
        return _latest(data_dir, cwd)
    wanted = checked_id(which).lower()
    for scope in (cwd, None):
        paths = [Path(file.path) for file in find_files(data_dir, scope)]
        matching = [path for path in paths if path.stem.lower().startswith(wanted)]
        exact = [path for path in matching if path.stem.lower() == wanted]
        if len(exact or matching) == 1:
            return (exact or matching)[0]
        if matching:
            found = ", ".join(path.stem for path in matching[:8])
            raise SessionMissing(f"several sessions start with {which}: {found}")
    raise SessionMissing(f"session {which} not found{_nearest(data_dir, cwd, wanted)}")


def _latest(data_dir: Path, cwd: Path) -> Path:
    """Return the session with the newest message; a title that was set later does not count."""
    latest, newest = None, 0.0
    for file in sorted(find_files(data_dir, cwd), key=attrgetter("modified"), reverse=True):
        if file.modified / 1e9 < newest:
            # A message is never newer than its file.
            break
        time = last_message_time(Path(file.path))
        if time > newest:
            latest, newest = Path(file.path), time
    if latest is None:
        raise NoSessionYet(f"no sessions in {cwd} yet")
    return latest


def _check_readable(folder: Path) -> None:
    try:
        next(folder.iterdir(), None)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise SessionMissing(f"cannot read the sessions in {folder}: {error.strerror}") from error


def _nearest(data_dir: Path, cwd: Path, wanted: str) -> str:
    """Suggest the session whose id differs least."""
    # Imported late: only a mistake needs it.
    from difflib import get_close_matches

    known = list_sessions(data_dir, cwd) or list_sessions(data_dir, None)
    if not known:
        return "; no sessions have been saved yet"
    prefixes = {each.id[: len(wanted)].lower(): each for each in known}
    near = get_close_matches(wanted, prefixes, n=1, cutoff=_NEAR)
    if not near:
        return "; run `cinch sessions list` to see those of this folder"
    found = prefixes[near[0]]
    return f"; did you mean {found.id} ({shortened(found.title, 60)})?"
