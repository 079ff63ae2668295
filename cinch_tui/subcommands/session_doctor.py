"""`cinch sessions doctor`: check session files and repair them."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from cinch_tui.subcommands.session_edits import ID_HELP, AddVerb, SessionFiles
from harness.errors import SessionError
from harness.session.doctor import Examination, examine, repair
from harness.session.paths import find_files
from harness.terminal_text import strip_escapes


class SessionReport(Struct):
    """Result of the check of one session, as `--json` prints it."""

    id: str
    """Id of the session; empty for a folder or file that cannot be read, which `error` names."""
    path: str
    """Its file."""
    lines: int = 0
    """Number of lines."""
    messages: int = 0
    """Number of messages."""
    findings: list[str] = []
    """Problems and remarks, of its subagents too."""
    repaired: list[str] = []
    """Repairs that were made."""
    healthy: bool = False
    """True if no problem is left."""
    error: str = ""
    """Error that prevented the check."""


def add_doctor_command(verb: AddVerb) -> None:
    """Add the command to the parser."""
    doctor = verb("doctor", _doctor, "Check a session, or all of this folder. Exit status 1: problems are left.")
    doctor.add_argument("id", metavar="ID", nargs="?", help=f"{ID_HELP}; by default, all of this folder")
    doctor.add_argument("--all", action="store_true", help="check the sessions of all folders")
    doctor.add_argument("--repair", action="store_true", help="append missing records to the file")
    doctor.add_argument("--json", action="store_true", help="print a JSON array")


def _doctor(arguments: Namespace, files: SessionFiles) -> int:
    cwd = None if arguments.all else files.cwd
    unread: list[str] = []
    found = [] if arguments.id else find_files(files.data_dir, cwd, unread.append)
    paths = [files.find(arguments.id)] if arguments.id else sorted(Path(file.path) for file in found)
    reports = [_check(path, repairs=arguments.repair) for path in paths]
    reports += [SessionReport("", "", error=problem) for problem in unread]
    if arguments.json:
        files.write(json.dumps(list(map(asdict, reports)), indent=2))
    else:
        for report in reports:
            files.write("\n".join(_text_of(report)))
        damaged = sum(not report.healthy for report in reports)
        files.write(f"sessions checked: {len(reports) - len(unread)}, with problems: {damaged}")
    return 0 if all(report.healthy for report in reports) else 1


def _check(path: Path, *, repairs: bool) -> SessionReport:
    report = SessionReport(path.stem, str(path))
    try:
        found = examine(path)
        report.lines, report.messages = found.lines, found.messages
        report.findings, report.healthy = _all_findings(found), found.healthy
        if repairs:
            report.repaired = repair(found)
            report.healthy = examine(path).healthy if report.repaired else found.healthy
    except SessionError as error:
        report.error = str(error)
    return report


def _text_of(report: SessionReport) -> list[str]:
    if report.error:
        return [strip_escapes(f"{report.id}: {report.error}" if report.id else report.error)]
    is_clean = not report.findings and report.healthy
    head = f"{report.id}: {report.lines} lines, {report.messages} messages" + (", no problems" if is_clean else "")
    return [
        head,
        *(f"  {strip_escapes(finding)}" for finding in report.findings),
        *(f"  repaired: {done}" for done in report.repaired),
    ]


def _all_findings(found: Examination) -> list[str]:
    nested = [f"{each.path.stem}: {text}" for each in found.subagents for text in _findings(each)]
    return [*_findings(found), *nested]


def _findings(found: Examination) -> list[str]:
    """Describe each problem and its effect."""
    unanswered, counts = len(found.unanswered), sorted(found.strange.items())
    strange = ", ".join(f"{kind or 'no type'} ({count})" for kind, count in counts)
    described = (
        (found.torn, "the last line is incomplete (a crash while writing); it is ignored"),
        (found.garbage, f"unreadable lines, skipped {_numbers(found.garbage)}"),
        (found.cut, f"incomplete lines that a crash left, skipped {_numbers(found.cut)}"),
        (found.gaps, f"lines missing before lines {_numbers(found.gaps)}; the conversation continues there"),
        (found.joined, f"several records on one line {_numbers(found.joined)}; other programs cannot read them"),
        (unanswered, f"tool calls without a result ({unanswered}); cinch adds one, other programs drop the messages"),
        (found.repeated, f"second results of tool calls ({len(found.repeated)}); services reject them"),
        (found.duplicates, f"repeated lines ({found.duplicates}), read once"),
        (strange, f"lines of other programs, kept but ignored: {strange}"),
    )
    return [text for is_found, text in described if is_found]


def _numbers(lines: Sequence[int]) -> str:
    return f"({len(lines)}): {', '.join(map(str, lines[:10]))}{', …' if len(lines) > 10 else ''}"
