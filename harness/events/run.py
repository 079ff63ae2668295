"""Events of a run and its turns, with the header of every event."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, TypeAlias

from msgspec import field
from msgspec.structs import replace

from harness.messages import (
    AssistantMessage,
    JsonObject,
    JsonValue,
    Message,
    ModelSpec,
    StopReason,
    ToolResult,
    Usage,
)
from harness.structs import Tagged


class EventHeader(Tagged, frozen=True, kw_only=True):
    """Base class of events; the bus fills it in."""

    seq: int = 0
    """Sequence number, from 1 per agent."""
    time: float = 0.0
    """Seconds since the epoch."""
    session_id: str = ""
    """Session of the agent."""
    run_id: str = ""
    """Run that published the event; empty outside a run."""
    turn: int = 0
    """Turn of the run, from 1; 0 before the first."""


TurnTrigger: TypeAlias = Literal["user", "subagent", "continuation", "branch"]
"""Trigger of a turn: a prompt, a parent agent, the previous run, or another branch from an earlier message."""


class Continuation(Tagged, frozen=True):
    """Relation of a run without a prompt to the previous run."""

    kind: Literal["default", "rerun", "branch"] = "default"
    """Continue, repeat the last step, or take another branch."""
    tag: str = ""
    """Distinguishes continuations of the same kind; empty: the time of the request (RFC 3339, UTC)."""

    def tagged(self) -> Continuation:
        """Return a copy with a tag."""
        return replace(self, tag=self.tag or datetime.now(UTC).isoformat(timespec="milliseconds"))


class RunConfig(Tagged, frozen=True):
    """Configuration at the start of a run; the model is the `spec` of its `AgentStart`."""

    config_id: str = ""
    """Name of the configuration; empty if it has none."""
    max_tokens: int | None = None
    """Maximum length of a reply in tokens; None: the provider's default."""
    temperature: float | None = None
    """Sampling temperature; None: the provider's default."""
    context_window: int | None = None
    """Size of the context window in tokens; None if not yet known."""
    mode: str = ""
    """`plan` or `execute`."""
    approval: str = ""
    """Approval mode: `on`, `smart` or `off`."""
    tools: tuple[str, ...] = ()
    """Names of the tools offered to the model."""


class AgentStart(EventHeader, frozen=True, kw_only=True):
    """A run begins."""

    agent_id: str = ""
    """Id of the agent."""
    parent_run_id: str = ""
    """Run that this one continues or, for a subagent, the run that called it."""
    continuation: Continuation | None = None
    """Relation to the previous run; None if a prompt started it."""
    spec: ModelSpec | None = None
    """Model at the start of the run."""
    metadata: JsonObject = field(default_factory=dict[str, JsonValue])
    """Data the program passed with the prompt."""
    config: RunConfig | None = None
    """Configuration at the start of the run."""


class AgentEnd(EventHeader, frozen=True, kw_only=True):
    """A run ended. Published exactly once per run."""

    stop_reason: StopReason
    """Reason the run ended."""
    messages: tuple[Message, ...] = ()
    """Messages that the run added."""
    usage: Usage = Usage()
    """Tokens and cost of the run."""
    error: str | None = None
    """Description of the error if `stop_reason` is `error` or `aborted`; None otherwise."""
    error_type: str = ""
    """Class name in `harness.errors`; empty if absent."""
    limit: str = ""
    """Limit that ended the run: `turns`, `tokens`, `seconds`, `cost`, or `policy`; empty if none."""
    stop_message: str = ""
    """Explanation of the limit."""
    rejection: str = ""
    """Reason a guardrail, or a hook before the run, kept the run from starting."""


class TurnStart(EventHeader, frozen=True, kw_only=True):
    """A turn begins. The new user messages follow, then the reply."""

    trigger: TurnTrigger = "user"
    """Trigger of the turn."""


class TurnEnd(EventHeader, frozen=True, kw_only=True):
    """A turn ended."""

    message: AssistantMessage
    """Reply of the model."""
    results: tuple[ToolResult, ...] = ()
    """Results of its tool calls, in call order."""


class InputRejected(EventHeader, frozen=True, kw_only=True):
    """A guardrail blocked a message."""

    reason: str
    """Reason given by the guardrail."""
    message_id: str = ""
    """Id of the message."""


class ModeChanged(EventHeader, frozen=True, kw_only=True):
    """The agent switched between planning and executing."""

    mode: str
    """`plan` or `execute`."""


class PlanSubmitted(EventHeader, frozen=True, kw_only=True):
    """The model submitted a plan, and the user is asked to accept it."""

    plan: str
    """The plan, in Markdown."""


class LimitReached(EventHeader, frozen=True, kw_only=True):
    """A limit of `Limits` was reached; the run takes no further turn."""

    limit: Literal["turns", "tokens", "seconds", "cost"]
    """Name of the limit."""
    message: str
    """Explanation for the user."""


class Notice(EventHeader, frozen=True, kw_only=True):
    """A message for the user."""

    text: str
    """Text of the message."""
    level: Literal["info", "warning", "error"] = "info"
    """Severity."""
