"""Session picker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.reports.formatting import ago, open_state
from cinch_tui.screens.picker import Item, Picker

if TYPE_CHECKING:
    from textual.app import App

    from harness.session.index import SessionSummary


async def pick_session(app: App[object], data_dir: Path, cwd: Path, current: str = "") -> str | None:
    """Let the user pick a session of this folder; return its id or None. Call it in a worker.

    Args:
        app: the app.
        data_dir: directory of all sessions.
        cwd: folder of the sessions.
        current: id of the open session.
    """
    from harness.session.index import list_sessions

    summaries = await asyncio.to_thread(list_sessions, data_dir, cwd)
    return await app.push_screen_wait(SessionPicker(summaries, now=time.time(), current=current))


class SessionPicker(Picker[str]):
    """Sessions in the given order: title on the left, last use on the right."""

    def __init__(self, summaries: Sequence[SessionSummary], *, now: float, current: str = "") -> None:
        super().__init__("Which session?", [_item(summary, now, current) for summary in summaries])


def _item(summary: SessionSummary, now: float, current: str) -> Item[str]:
    named = summary.first_prompt and summary.title != summary.first_prompt
    label = f"{summary.title} · {summary.first_prompt}" if named else summary.title
    details = [ago(summary.updated, now), summary.branch, open_state(summary, current)]
    return Item(label, " · ".join(filter(None, details)), summary.id)
