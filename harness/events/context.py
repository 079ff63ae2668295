"""Events of the context: its size, and what its stages and the user change. The history stays as it is."""

from __future__ import annotations

from typing import Literal, TypeAlias

from harness.events.calls import EventHeader
from harness.messages import Message

CompactionTrigger: TypeAlias = Literal["auto", "manual", "overflow", "edit", "tool"]
"""Cause of a compaction: the size of the context, the user, a rejected request, a change of the summary, or a tool with
which the model edits its context."""


class ContextWarning(EventHeader, frozen=True, kw_only=True):
    """The context window, without the room for the reply, is filled to 60, 80 or 95 percent.

    Published when a higher level is reached than with the reply before.
    """

    context: int
    """Tokens in the context window."""
    window: int
    """Size of the context window in tokens."""
    level: Literal["advise", "warn", "critical"]
    """Severity: 60, 80 and 95 percent."""


class Evicted(EventHeader, frozen=True, kw_only=True):
    """Old tool output is replaced by stubs in the context."""

    ids: tuple[str, ...]
    """Ids of the messages."""
    can_recall: bool
    """True if the stubs name the `recall` tool."""
    tokens_before: int
    """Length of the request before, in tokens."""
    tokens: int
    """Length of the request after, in tokens."""


class CompactionStart(EventHeader, frozen=True, kw_only=True):
    """A model is about to summarize older messages."""

    reason: CompactionTrigger
    """Cause."""
    tokens: int
    """Length of the context before, in tokens."""


class CompactionEnd(EventHeader, frozen=True, kw_only=True):
    """A summary replaces older messages in the context, or the attempt failed and nothing changed."""

    reason: CompactionTrigger
    """Cause."""
    summary_id: str = ""
    """Id of the summary's message; empty if the compaction failed."""
    summary: str = ""
    """Text that models see instead of the replaced messages."""
    first: str = ""
    """Id of the first replaced message."""
    last: str = ""
    """Id of the last replaced message."""
    kept: tuple[str, ...] = ()
    """Ids of the messages between `first` and `last` that stay."""
    replaced: int = 0
    """Number of replaced messages."""
    tokens_before: int = 0
    """Length of the context before, in tokens."""
    tokens: int = 0
    """Length of the context after, in tokens."""
    error: str = ""
    """Reason the compaction failed; empty if it succeeded."""
    is_aborted: bool = False
    """True if it failed because the user or the program aborted it."""


class CompactionUndone(EventHeader, frozen=True, kw_only=True):
    """A summary is withdrawn; models see the replaced messages again."""

    summary_id: str
    """Id of the summary's message."""


class ContextTrimmed(EventHeader, frozen=True, kw_only=True):
    """Messages are left out of the context, or truncated, because nothing else made it fit.

    It replaces earlier events: the fields state all that is left out or truncated from now on, nothing if the context
    has become large enough.
    """

    reason: Literal["overflow", "window"]
    """`overflow` if the service rejected the request, `window` if it would not fit."""
    dropped: int
    """Number of messages left out."""
    ids: tuple[str, ...] = ()
    """Ids of these messages."""
    shortened: tuple[str, ...] = ()
    """Ids of the tool results truncated to `lines` lines."""
    lines: int = 0
    """Maximum number of lines of these results."""
    truncated: tuple[str, ...] = ()
    """Ids of other messages whose texts are truncated."""
    shares: tuple[int, ...] = ()
    """Maximum length of each text in them, in tokens, in the order of `truncated`."""
    limit: int = 0
    """Maximum length of a request, in tokens."""
    tokens_before: int
    """Length of the request before, in tokens."""
    tokens: int
    """Length of the request after, in tokens."""


class HistoryReplaced(EventHeader, frozen=True, kw_only=True):
    """A program replaced the history between two runs."""

    messages: tuple[Message, ...]
    """The new history."""


class ContextEdited(EventHeader, frozen=True, kw_only=True):
    """The user pinned messages, or removed them from the context."""

    pinned: tuple[str, ...]
    """Ids of all pinned messages."""
    dropped: tuple[str, ...]
    """Ids of all removed messages."""
