"""Environments for `cinch doctor`: services, and the proxies in front of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.cli.start import config_sources
from cinch_tui.config.layers import load_config
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.doctor.checks import CheckRequest, Setup, run_checks
from cinch_tui.doctor.findings import Finding, lines
from cinch_tui.doctor.service import Timeouts
from cinch_tui.models.connecting import ModelChoice

PATIENT = Timeouts(answer=60, local=60, step=20)
HURRIED = Timeouts(answer=0.3, local=0.3, step=0.3)


def options_in(folder: Path) -> Options:
    """Return the options of a start in a folder."""
    paths = find_paths(os.environ)
    return Options(folder, paths, os.environ, config_sources(paths, folder))


async def examined(
    *names: str, chosen: Sequence[ModelChoice] = (), is_offline: bool = False, patience: Timeouts = PATIENT
) -> list[Finding]:
    """Return the findings of the doctor, of the named services only if any."""
    options = options_in(Path.cwd())
    found: list[Finding] = []
    setup = Setup(KeyStore(options.paths, os.environ), load_config(options.sources), chosen, options)
    await run_checks(CheckRequest(names, is_offline, patience), setup, found.append)
    return found


def report(findings: Sequence[Finding]) -> list[str]:
    """Return each finding as displayed, without line breaks."""
    return [" ".join(" ".join(lines(finding)).split()) for finding in findings]
