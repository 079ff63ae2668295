"""`cinch doctor`: check configuration, connections and keys."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from cinch_tui import __version__
from cinch_tui.cli.start import config_sources
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.doctor.checks import CheckRequest, run_checks, setup_for
from cinch_tui.doctor.findings import Finding, lines
from cinch_tui.print_mode.output import Output
from harness.errors import ConfigError

USAGE = "cinch doctor [--offline] [--json] [PROVIDER | PROVIDER/MODEL …]"
EPILOG = """\
Without names: check this machine and every configured service.
With names: check these services, configured or not. The check sends a small
request to the chosen model, or else to a default model of the service.

exit status: 0 no problems · 1 problems found · 2 usage error · 130 interrupted
"""


class _DoctorParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; usage: {USAGE}")


def run(argv: Sequence[str], cwd: Path, out: Output) -> int:
    """Print the findings; the status is 1 if something that is configured does not work.

    Raises:
        ConfigError: the arguments are invalid, or a name is not that of a provider.
        SystemExit: help was requested and has been printed.
    """
    arguments = _parser().parse_args(list(argv))
    found: list[Finding] = []

    def report(finding: Finding) -> None:
        found.append(finding)
        if not arguments.json:
            out.write_text("\n".join(lines(finding)))

    # Not closed after an interrupt: closing would wait for name servers and keyrings that do not answer.
    runner = asyncio.Runner()
    request = CheckRequest(arguments.names, arguments.offline)
    paths = find_paths(os.environ)
    options = Options(cwd, paths, os.environ, config_sources(paths, cwd))
    runner.run(run_checks(request, setup_for(options), report))
    runner.close()
    if arguments.json:
        out.write_json({"version": __version__, "findings": [finding.as_json() for finding in found]})
    return 1 if any(finding.level == "bad" for finding in found) else 0


def _parser() -> _DoctorParser:
    parser = _DoctorParser(
        prog="cinch doctor",
        usage=USAGE,
        description="Check configuration, connections and keys.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="PROVIDER", help="provider, or a model as PROVIDER/MODEL")
    add("--offline", action="store_true", help="send no requests: check this machine and the configuration")
    add("--json", action="store_true", help="print one JSON object")
    return parser
