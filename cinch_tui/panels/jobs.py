"""Panel of background jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.keybindings.keymap import hint
from cinch_tui.panels.panel import StaticPanel
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.widgets.item_list import ItemRow
from cinch_tui.widgets.status_bar import format_elapsed
from harness.events import Event, JobEnded, JobStarted

if TYPE_CHECKING:
    from cinch_tui.panels.panel import Panel, PanelContext
    from harness.jobs import Job

TITLE_CHARS = 30
"""Length of a command beside its last line of output."""

_MARKS = {"running": "●", "ended": "✓", "killed": "■", "failed": "✗"}


class JobsPanel(StaticPanel):
    empty = "No command has gone on in the background."

    def __init__(self, context: PanelContext) -> None:
        self._context = context

    @property
    def hint(self) -> str:
        return hint("panel.open output", "panel.stop kills")

    @property
    def is_live(self) -> bool:
        return bool(self._context.agent.jobs.running)

    def affected_by(self, event: Event) -> bool:
        return isinstance(event, JobStarted | JobEnded)

    async def rows(self) -> Sequence[ItemRow]:
        return [_row(job) for job in self._context.agent.jobs.all[::-1]]

    async def open(self, key: str) -> None:
        from cinch_tui.screens.reader import Reader

        job = self._context.agent.jobs.find(key)
        if job is None:
            return

        def text() -> str:
            return f"{job.id}: {job.status_text}\n\n{job.spec.output.full_text()}"

        await self._context.open_screen(Reader(one_line(job.spec.title), text))

    async def stop(self, key: str) -> None:
        self._context.agent.jobs.kill(key)


def _row(job: Job) -> ItemRow:
    mark = "✗" if job.exit_code else _MARKS[job.state]
    last = one_line(job.spec.output.latest(400).rstrip().rpartition("\n")[2])
    title = one_line(job.spec.title)
    if last and len(title) > TITLE_CHARS:
        title = f"{title[:TITLE_CHARS]}…"
    label = f"{mark} {job.id} {title}"
    fate = "" if job.state == "running" else f"exit {job.exit_code} " if job.state == "ended" else f"{job.state} "
    return ItemRow(f"{label} · {last}" if last else label, f"{fate}{format_elapsed(job.seconds)}", key=job.id)


if TYPE_CHECKING:
    _: type[Panel] = JobsPanel
