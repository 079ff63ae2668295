"""Lines of a session file that record changes of the context."""

from __future__ import annotations

from harness.events import CompactionEnd, CompactionUndone, ContextEdited, ContextTrimmed, Event, Evicted
from harness.session.notes import (
    AnyNote,
    CompactionNote,
    CompactionUndoNote,
    ContextNote,
    EvictionNote,
    NoteOrigin,
    TrimNote,
)


def context_note(event: Event, origin: NoteOrigin, after: str) -> AnyNote | None:
    """Return the line of an event; None if it does not change the context.

    Args:
        event: The event.
        origin: Session and time of the line.
        after: Last line of the conversation.
    """
    match event:
        case Evicted(ids=ids):
            return EvictionNote(**origin, ids=ids, after=after, can_recall=event.can_recall)
        case CompactionEnd(summary_id=str(summary_id)) if summary_id:
            return CompactionNote(
                **origin,
                id=summary_id,
                after=after,
                summary=event.summary,
                first=event.first,
                last=event.last,
                kept=event.kept,
                trigger="auto" if event.reason in ("auto", "overflow") else "manual",
                tokens_before=event.tokens_before,
                tokens_after=event.tokens,
            )
        case CompactionUndone(summary_id=summary_id):
            return CompactionUndoNote(**origin, id=summary_id, after=after)
        case ContextTrimmed():
            return TrimNote(
                **origin,
                ids=event.ids,
                shortened=event.shortened,
                lines=event.lines,
                truncated=event.truncated,
                shares=event.shares,
                limit=event.limit,
                after=after,
            )
        case ContextEdited(pinned=pinned, dropped=dropped):
            return ContextNote(**origin, pinned=pinned, dropped=dropped, after=after)
        case _:
            return None
