"""Numbered lists of saved sessions and of messages found in them, for plain mode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from cinch_tui.agent_session import AgentSession
from cinch_tui.reports.formatting import format_cost, open_state
from cinch_tui.reports.session_export import local_time
from cinch_tui.saved_sessions import ALL_FOLDERS, SavedSessions, SessionChoice
from harness.session.summary import SessionSummary

Find: TypeAlias = Callable[[str, Sequence[str]], Awaitable[int | None]]
"""Lets the user choose one of several lines; returns its index, or None."""

READ_ONLY, COPY = "Open it read-only", "Continue in a copy"


async def pick_session(session: AgentSession, query: str, find: Find) -> SessionChoice | None:
    """Let the user choose a session, or a message that contains `query`.

    Args:
        session: The session that is open here; it receives notices.
        query: `all` for the sessions of all folders, another text to search for, or empty.
        find: Shows the list.
    """
    saved = SavedSessions(session)
    if query and query != ALL_FOLDERS:
        return await _pick_message(saved, session, query, find)
    summaries = await saved.list(everywhere=query == ALL_FOLDERS)
    if not summaries:
        session.notice(
            "No saved sessions." if query else "No saved sessions in this folder; /sessions all lists others."
        )
        return None
    lines = [_line(summary, saved.current, with_folder=bool(query)) for summary in summaries]
    index = await find("a saved session", lines)
    if index is None:
        return None
    chosen = summaries[index]
    if not chosen.locked or chosen.id == saved.current:
        return SessionChoice(chosen.id)
    way = await find("this session is open in another cinch", [READ_ONLY, COPY])
    return None if way is None else SessionChoice(chosen.id, read_only=way == 0)


async def _pick_message(saved: SavedSessions, session: AgentSession, query: str, find: Find) -> SessionChoice | None:
    await saved.update_index(lambda: False)
    hits = await saved.search(query, everywhere=False) or await saved.search(query, everywhere=True)
    if not hits:
        session.notice(f"No matches for {query!r}.")
        return None
    titles = {summary.id: summary.title for summary in await saved.list(everywhere=True)}
    lines = [
        ", ".join((hit.snippet, hit.role, local_time(hit.time), titles.get(hit.session_id, hit.session_id[:8])))
        for hit in hits
    ]
    index = await find("a message", lines)
    return None if index is None else SessionChoice(f"{hits[index].session_id}@{hits[index].message_id}")


def _line(summary: SessionSummary, current: str, *, with_folder: bool) -> str:
    parts = (
        summary.title,
        local_time(summary.updated),
        summary.model,
        format_cost(summary.cost) if summary.cost else "",
        " ".join(f"#{tag}" for tag in summary.tags),
        summary.cwd if with_folder else "",
        open_state(summary, current),
    )
    return ", ".join(filter(None, parts))
