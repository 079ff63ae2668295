"""Findings of the checks as a block in the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from cinch_tui.config.paths import Paths
from cinch_tui.doctor.checks import CheckRequest, run_checks, setup_for
from cinch_tui.doctor.findings import Finding, lines
from cinch_tui.models.last_choice import ModelChoice

WIDTH = 74
"""Fits into 80 columns together with the margin of a block."""


async def report_block(names: Sequence[str], paths: Paths, cwd: Path, in_use: ModelChoice) -> str:
    """Check everything, or the named services, and return the findings as Markdown.

    Raises:
        ConfigError: a name is not that of a provider.
    """
    found: list[Finding] = []
    setup = await asyncio.to_thread(setup_for, paths, cwd, in_use)
    await run_checks(CheckRequest(names), setup, found.append)
    text = "\n".join(line for finding in found for line in lines(finding, WIDTH))
    # No line can close the block: each begins with a level or is indented.
    return f"```text\n{text}\n```"
