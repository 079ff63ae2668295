"""Which earlier session to go on with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.screens.picker import Item, Picker

if TYPE_CHECKING:
    from textual.app import App

    from harness.session.listing import SessionSummary

MINUTE, HOUR, DAY = 60, 3_600, 86_400


async def pick_session(app: App[object], data_dir: Path, cwd: Path) -> str | None:
    """Ask, in a worker, for one of this folder's sessions; its id, or None when the person does not want any."""
    from harness.session.listing import list_sessions

    summaries = await asyncio.to_thread(list_sessions, data_dir, cwd)
    return await app.push_screen_wait(SessionPicker(summaries, now=time.time()))


class SessionPicker(Picker[str]):
    """Newest first, as they are given; what a session is called on the left, when it was used last on the right."""

    def __init__(self, summaries: Sequence[SessionSummary], *, now: float) -> None:
        super().__init__("Which session?", [_item(summary, now) for summary in summaries])


def ago(moment: float, now: float) -> str:
    """How long ago something was, as people say it; a date when that is more than a week."""
    seconds = max(0.0, now - moment)
    if seconds < MINUTE:
        return "just now"
    if seconds < HOUR:
        return _counted(seconds / MINUTE, "minute")
    if seconds < DAY:
        return _counted(seconds / HOUR, "hour")
    if seconds < 7 * DAY:
        return _counted(seconds / DAY, "day")
    return datetime.fromtimestamp(moment).strftime("%Y-%m-%d")


def _counted(number: float, unit: str) -> str:
    whole = int(number)
    return f"{whole} {unit}{'' if whole == 1 else 's'} ago"


def _item(summary: SessionSummary, now: float) -> Item[str]:
    named = summary.first_prompt and summary.title != summary.first_prompt
    label = f"{summary.title} · {summary.first_prompt}" if named else summary.title
    details = [ago(summary.updated, now), summary.branch, "open elsewhere" if summary.locked else ""]
    return Item(label, " · ".join(filter(None, details)), summary.id)
