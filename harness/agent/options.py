"""Options of an agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

from harness.agent.arguments import Prompt
from harness.agent.guardrails import InputGuardrail
from harness.agent.limits import Limits
from harness.agent.retry import RetryPolicy, RetryStrategy
from harness.agent.routing import Routing
from harness.approval.interactions import ApprovalCallback, CallbackApproval
from harness.approval.modes import EXECUTE, ApprovalMode, Mode, Planning
from harness.approval.store import RuleStore
from harness.context.pipeline import ToLlm, Transform, to_llm
from harness.context.policy import ContextPolicy
from harness.execution.context import Execution
from harness.inbox import QueueMode
from harness.instructions.loading import LoadedInstructions
from harness.messages import Message, ModelSpec
from harness.ports.dialect import Dialect
from harness.ports.hooks import Hooks
from harness.ports.interaction import NonInteractive, UserInteraction
from harness.ports.permission_policy import PermissionPolicy, PolicyFunction
from harness.ports.provider import CacheStrategy, Model
from harness.ports.tool import Tool
from harness.workspace.workspace import Workspace

SteeringMode: TypeAlias = Literal["interrupt", "after_batch"]
"""Effect of a steering message on running tool calls. Calls that have not started are skipped either way.

- `interrupt`: steering is checked after each completed call, and the remaining calls are cancelled
- `after_batch`: running calls finish
"""

MessageSource: TypeAlias = Callable[[], Prompt | Awaitable[Prompt | None] | None]
"""Function, plain or async, that returns the messages available now, or None or an empty list."""

ReminderSource: TypeAlias = Callable[[str, Sequence[Message]], Awaitable[Sequence[str]]]
"""Function that returns reminders for a conversation: it receives the system prompt and the history."""

InstructionSource: TypeAlias = Callable[[Sequence[Path]], Awaitable[LoadedInstructions]]
"""Function that returns the instruction files that apply to files and folders."""

ToolFilter: TypeAlias = Callable[[Sequence[Tool], Sequence[Message]], Sequence[Tool]]
"""Function that selects the tools to offer for a conversation."""


class Subagents(Struct, frozen=True):
    """Limits for all subagents of a run together."""

    max_depth: int = 2
    """Maximum nesting depth; 0 disables subagents."""
    max_concurrent: int = 5
    """Maximum number of subagents running at once; others wait."""
    max_turns: int = 20
    """Maximum number of turns per subagent."""
    result_chars: int = 4_000
    """Maximum length of a subagent's result in characters; 0 = unlimited."""
    token_budget: int = 0
    """Tokens that all subagents of a run may use; 0 = unlimited. When spent, none starts and none takes a turn."""
    deltas: bool = False
    """True to publish the streamed deltas of subagents."""


class AgentOptions(Struct, frozen=True):
    """Options of an agent. The defaults deny every call that needs approval, so the agent is effectively read-only."""

    workspace: Workspace | None = None
    """Files the agent may access; None: the current directory."""
    user: UserInteraction = NonInteractive()
    """Interface for approvals and questions."""
    approve: ApprovalCallback | None = None
    """Function, usually async, that decides on calls which need approval, those of subagents included.

    It replaces `user.approve`, and the field is None afterwards.
    """
    approval: ApprovalMode = "smart"
    """Approval mode: `on`, `smart`, `edits` or `off`."""
    grants: RuleStore | None = None
    """Permission rules; None: no rules."""
    permissions: PermissionPolicy | PolicyFunction | None = None
    """Permission policy, or a function that decides on a call; None: permission rules and the approval mode."""
    mode: Mode = EXECUTE
    """`EXECUTE`, or `PLAN` to start with a planning phase."""
    planning: Planning = Planning()
    """Limits and review of the planning phase."""
    limits: Limits = Limits()
    """Limits of each run."""
    retry: RetryStrategy = RetryPolicy()
    """Retries of failed model calls."""
    max_tokens: int | None = None
    """Maximum length of a reply in tokens; None: the provider's default."""
    temperature: float | None = None
    """Sampling temperature; None: the provider's default."""
    cache: CacheStrategy = CacheStrategy()
    """Parts of a request to mark for the prompt cache."""
    transport: str = "sse"
    """Preferred streaming protocol."""
    steering: QueueMode = "one"
    """Number of steering messages delivered at a time: `one` or `all`."""
    follow_up: QueueMode = "one"
    """Number of follow-up messages delivered at a time: `one` or `all`."""
    steering_mode: SteeringMode = "interrupt"
    """Effect of a steering message on running tool calls."""
    execution: Execution = Execution()
    """Execution of tool calls."""
    subagents: Subagents = Subagents()
    """Limits of subagents."""
    window: ContextPolicy = ContextPolicy()
    """Fitting the history into the context window."""
    compact_model: Model | None = None
    """Model that summarizes older messages; None: the agent's model."""
    hooks: Sequence[Hooks] = ()
    """Hooks and policies, called in order."""
    guardrails: Sequence[InputGuardrail] = ()
    """Checks of user messages, in order."""
    convert_to_llm: ToLlm = to_llm
    """Conversion of each message, after `transform_context`."""
    transform_context: Transform | None = None
    """Transformation of the history, called each turn."""
    get_api_key: Callable[[str], Awaitable[str | None]] | None = None
    """Async function called with the provider's name before each request; returns a key, or None for the default."""
    get_steering_messages: MessageSource | None = None
    """Polled after each tool execution and each turn; its messages skip the remaining calls, like `Agent.steer`.

    Not polled after an error or abort, nor by subagents; the same applies to `get_follow_up_messages`.
    """
    get_follow_up_messages: MessageSource | None = None
    """Polled when the run would end successfully; its messages continue the run."""
    get_reminders: ReminderSource | None = None
    """Called before the first turn of a run with a prompt; each text becomes a synthetic message to the model.

    For facts that change during a session, which would break the service's cache if they were in the system prompt.
    Subagents have it, too. A failure is logged and the run continues.
    """
    get_instructions: InstructionSource | None = None
    """Called after tool calls with the files that they have read or changed, and the files or folders searched.

    Instruction files that the conversation does not contain yet become a synthetic message to the model; a subagent has
    its own conversation. A failure is logged and the run continues.
    """
    tool_filter: ToolFilter | None = None
    """Selects the tools to offer; None offers all."""
    dialect: Callable[[ModelSpec], Dialect | None] | None = None
    """Returns the dialect in which a model is offered the tools, or None; subagents and summaries have it, too."""
    routing: Routing | None = None
    """Chooses a model per turn; None always uses the agent's model."""
    fallback: Sequence[Model] = ()
    """Models to try in order when a model fails permanently."""
    config_id: str = ""
    """Name of this configuration in run ids; empty derives it from the model."""
    session_id: str = ""
    """Id of the session; empty creates one."""
    messages: Sequence[Message] = ()
    """Initial history."""
    spill_dir: Path | None = None
    """Folder for output that is too long to return; None: a folder in the system's temporary directory."""
    cancel_grace_s: float = 5.0
    """Seconds that a cancelled tool gets to clean up before it is abandoned."""

    def __post_init__(self) -> None:
        if self.approve is not None:
            force_setattr(self, "user", CallbackApproval(self.approve, self.user))
            # A copy with another `user`, as subagents have, must ask that one.
            force_setattr(self, "approve", None)
