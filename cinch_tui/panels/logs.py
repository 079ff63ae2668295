"""Panel of cinch's own log."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from cinch_tui.cli.log import RecentRecords, recent_records
from cinch_tui.keybindings.keymap import hint
from cinch_tui.panels.panel import StaticPanel
from cinch_tui.rendering.safe_text import one_line, plain_output
from cinch_tui.widgets.item_list import ItemRow
from harness.agent.guardrails import without_secrets
from harness.events import Event

if TYPE_CHECKING:
    from cinch_tui.panels.panel import Panel, PanelContext

LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)


class LogsPanel(StaticPanel):
    def __init__(self, context: PanelContext) -> None:
        self._context = context
        self._kept: RecentRecords = recent_records()
        self._level = logging.DEBUG
        self._shown: dict[str, logging.LogRecord] = {}

    @property
    def empty(self) -> str:
        return f"Nothing of level {self._name} has been noted since the start."

    @property
    def hint(self) -> str:
        return hint("panel.open all of it", f"panel.turn from {self._name} up")

    @property
    def is_live(self) -> bool:
        return True

    @property
    def follows(self) -> bool:
        return True

    def affected_by(self, event: Event) -> bool:
        del event
        return False

    async def rows(self) -> Sequence[ItemRow]:
        # Records of the same moment differ in their id only, which stays unique while they are kept here.
        self._shown = {str(id(record)): record for record in self._kept.records if record.levelno >= self._level}
        return [_row(key, record) for key, record in self._shown.items()]

    async def open(self, key: str) -> None:
        from cinch_tui.screens.reader import Reader

        record = self._shown.get(key)
        if record is None:
            return
        trace = f"\n{logging.Formatter().formatException(record.exc_info)}" if record.exc_info else ""
        text = plain_output(without_secrets(f"{_message(record)}{trace}"))
        heading = f"{_clock(record)} {record.levelname} {record.name}"
        await self._context.open_screen(Reader(one_line(heading), lambda: text))

    def next_filter(self) -> None:
        self._level = LEVELS[(LEVELS.index(self._level) + 1) % len(LEVELS)]

    @property
    def _name(self) -> str:
        return logging.getLevelName(self._level).lower()


def _row(key: str, record: logging.LogRecord) -> ItemRow:
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


if TYPE_CHECKING:
    _: type[Panel] = LogsPanel
