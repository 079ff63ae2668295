"""Replies of a resumed session that were written in plan mode."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.approval.policy import PLAN
from harness.messages import JsonObject
from harness.session.reading import text_at, time_of

PLANNED = "PLAN"
"""Tag of such a reply: the plan was not executed by it."""


def planned_spans(notes: Sequence[JsonObject]) -> list[tuple[float, float]]:
    """Return the periods of plan mode as (start, end), from the session's `cinch-mode` records."""
    return list(_spans(notes))


def _spans(notes: Sequence[JsonObject]) -> Iterator[tuple[float, float]]:
    since: float | None = None
    for note in notes:
        if note.get("type") != "cinch-mode":
            continue
        is_plan = text_at(note, "mode") == PLAN.name
        if is_plan and since is None:
            since = time_of(note)
        elif not is_plan and since is not None:
            yield since, time_of(note)
            since = None
    if since is not None:
        yield since, math.inf
