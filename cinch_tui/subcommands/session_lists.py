"""`cinch sessions list` and `cinch sessions search`."""

from __future__ import annotations

import json
import shutil
import sys
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from msgspec.structs import asdict
from rich.cells import cell_len, set_cell_size

from cinch_tui.reports.formatting import ago, format_cost, format_size
from cinch_tui.reports.session_export import local_time
from cinch_tui.subcommands.session_edits import AddVerb, SessionFiles
from harness.session.index import list_sessions
from harness.session.search import SearchHit, SearchQuery, search_sessions
from harness.session.search_index import update_index
from harness.session.summary import SessionSummary
from harness.terminal_text import strip_escapes

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MODEL_CELLS = 24
_FOLDER_CELLS = 28
_LEAST_TITLE_CELLS = 20
_COUNTING_S = 0.25
_QUIET_S = 0.5


def add_list_commands(verb: AddVerb) -> None:
    """Add the commands to the parser, each with `verb(name, command, help)`."""
    listed = verb("list", _list, "List sessions, newest first.")
    listed.add_argument("--all", action="store_true", help="list the sessions of all folders")
    listed.add_argument("--json", action="store_true", help="print a JSON array with all fields")
    search = verb("search", _search, "Search the text of sessions; the best matches first.")
    search.add_argument(
        "text", metavar="TEXT", nargs="+", help="words that a message contains, or a phrase: '\"exact words\"'"
    )
    search.add_argument("--all", action="store_true", help="search the sessions of all folders")
    when = "DATE (2026-11-03) or age (3d, 12h, 2w)"
    search.add_argument(
        "--since", type=partial(_moment, is_end=False), metavar="DATE", default=0.0, help=f"from: {when}"
    )
    search.add_argument(
        "--until", type=partial(_moment, is_end=True), metavar="DATE", default=0.0, help=f"up to: {when}"
    )
    search.add_argument("--model", default="", help="only sessions with this model; part of its name is enough")
    search.add_argument("--tool", default="", help="only calls and results of this tool")
    search.add_argument(
        "--file", default="", help="only sessions whose tools used this file; the end of its path is enough"
    )
    search.add_argument("--limit", type=_count, default=20, metavar="N", help="number of matches (default: 20)")
    search.add_argument("--json", action="store_true", help="print a JSON array")


def _moment(text: str, *, is_end: bool) -> float:
    """Return a date or an age as seconds since the epoch; for an end, the end of the day."""
    if text[:-1].isdecimal() and text[-1:] in _UNITS:
        with suppress(OverflowError):
            return time.time() - timedelta(**{_UNITS[text[-1]]: int(text[:-1])}).total_seconds()
    try:
        moment = datetime.fromisoformat(text)
        day = timedelta(days=1) if is_end and len(text) == len("2026-11-03") else timedelta()
        return (moment + day).timestamp()
    except (ValueError, OverflowError) as error:
        raise ArgumentTypeError(f"{text!r} is neither a date such as 2026-11-03 nor an age such as 3d") from error


