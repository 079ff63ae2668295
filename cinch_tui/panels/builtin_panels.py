"""The panels next to the conversation: changed files, background jobs, subagents and cinch's own log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from cinch_tui.changes import FileChange, SessionChanges
from cinch_tui.cli.log import recent_records
from cinch_tui.panels.panel import Panel, PanelContext
from cinch_tui.panels.subagents import Subagent
from cinch_tui.rendering.diff import diff_stat
from cinch_tui.rendering.safe_text import one_line, plain_output
from cinch_tui.widgets.item_list import ItemRow
from cinch_tui.widgets.status_bar import format_count, format_elapsed
from harness.agent.guardrails import without_secrets
from harness.events import (
    AgentEnd,
    Event,
    JobEnded,
    JobInputRequested,
    JobStarted,
    MessageUpdate,
    SubagentEvent,
    ToolExecutionEnd,
)
from harness.jobs import Job
from harness.publishing import innermost

LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
TITLE_CHARS = 30
"""Length of a command beside its last line of output."""

_MARKS = {"running": "●", "ended": "✓", "done": "✓", "failed": "✗", "killed": "■", "stopped": "■"}


class ChangesPanel(Panel):
    empty = "No files changed in this session."
    keys = ("panel.open the diff",)

    def affected_by(self, event: Event) -> bool:
        return isinstance(innermost(event), ToolExecutionEnd | AgentEnd)

    async def rows(self) -> Sequence[ItemRow]:
        changes = self._changes
        return await asyncio.to_thread(lambda: [_change_row(each) for each in changes.changes("session")])

    async def open(self, key: str) -> None:
        from cinch_tui.screens.changes import ChangesScreen

        await self._context.open_screen(ChangesScreen(self._changes, "session", at=key))

    @property
    def _changes(self) -> SessionChanges:
        assembly = self._context.assembly
        return SessionChanges(assembly.originals, assembly.workspace, assembly.agent.add_reminder)


class JobsPanel(Panel):
    empty = "No background jobs in this session."
    keys = ("panel.open output and input", "panel.stop kills")

    @property
    def is_live(self) -> bool:
        return bool(self._context.agent.jobs.running)

    def affected_by(self, event: Event) -> bool:
        return isinstance(event, JobStarted | JobEnded | JobInputRequested)

    async def rows(self) -> Sequence[ItemRow]:
        return [_job_row(job) for job in self._context.agent.jobs.all[::-1]]

    async def open(self, key: str) -> None:
        job = self._context.agent.jobs.find(key)
        if job is None:
            return
        if job.spec.input is not None and job.state == "running":
            from cinch_tui.screens.job_terminal import JobTerminal

            await self._context.open_screen(JobTerminal(job, job.spec.input))
        else:
            output = job.spec.output
            await _read(self._context, job.spec.title, lambda: f"{job.id}: {job.status_text}\n\n{output.full_text()}")

    async def stop(self, key: str) -> None:
        self._context.agent.jobs.kill(key)


class AgentsPanel(Panel):
    empty = "No subagents in this session."
    keys = ("panel.open shows its activity", "panel.stop stops it")

    @property
    def is_live(self) -> bool:
        return any(agent.state == "running" for agent in self._context.subagents.newest_first)

    def affected_by(self, event: Event) -> bool:
        return isinstance(event, SubagentEvent) and not isinstance(innermost(event), MessageUpdate)

    async def rows(self) -> Sequence[ItemRow]:
        return [_agent_row(agent) for agent in self._context.subagents.newest_first]

    async def open(self, key: str) -> None:
        agent = self._context.subagents.find(key)
        if agent is not None:
            await _read(self._context, agent.name, lambda: agent.story)

    async def stop(self, key: str) -> None:
        agent = self._context.subagents.find(key)
        if agent is not None:
            self._context.agent.cancel_call(agent.call_id, agent.caller)


class LogsPanel(Panel):
    follows = True

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self._records = recent_records()
        self._shown: dict[str, logging.LogRecord] = {}
        self._show_from(logging.DEBUG)

    @property
    def is_live(self) -> bool:
        return True

    async def rows(self) -> Sequence[ItemRow]:
        # Records of the same moment differ in their id only, which stays unique while they are kept here.
        self._shown = {str(id(record)): record for record in self._records.records if record.levelno >= self._level}
        return [_record_row(key, record) for key, record in self._shown.items()]

    async def open(self, key: str) -> None:
        record = self._shown.get(key)
        if record is None:
            return
        trace = f"\n{logging.Formatter().formatException(record.exc_info)}" if record.exc_info else ""
        text = plain_output(without_secrets(f"{_message(record)}{trace}"))
        await _read(self._context, f"{_clock(record)} {record.levelname} {record.name}", lambda: text)

    def next_filter(self) -> None:
        self._show_from(LEVELS[(LEVELS.index(self._level) + 1) % len(LEVELS)])

    def _show_from(self, level: int) -> None:
        self._level = level
        name = logging.getLevelName(level).lower()
        self.empty = f"No log messages of level {name} or above since the start."
        self.keys = ("panel.open shows the whole message", f"panel.turn level: {name}")


PANEL_CLASSES: dict[str, Callable[[PanelContext], Panel]] = {
    "changes": ChangesPanel,
    "jobs": JobsPanel,
    "agents": AgentsPanel,
    "logs": LogsPanel,
}
"""Class of each panel of the table."""


async def _read(context: PanelContext, title: str, text: Callable[[], str]) -> None:
    from cinch_tui.screens.reader import Reader

    await context.open_screen(Reader(one_line(title), text))


def _change_row(change: FileChange) -> ItemRow:
    view = change.view
    counts = "+{} −{}".format(*diff_stat(view)) if view else change.kind
    return ItemRow(f"{change.status} {one_line(change.shown)}", counts, key=change.shown)


def _job_row(job: Job) -> ItemRow:
    mark = "✗" if job.exit_code else _MARKS[job.state]
    last = one_line(job.spec.output.latest(400).rstrip().rpartition("\n")[2])
    title = one_line(job.spec.title)
    if last and len(title) > TITLE_CHARS:
        title = f"{title[:TITLE_CHARS]}…"
    label = f"{mark} {job.id} {title}"
    result = "" if job.state == "running" else f"exit {job.exit_code} " if job.state == "ended" else f"{job.state} "
    if job.spec.input is not None and job.spec.input.hides_input:
        result = "needs your input "
    return ItemRow(f"{label} · {last}" if last else label, f"{result}{format_elapsed(job.seconds)}", key=job.id)


def _agent_row(agent: Subagent) -> ItemRow:
    now = f" · {one_line(agent.doing)}" if agent.doing and agent.state == "running" else ""
    label = f"{'  ' * agent.depth}{_MARKS[agent.state]} {one_line(agent.name)}{now}"
    turns = f"{agent.turns} turn{'' if agent.turns == 1 else 's'}"
    detail = f"{turns} · {format_count(agent.tokens)} · {format_elapsed(agent.seconds)}"
    return ItemRow(label, detail, key=agent.session_id)


def _record_row(key: str, record: logging.LogRecord) -> ItemRow:
    text = one_line(without_secrets(_message(record)))
    return ItemRow(f"{_clock(record)} {record.levelname[0]} {text}", record.name.rpartition(".")[2], key=key)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):
        # The arguments do not match the format string.
        return str(record.msg)


def _clock(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
