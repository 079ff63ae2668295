"""Events of model calls: messages, usage, context, retries and changes of the model."""

from __future__ import annotations

from typing import Literal, TypeAlias

from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart
from harness.events.run import EventHeader
from harness.messages import Message, ModelSpec, Usage

MessageRole: TypeAlias = Literal["user", "assistant", "tool_result", "custom"]


class RequestStart(EventHeader, frozen=True, kw_only=True):
    """A model call is about to be sent."""

    spec: ModelSpec
    """Model that is called."""
    message_count: int
    """Number of messages in the context."""
    tokens: int
    """Estimated length of the request in tokens."""


class MessageStart(EventHeader, frozen=True, kw_only=True):
    """A message begins; `MessageEnd` or, for a reply that is requested again, `MessageDiscarded` has the same id.

    Only replies are streamed between the two; a user message or tool result starts and ends at once.
    """

    message_id: str
    role: MessageRole


class MessageUpdate(EventHeader, frozen=True, kw_only=True):
    """Next piece of a streamed reply."""

    message_id: str
    """Id of the message."""
    delta: BlockStart | BlockDelta | BlockEnd
    """The piece; its `index` identifies the content block."""
    kind: BlockKind = "text"
    """Type of the content block."""


class MessageEnd(EventHeader, frozen=True, kw_only=True):
    """A message is complete and part of the history.

    Tool results end in call order, once every call of the reply has its result; `ToolExecutionEnd` reports each result
    as soon as its call ends.
    """

    message: Message


class MessageDiscarded(EventHeader, frozen=True, kw_only=True):
    """A partially streamed reply is discarded, because the request failed and is sent again."""

    message_id: str
    """Id of the message."""
    reason: str
    """Error that caused the retry."""


class UsageUpdate(EventHeader, frozen=True, kw_only=True):
    """Token usage after a reply."""

    usage: Usage
    """Usage of this reply."""
    total: Usage
    """Usage of the agent so far."""
    context: int
    """Tokens in the context window."""
    window: int
    """Size of the context window in tokens."""


class UsageAdded(EventHeader, frozen=True, kw_only=True):
    """Usage that belongs to no reply in the history: a side question or an empty reply."""

    model: str
    """Name of the model."""
    usage: Usage
    """Tokens and cost."""


class ContextWarning(EventHeader, frozen=True, kw_only=True):
    """The context window is filled to 60, 80 or 95 percent."""

    context: int
    """Tokens in the context window."""
    window: int
    """Size of the context window in tokens."""
    level: Literal["advise", "warn", "critical"]
    """Severity: 60, 80 and 95 percent."""


class CompactionStart(EventHeader, frozen=True, kw_only=True):
    """The context is about to be reduced; the history is unchanged."""

    reason: Literal["overflow", "window"]
    """`overflow` if the service rejected the request, `window` if the policy requires it."""
    tokens: int
    """Estimated length before, in tokens."""


class CompactionEnd(EventHeader, frozen=True, kw_only=True):
    """The context was reduced."""

    reason: Literal["overflow", "window"]
    """See `CompactionStart`."""
    dropped: int
    """Number of messages left out of the context."""
    tokens: int
    """Estimated length after, in tokens."""


class RetryScheduled(EventHeader, frozen=True, kw_only=True):
    """A model call failed and will be retried."""

    attempt: int
    """Number of the retry, from 1."""
    max_retries: int
    """Maximum number of retries; 0 = unknown."""
    delay: float
    """Seconds until the retry."""
    error: str
    """Description of the error."""


class ModelRouted(EventHeader, frozen=True, kw_only=True):
    """Routing selected another model from this turn on."""

    spec: ModelSpec
    """The new model."""


class ModelFallback(EventHeader, frozen=True, kw_only=True):
    """A fallback model replaces a failed one for the rest of the run."""

    failed: ModelSpec
    """Model that failed."""
    spec: ModelSpec
    """Model used from now on."""
    error: str
    """Error of the failed model."""


class ModelChanged(EventHeader, frozen=True, kw_only=True):
    """The user or the program changed the model or the thinking level, effective from the next turn."""

    spec: ModelSpec
    """The new model."""
