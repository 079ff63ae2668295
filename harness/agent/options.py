"""How an agent is to work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal, TypeAlias

from harness.agent.guardrails import InputGuardrail
from harness.agent.limits import Limits
from harness.agent.prompt import Prompt
from harness.agent.retry import RetryPolicy, RetryStrategy
from harness.agent.routing import Routing
from harness.approval.interactions import ApprovalCallback, CallbackApproval
from harness.approval.modes import EXECUTE, Mode, Planning
from harness.approval.policy import ApprovalMode
from harness.approval.rules import Grants
from harness.context.policy import ContextPolicy
from harness.inbox import QueueMode
from harness.lazy_dataclass import dataclass
from harness.messages import CustomMessage, Message, ModelMessage
from harness.ports.hooks import Hooks
from harness.ports.interaction import NonInteractive, UserInteraction
from harness.ports.provider import CacheStrategy, Model
from harness.ports.tool import Tool
from harness.workspace.workspace import Workspace

Concurrency: TypeAlias = Literal["parallel", "sequential"] | int
"""parallel: all calls that do not get in each other's way · sequential: one after another · a number: in batches."""

SteeringMode: TypeAlias = Literal["interrupt", "after_batch"]
"""What a steering message does to running tool calls. Calls that have not begun are skipped either way.

interrupt: polled after each completed call, the rest are cancelled · after_batch: running calls finish."""

MessageSource: TypeAlias = Callable[[], Prompt | Awaitable[Prompt | None] | None]
"""Returns the messages that are ready, or None or an empty list, without waiting for more; plain or async."""

ToLlm: TypeAlias = Callable[[Message], ModelMessage | None]
Transform: TypeAlias = Callable[[Sequence[Message], bool], Awaitable[Sequence[Message]]]
"""Makes of the history what the model is shown; the flag says that the last request was too long."""

ToolFilter: TypeAlias = Callable[[Sequence[Tool], Sequence[Message]], Sequence[Tool]]
"""Picks from the tools those that fit what is being talked about."""


def to_llm(message: Message) -> ModelMessage | None:
    """What an application keeps in the conversation is not for the model."""
    return None if isinstance(message, CustomMessage) else message


@dataclass(frozen=True, slots=True)
class Execution:
    """How tool calls run. `timeout` in seconds, None for none; `timeouts` are exceptions by tool name. A call of risk
    level "none" may be waiting for the person, so it has no limit unless its tool is named.

    A result of more than `max_result_chars` characters is cut in its middle and kept whole in a file (0: never cut).
    Results that stay true are kept for `cache_turns` turns, at most `cache_entries` of them (0: none).
    """

    concurrency: Concurrency = "parallel"
    timeout: float | None = None
    timeouts: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    max_result_chars: int = 30_000
    cache_entries: int = 100
    cache_turns: int = 10


@dataclass(frozen=True, slots=True)
class Subagents:
    """What sub-agents of a run may be and use, all together.

    They nest `max_depth` deep (0: there are none), and at most `max_concurrent` work at once; the others wait. Each has
    up to `max_turns` turns, and of its last words up to `result_chars` characters are handed back (0: all). When they
    have used `token_budget` tokens in a run, no more of them begin and none takes another turn (0: unlimited).
    `deltas`: what they stream is among the events.
    """

    max_depth: int = 2
    max_concurrent: int = 5
    max_turns: int = 20
    result_chars: int = 4_000
    token_budget: int = 0
    deltas: bool = False


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How an agent is to work; the defaults ask nobody and therefore change nothing.

    `planning`: how a planning phase ends, which begins with `mode=PLAN`.

    `workspace` None is the current folder. `spill_dir` takes output too long to hand back; None is a folder of the
    system's temporary ones. `messages` is a conversation to go on with. `patience`: seconds that a cancelled tool gets
    to clean up, before it is left behind.

    `temperature`, `cache` and `transport`, the preferred streaming protocol, are passed to the provider with each
    request.

    `hooks` act on a run, `filters` look at what is said to it. `transform_context` is called before `convert_to_llm`,
    each turn; `get_api_key` before each request, None leaves the provider its own. `routing` chooses a model per turn,
    else the agent's own is asked; when it fails for good, those of `fallback` are, in order. `config_id` names this
    configuration in the ids of its runs.

    `get_steering_messages` is polled after each tool execution and after each turn: messages that it returns skip the
    remaining calls and come before the next turn, as those of `Agent.steer`. `get_follow_up_messages` is polled when
    the run would end well: its messages continue the run. Neither is polled after an error or abort, nor by sub-agents.

    `approve`: a function, usually async, that decides about calls which need approval, those of subagents included. It
    replaces that part of `person`, and is None afterwards.
    """

    workspace: Workspace | None = None
    user: UserInteraction = NonInteractive()
    approve: ApprovalCallback | None = None
    approval: ApprovalMode = "smart"
    grants: Grants | None = None
    mode: Mode = EXECUTE
    planning: Planning = Planning()
    limits: Limits = Limits()
    retry: RetryStrategy = RetryPolicy()
    max_tokens: int | None = None
    temperature: float | None = None
    cache: CacheStrategy = CacheStrategy()
    transport: str = "sse"
    steering: QueueMode = "one"
    follow_up: QueueMode = "one"
    steering_mode: SteeringMode = "interrupt"
    execution: Execution = Execution()
    subagents: Subagents = Subagents()
    window: ContextPolicy = ContextPolicy()
    hooks: Sequence[Hooks] = ()
    guardrails: Sequence[InputGuardrail] = ()
    convert_to_llm: ToLlm = to_llm
    transform_context: Transform | None = None
    get_api_key: Callable[[str], Awaitable[str | None]] | None = None
    get_steering_messages: MessageSource | None = None
    get_follow_up_messages: MessageSource | None = None
    tool_filter: ToolFilter | None = None
    routing: Routing | None = None
    fallback: Sequence[Model] = ()
    config_id: str = ""
    session_id: str = ""
    messages: Sequence[Message] = ()
    spill_dir: Path | None = None
    cancel_grace_s: float = 5.0

    def __post_init__(self) -> None:
        if self.approve is not None:
            object.__setattr__(self, "user", CallbackApproval(self.approve, self.user))
            # A copy with another person, as subagents have, asks that one.
            object.__setattr__(self, "approve", None)
