"""`cinch doctor`: looks at this machine, asks every service that is set up, and says what to do."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from cinch_tui import __version__
from cinch_tui.config.paths import find_paths
from cinch_tui.doctor.checks import CheckRequest, run_checks, setup_for
from cinch_tui.doctor.findings import Finding, lines
from cinch_tui.print_mode.output import Output
from harness.errors import ConfigError

USAGE = "cinch doctor [--offline] [--json] [PROVIDER | PROVIDER/MODEL …]"
EPILOG = """\
Without a name: this machine, and every service that is set up.
With names: these services, set up or not. A service is asked for one word,
of the model that is chosen or else of a usual one.

exit status: 0 all is well · 1 something is bad · 2 usage · 130 interrupted
"""


class Asked(argparse.Namespace):
    """What the command line says."""

    names: list[str]
    offline: bool
    json: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; usage: {USAGE}")


def run_doctor(argv: Sequence[str], *, cwd: Path, out: Output) -> int:
    """Tell what was found; the status is 1 when something that is set up does not work.

    Raises:
        ConfigError: the arguments make no sense, or a name is no provider's.
        SystemExit: help was asked for, and printed.
    """
    asked = _parser().parse_args(list(argv), namespace=Asked())
    found: list[Finding] = []

    def tell(finding: Finding) -> None:
        found.append(finding)
        if not asked.json:
            out.write_text("\n".join(lines(finding)))

    # Left open where a person interrupts it: closing it waits for name servers and keyrings that do not answer.
    runner = asyncio.Runner()
    runner.run(run_checks(CheckRequest(asked.names, asked.offline), setup_for(find_paths(os.environ), cwd), tell))
    runner.close()
    if asked.json:
        out.write_json({"version": __version__, "findings": [finding.as_json() for finding in found]})
    return 1 if any(finding.level == "bad" for finding in found) else 0


def _parser() -> _Parser:
    parser = _Parser(
        prog="cinch doctor",
        usage=USAGE,
        description="Says what keeps cinch from working, and how to mend it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="PROVIDER", help="a service to ask, or a model of it as PROVIDER/MODEL")
    add("--offline", action="store_true", help="ask nobody: look at this machine and what is set up")
    add("--json", action="store_true", help="one JSON object, for scripts and reports")
    return parser