def _count(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a positive number")


# List


def _list(arguments: Namespace, files: SessionFiles) -> int:
    cwd = None if arguments.all else files.cwd
    problems: list[str] = []
    found = list_sessions(files.data_dir, cwd, on_problem=problems.append)
    if any(each.messages is None for each in found):
        # Numbers of messages and costs of long sessions come from the index.
        deadline = time.monotonic() + _COUNTING_S
        with suppress(OSError):
            update_index(files.data_dir, lambda: time.monotonic() > deadline)
        found = list_sessions(files.data_dir, cwd)
    if arguments.json:
        files.write(json.dumps([asdict(each) | {"path": str(each.path)} for each in found], indent=2))
    elif found:
        for row in _rows(found, _width(files), with_folder=arguments.all):
            files.write(row)
    elif not problems:
        files.write(
            "no sessions" if arguments.all else f"no sessions in {cwd}; --all lists the sessions of all folders"
        )
    for problem in problems:
        sys.stderr.write(f"cinch sessions: {strip_escapes(problem)}\n")
    return 1 if problems else 0


def _width(files: SessionFiles) -> int:
    """Return the width of the terminal; 0 for unlimited output to a file or pipe."""
    return shutil.get_terminal_size().columns if files.out.isatty() else 0


def _rows(found: Sequence[SessionSummary], width: int, *, with_folder: bool) -> Iterator[str]:
    """Yield a header and a row for each session, cut to `width` cells unless it is 0."""
    now = time.time()
    cells = [("ID", "LAST USED", "SIZE", "MODEL", "COST", "FOLDER", "TITLE · LAST PROMPT")]
    cells += [_cells(each, now, is_short=bool(width)) for each in found]
    kept = [column for column in range(6) if with_folder or column != 5]
    widths = {column: max(cell_len(row[column]) for row in cells) for column in kept}
    # A narrow terminal shows fewer columns, the least important dropped first.
    for column in (5, 3, 2, 4):
        if width and sum(widths.values()) + 2 * len(widths) + _LEAST_TITLE_CELLS > width:
            widths.pop(column, None)
    for row in cells:
        start = "  ".join(set_cell_size(row[column], size) for column, size in widths.items())
        yield _cut(f"{start}  {row[6]}", width).rstrip()


def _cells(summary: SessionSummary, now: float, *, is_short: bool) -> tuple[str, ...]:
    title, prompt = _line(summary.title), _line(summary.last_prompt)
    parts = [
        title,
        prompt if prompt not in (title, _line(summary.first_prompt)) else "",
        *(f"#{tag}" for tag in summary.tags),
    ]
    return (
        summary.id[:8],
        ago(summary.updated, now),
        format_size(summary.size),
        _cut(_line(summary.model), _MODEL_CELLS if is_short else 0),
        "" if summary.cost is None else format_cost(summary.cost),
        _cut_start(_line(summary.cwd), _FOLDER_CELLS if is_short else 0),
        " · ".join(filter(None, [*(["(in use)"] if summary.locked else []), *map(_line, parts)])),
    )


def _line(text: str) -> str:
    return " ".join(strip_escapes(text).split())


def _cut(text: str, cells: int) -> str:
    return text if not cells or cell_len(text) <= cells else f"{set_cell_size(text, cells - 1)}…"


def _cut_start(text: str, cells: int) -> str:
    return text if not cells or len(text) <= cells else f"…{text[1 - cells :]}"


# Search


def _search(arguments: Namespace, files: SessionFiles) -> int:
    with suppress(OSError):
        # Without an index, the search reads the files.
        update_index(files.data_dir, on_progress=_progress())
    cwd = None if arguments.all else files.cwd
    query = SearchQuery(
        " ".join(arguments.text),
        cwd,
        arguments.since,
        arguments.until,
        arguments.model,
        arguments.tool,
        _relative(arguments.file, files.cwd),
    )
    hits = search_sessions(files.data_dir, query, arguments.limit)
    if arguments.json:
        files.write(
            json.dumps([asdict(hit) | {"path": str(hit.path), "resume": _resume(hit)} for hit in hits], indent=2)
        )
        return 0 if hits else 1
    titles = {each.path: each.title for each in list_sessions(files.data_dir, cwd)} if hits else {}
    for hit in hits:
        for line in _hit_lines(hit, titles.get(hit.path, ""), _width(files)):
            files.write(line)
    if not hits:
        text = strip_escapes(query.text)
        files.write(
            f"no matches for {text!r}" + ("" if arguments.all else " in this folder; --all searches all folders")
        )
    return 0 if hits else 1


def _progress() -> Callable[[int, int], None]:
    """Return a function that reports the progress of a long update on a terminal."""
    started = time.monotonic()

    def report(done: int, total: int) -> None:
        if time.monotonic() - started > _QUIET_S and sys.stderr.isatty():
            end = "\r\x1b[K" if done >= total else ""
            sys.stderr.write(f"\rIndexing sessions: {format_size(done)} of {format_size(total)}\x1b[K{end}")
            sys.stderr.flush()

    return report


def _relative(file: str, cwd: Path) -> str:
    """Return a path as tools name it: relative to the folder if it is inside."""
    path = Path(file)
    return str(path.relative_to(cwd)) if file and path.is_relative_to(cwd) else str(path) if file else ""


def _resume(hit: SearchHit) -> str:
    return f"cinch --resume {hit.session_id}@{hit.message_id}"


def _hit_lines(hit: SearchHit, title: str, width: int) -> Iterator[str]:
    yield _cut(f"{local_time(hit.time)}  {hit.role}  {_line(title)}", width)
    yield _cut(f"  {_line(hit.snippet)}", 2 * width)
    yield f"  {_resume(hit)}"
