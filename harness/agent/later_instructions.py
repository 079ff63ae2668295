"""Instruction files that apply to the files which tool calls have used, as reminders."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.agent.run_state import Run
from harness.events import Notice
from harness.instructions.changes import later_instructions
from harness.messages import synthetic
from harness.risk import PathAccess, Risk

logger = logging.getLogger(__name__)


async def add_instructions(run: Run, risks: Iterable[Risk]) -> None:
    """Queue the instruction files that apply to what calls have used, unless the model knows them.

    Args:
        run: The run.
        risks: Risk assessments of calls that succeeded.
    """
    source = run.options.get_instructions
    paths = _used(run.workspace.root, risks) if source else ()
    if source is None or not paths:
        return
    try:
        loaded = await source(paths)
    except Exception:  # user-supplied; may raise
        logger.exception("the instructions for %d paths could not be loaded", len(paths))
        return
    for problem in loaded.problems:
        run.bus.publish(Notice(text=problem, level="warning"))
    if loaded.instructions:
        # A reminder that was summarized is needed again.
        messages = run.state.context.overlay.apply(run.history.messages)
        names = [run.workspace.display(path) for path in paths]
        text = later_instructions(loaded, names, run.state.system_prompt, messages)
        if text:
            run.inbox.reminders.put(synthetic(text))


def _used(root: Path, risks: Iterable[Risk]) -> Sequence[Path]:
    """Return the files that were read or changed, and the files and folders that were searched, with links resolved."""
    accesses = [each for risk in risks for each in (*map(PathAccess, risk.paths), *risk.accesses)]
    names = (
        os.path.join(each.cwd, os.path.expanduser(each.path))  # noqa: PTH111, PTH118  pathlib raises without a home folder
        for each in accesses
        if each.kind != "list" and not each.is_pattern
    )
    return list(dict.fromkeys(Path(os.path.realpath(root / name)) for name in names))
