"""Events of an overlay: what a session records of summaries, stubs, trimmed messages, pins and removals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.context.overlay import Compaction, ContextOverlay, replaced_span
from harness.context.trimming import Trim
from harness.events import CompactionEnd, CompactionTrigger, ContextEdited, ContextTrimmed, Event, Evicted
from harness.messages import Message


def trim_event(trim: Trim) -> ContextTrimmed:
    """Return the event of a trim, without token counts."""
    return ContextTrimmed(
        reason="window",
        dropped=len(trim.dropped),
        ids=tuple(sorted(trim.dropped)),
        shortened=tuple(sorted(trim.line_limited)),
        lines=trim.lines,
        truncated=tuple(trim.token_limits),
        shares=tuple(trim.token_limits.values()),
        limit=trim.limit,
        tokens_before=0,
        tokens=0,
    )


def compaction_end(
    compaction: Compaction,
    earlier: Sequence[Compaction],
    history: Sequence[Message],
    reason: CompactionTrigger = "auto",
    tokens: tuple[int, int] = (0, 0),
) -> CompactionEnd:
    """Return the event of a summary.

    Args:
        compaction: The summary.
        earlier: The summaries before it.
        history: The messages.
        reason: Cause.
        tokens: Length of the context before and after it, in tokens; 0 = unknown.
    """
    span = replaced_span(compaction, earlier, history)
    return CompactionEnd(
        reason=reason,
        summary_id=compaction.summary.id,
        summary=compaction.summary.text,
        first=span.first,
        last=span.last,
        kept=span.kept,
        replaced=len(compaction.replaced),
        tokens_before=tokens[0],
        tokens=tokens[1],
    )


def overlay_events(overlay: ContextOverlay, history: Sequence[Message]) -> Iterator[Event]:
    """Yield the events that record an overlay in a new session."""
    for eviction in overlay.evictions:
        ids = tuple(sorted(eviction.ids))
        yield Evicted(ids=ids, can_recall=eviction.can_recall, tokens_before=0, tokens=0)
    for number, compaction in enumerate(overlay.compactions):
        yield compaction_end(compaction, overlay.compactions[:number], history)
    if overlay.trim:
        yield trim_event(overlay.trim)
    if overlay.pinned or overlay.dropped:
        yield ContextEdited(pinned=tuple(sorted(overlay.pinned)), dropped=tuple(sorted(overlay.dropped)))
