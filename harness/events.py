"""What happens: one closed union of frozen dataclasses, each serialisable by `harness.codec`.

Order within a run (notes: `[]` may repeat, `?` may be missing):
AgentStart, [TurnStart, [MessageStart, MessageEnd of what the person said], ModelRouted?, RequestStart, MessageStart,
[MessageUpdate], MessageEnd, UsageUpdate, ContextWarning?, ToolCallsReceived?, [ToolApprovalRequested,
ToolApprovalResolved]?, [ToolExecutionStart, [ToolExecutionUpdate], ToolExecutionEnd], [MessageStart, MessageEnd of each
tool result, in call order], TurnEnd], AgentEnd. AgentEnd comes exactly once on every path; where a hook stops a run
before it begins, it comes alone. Every tool call gets exactly one ToolExecutionStart and one ToolExecutionEnd, whether
it ran, was denied or was never possible; only one that a hook blocked has neither: its answer stands in HookRan. Events
are facts: no future, no callback inside.

The messages of all MessageEnd events, in their order, are the history: each message that a run adds has one.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from harness.continuation import Continuation, TurnTrigger
from harness.event_header import EventHeader
from harness.job_events import JobEnded, JobStarted
from harness.lazy_dataclass import dataclass
from harness.messages import (
    AssistantMessage,
    JsonObject,
    JsonValue,
    Message,
    ModelSpec,
    StopReason,
    ToolCall,
    ToolResult,
    Usage,
)
from harness.model_events import ModelChanged, ModelFallback, ModelRouted, RetryScheduled
from harness.ports.interaction import Answer, Question
from harness.ports.provider import BlockDelta, BlockEnd, BlockKind, BlockStart
from harness.run_config import RunConfig
from harness.views import View

MessageRole: TypeAlias = Literal["user", "assistant", "tool_result", "custom"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStart(EventHeader):
    """A run begins.

    `continuation` is None for a run that a prompt started; `parent_run_id` is the run that this one continues or, for
    a sub-agent, the run that called it. `metadata` is what the program gave with the prompt; `config` is the
    configuration at the start of the run.
    """

    agent_id: str = ""
    parent_run_id: str = ""
    continuation: Continuation | None = None
    spec: ModelSpec | None = None
    metadata: JsonObject = field(default_factory=dict[str, JsonValue])
    config: RunConfig | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd(EventHeader):
    """The run is over. `messages` are those it added.

    `error` describes a failure or an abort: it is set if `stop_reason` is `error` or `aborted`, and None otherwise.
    `error_type` is the class in `harness.errors` of that error, if it has one.
    `limit` names the limit that ended the run: `turns`, `tokens`, `seconds`, `cost`, or `policy` for a hook or policy;
    `stop_message` is then the reason in words.
    `rejection` is why an input filter, or a hook before the run, kept it from starting.
    """

    stop_reason: StopReason
    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()
    error: str | None = None
    error_type: str = ""
    limit: str = ""
    stop_message: str = ""
    rejection: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart(EventHeader):
    """A turn begins: what is said to the model comes first, then its reply."""

    trigger: TurnTrigger = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd(EventHeader):
    """A turn is over: the model's reply, and the results of its calls in their order."""

    message: AssistantMessage
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStart(EventHeader):
    """A request is about to be sent; `tokens` is our estimate of its length."""

    spec: ModelSpec
    message_count: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStart(EventHeader):
    """A message begins; `MessageEnd` or, for a reply that is requested again, `MessageDiscarded` has the same id.

    Only replies are streamed between the two; a user message or tool result starts and ends at once.
    """

    message_id: str
    role: MessageRole


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageUpdate(EventHeader):
    """More of a reply, as the model writes it: the `index` of `delta` tells its content blocks apart, `kind` is what
    its block holds."""

    message_id: str
    delta: BlockStart | BlockDelta | BlockEnd
    kind: BlockKind = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnd(EventHeader):
    """A message is complete and part of the history.

    Tool results end in call order, once every call of the reply has its result; `ToolExecutionEnd` reports each result
    as soon as its call ends.
    """

    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDiscarded(EventHeader):
    """What was streamed of this message does not count: the request failed and is sent again."""

    message_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallsReceived(EventHeader):
    """A reply is complete and has `count` tool calls; what becomes of them follows."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolApprovalRequested(EventHeader):
    """A person is asked whether the call may run, because of `reason`."""

    call: ToolCall
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolApprovalResolved(EventHeader):
    """The question is answered; `unasked`: nobody was there to answer it."""

    call_id: str
    decision: Literal["once", "session", "always", "denied", "edited"]
    reason: str = ""
    non_interactive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionStart(EventHeader):
    """A call begins. For people: `label` is the name of its tool, `summary` one line that tells it from others."""

    call: ToolCall
    label: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionUpdate(EventHeader):
    """How far a running call is; each update replaces the one before."""

    call_id: str
    view: View


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionEnd(EventHeader):
    """`duration` in seconds; zero when the call never ran. `child_run_id` is the run of the sub-agent it started."""

    result: ToolResult
    duration: float = 0.0
    child_run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCacheHit(EventHeader):
    """The call is answered by what the same call gave before; it comes between its start and its end."""

    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(EventHeader):
    """A tool asks the person; the answer comes through the `Person` port."""

    call_id: str
    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered(EventHeader):
    """What the person answered."""

    call_id: str
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageUpdate(EventHeader):
    """`usage` is this reply's, `total` the agent's; `context` of `window` tokens are in use."""

    usage: Usage
    total: Usage
    context: int
    window: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageAdded(EventHeader):
    """Tokens that no reply of the conversation carries: those of a side question or of an empty reply."""

    model: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWarning(EventHeader):
    """The window is filled to a fraction that matters (0.6, 0.8, 0.95)."""

    context: int
    window: int
    level: Literal["advise", "warn", "critical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStart(EventHeader):
    """The window is about to be made smaller; the history stays as it is. `tokens` is our estimate before."""

    reason: Literal["overflow", "window"]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEnd(EventHeader):
    """`dropped` messages are not shown to the model; `tokens` is our estimate after."""

    reason: Literal["overflow", "window"]
    dropped: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRejected(EventHeader):
    """An input filter kept a message from the model."""

    reason: str
    message_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRan(EventHeader):
    """A hook changed the course of things: it stopped a run, blocked or changed a call, injected a message, or failed.

    `result` is the answer to a call that was blocked.
    """

    point: str
    outcome: Literal["stopped", "blocked", "modified", "injected", "failed"]
    reason: str = ""
    call_id: str = ""
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentEvent(EventHeader):
    """What happened in an agent that a tool call of this one started."""

    call_id: str
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelStart(EventHeader):
    """One prompt goes to several configurations; `run_ids` are their runs, in order."""

    run_ids: tuple[str, ...]
    specs: tuple[ModelSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchEvent(EventHeader):
    """What happened in one of several parallel runs; the header of `event` tells which."""

    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelEnd(EventHeader):
    """One run was chosen, `selected_index` counting from 0; `usage` is what the choice itself cost, `usage_beside` that
    and the runs that were not chosen. Where none was, the id is empty and the index -1, and `reason` says why."""

    selected_run_id: str
    selected_index: int
    usage: Usage = Usage()
    usage_beside: Usage = Usage()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSubmitted(EventHeader):
    """The model submits a plan, in Markdown, and a person is asked whether to accept it."""

    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChanged(EventHeader):
    """The agent plans, or executes, from now on: `plan`, `execute`."""

    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(EventHeader):
    """A limit of `Limits` allows no further turn; `message` says which in words."""

    limit: Literal["turns", "tokens", "seconds", "cost"]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(EventHeader):
    """Something a person should know."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


Event: TypeAlias = (
    AgentStart
    | AgentEnd
    | TurnStart
    | TurnEnd
    | RequestStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | MessageDiscarded
    | ToolCallsReceived
    | ToolApprovalRequested
    | ToolApprovalResolved
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | ToolCacheHit
    | QuestionAsked
    | QuestionAnswered
    | UsageUpdate
    | UsageAdded
    | ContextWarning
    | CompactionStart
    | CompactionEnd
    | RetryScheduled
    | ModelRouted
    | ModelFallback
    | InputRejected
    | HookRan
    | SubagentEvent
    | JobStarted
    | JobEnded
    | ParallelStart
    | BranchEvent
    | ParallelEnd
    | PlanSubmitted
    | ModeChanged
    | ModelChanged
    | LimitReached
    | Notice
)
