"""State that an agent keeps between runs; request, parameters, progress and result of one run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct, field

from harness.agent.conversation import RunConversation
from harness.agent.guardrails import Reject
from harness.agent.late_tools import LateTools
from harness.agent.limits import Ledger, Meter
from harness.agent.options import AgentOptions
from harness.agent.prompt_cache import CacheMonitor
from harness.agent.reply import ReplyBuilder
from harness.agent.tool_search import declared_tools, search_tools_of
from harness.approval.modes import ApprovalMode, Mode
from harness.approval.policy import Permissions
from harness.concurrency import InterruptibleWait
from harness.context.history import History
from harness.context.state import ContextState
from harness.errors import Aborted, AgentError, CinchError, LimitExceeded, ProviderError, Rejected
from harness.events import AgentEnd, Continuation, RunConfig, TurnTrigger
from harness.execution.cache import ResultCache
from harness.execution.running import RunningCalls
from harness.inbox import Inbox
from harness.jobs import Jobs
from harness.messages import (
    AssistantMessage,
    JsonObject,
    Message,
    ModelMessage,
    ModelSpec,
    StopReason,
    Usage,
    UserMessage,
)
from harness.permissions import Rule
from harness.ports.dialect import Dialect
from harness.ports.hooks import HookChain, Hooks
from harness.ports.interaction import UserInteraction
from harness.ports.provider import Model, ModelInfo, OutputSchema, known_model_info
from harness.ports.tool import Conversation, Delegate, Tool
from harness.publishing import Bus
from harness.workspace.workspace import Workspace


class State(Struct):
    """Settings and counters of an agent, changeable at any time; a run reads them anew each turn."""

    model: Model
    """Current model."""
    tools: Sequence[Tool]
    """All tools of the agent."""
    system_prompt: str
    """System prompt, the same in every mode."""
    permissions: Permissions
    """The user's permissions."""
    late: LateTools = field(default_factory=LateTools)
    """Tools of sources, which may change while a session runs."""
    max_tokens: int | None = None
    """Maximum length of a reply in tokens; None: the provider's default."""
    ledger: Ledger = field(default_factory=Ledger)
    """Usage of the whole conversation."""
    context: ContextState = field(default_factory=ContextState)
    """Context: the history as models see it."""
    prompt_cache: CacheMonitor = field(default_factory=CacheMonitor)
    """Explanation of cache misses."""
    cache_key: str = ""
    """Session whose requests begin as those of this one, because it is a fork; empty: the session itself."""
    pause: InterruptibleWait = field(default_factory=InterruptibleWait)
    """Wait before a retry."""
    calls: RunningCalls = field(default_factory=RunningCalls)
    """Tool calls that are running."""
    jobs: Jobs = field(default_factory=Jobs)
    """Background jobs."""
    reply: ReplyBuilder | None = None
    """Reply in progress."""
    last_error: str | None = None
    """Error that ended the last run."""
    former_models: list[Model] = []
    """Models that were replaced and still have to be closed."""
    dialect: Callable[[ModelSpec], Dialect | None] | None = None
    """Returns the dialect of a model; None: the tools as they are."""
    filtered_tools: tuple[Tool, ...] | None = None
    """Tools that the filter of the program chose for the last model call; None without a filter."""

    @property
    def mode(self) -> Mode:
        return self.permissions.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self.permissions.mode = mode

    @property
    def approval(self) -> ApprovalMode:
        return self.permissions.approval

    @approval.setter
    def approval(self, approval: ApprovalMode) -> None:
        self.permissions.set_approval(approval)

    @property
    def usage(self) -> Usage:
        """Usage of the whole conversation."""
        return self.ledger.usage

    @property
    def available_tools(self) -> tuple[Tool, ...]:
        """Tools declared to the model, the same in every mode; calls that the mode excludes are refused."""
        return self.offered(declared_tools(self.tools, self.late), self.model.spec)

    @property
    def offered_tools(self) -> tuple[Tool, ...]:
        """Tools that the next model call probably offers; the filter of the program chooses them when it begins."""
        return self.available_tools if self.filtered_tools is None else self.filtered_tools

    @property
    def known_tools(self) -> tuple[Tool, ...]:
        """All tools, whether declared or not."""
        return (*self.callable_tools, *search_tools_of(self.tools, self.late))

    @property
    def callable_tools(self) -> tuple[Tool, ...]:
        """Tools of the agent and of its sources, without the search tools."""
        return (*self.tools, *self.late.tools)

    @property
    def model_info(self) -> ModelInfo:
        return known_model_info(self.model)

    def offered(self, tools: Sequence[Tool], spec: ModelSpec) -> tuple[Tool, ...]:
        """Return those of the tools that a model is offered in its dialect."""
        dialect = self.dialect(spec) if self.dialect else None
        return tuple(dialect.offered(tools) if dialect else tools)

    def name_of(self, tool: str, spec: ModelSpec | None = None, further: Sequence[Tool] = ()) -> str:
        """Return the name by which a model knows a tool; empty if it is not offered one that does the same.

        Args:
            tool: Name of the tool, or of one that a dialect replaces.
            spec: The model; None: that of the agent.
            further: Tools besides those of the agent.
        """
        spec = spec or self.model.spec
        dialect = self.dialect(spec) if self.dialect else None
        names = {each.name for each in self.offered((*self.known_tools, *further), spec)}
        shown = dialect.name_of(tool) if dialect else tool
        if tool in names:
            # Another tool may have the name of the dialect.
            return tool if shown in names else shown
        return shown if shown in names else ""


class RunRequest(Struct, frozen=True):
    """Input of one run and its run-specific hooks."""

    prompts: tuple[Message, ...] = ()
    """Messages that start the first turn."""
    continuation: Continuation | None = None
    """Relation to the previous run; None for a run with a prompt."""
    trigger: TurnTrigger = "user"
    """Trigger of the first turn."""
    tools: tuple[Tool, ...] = ()
    """Additional tools, available in this run only."""
    on_idle: Callable[[AssistantMessage], UserMessage | None] = lambda _: None
    """Called when the model has no more tool calls; a returned message continues the run."""
    should_stop: Callable[[], bool] = lambda: False
    """Checked after each turn; True ends the run successfully."""
    output_schema: OutputSchema | None = None
    """Schema of the replies."""
    prepare: Callable[[Run], Awaitable[tuple[Message, ...] | Reject]] | None = None
    """Returns the prompts once the run has begun, such as the output of tool calls; a rejection ends the run."""
    rules: tuple[Rule, ...] = ()
    """Permission rules until the run ends."""
    hooks: tuple[Hooks, ...] = ()
    """Hooks of this run, after those of the agent."""
    model: Model | None = None
    """Model of this run, in place of that of the agent and of its routing; the caller closes it."""
    work: Callable[[Run], Awaitable[AgentEnd]] | None = None
    """Replacement for the agent loop; the messages and the usage of its result are filled in."""
    run_id: str = ""
    """Id assigned in advance; empty for the next one."""
    metadata: JsonObject = {}
    """Data of the program."""


class Progress(Struct):
    """Progress of a run."""

    turn: int = 0
    """Current turn, from 1."""
    asked: ModelSpec | None = None
    """Model that routing chose last."""
    spec: ModelSpec | None = None
    """Model of the current model call; None before the first one."""
    fallbacks: int = 0
    """Number of models that failed permanently."""
    failure: ProviderError | None = None
    """Error of the last failed model call."""
    rejection: str = ""
    """Reason a guardrail blocked a message."""
    admitted: dict[str, Message] = field(default_factory=dict[str, Message])
    """Messages that passed the guardrails, as the model receives them, by id."""
    rejected: set[str] = field(default_factory=set[str])
    """Ids of messages that a guardrail blocked."""
    sent: tuple[ModelMessage, ...] = ()
    """Messages of the latest request."""
    filtered: tuple[Tool, ...] | None = None
    """Tools that the filter of the program chose for the current model call; None before the first one."""
    announced_mode: str = ""
    """Name of the mode that the model knows of; empty before the first turn."""


class Run(Struct, frozen=True):
    """Services and parameters of one run."""

    state: State
    """Settings of the agent."""
    bus: Bus
    """Event bus."""
    history: History
    """Messages in memory."""
    inbox: Inbox
    """Queued messages."""
    meter: Meter
    """Consumption of the run."""
    options: AgentOptions
    """Options of the agent."""
    user: UserInteraction
    """Interface to the user."""
    workspace: Workspace
    """Files."""
    spill_dir: Path
    """Folder for long output."""
    hooks: HookChain
    """Hooks of the run."""
    cache: ResultCache
    """Cached tool results."""
    request: RunRequest = RunRequest()
    """Input of the run."""
    start_index: int = 0
    """Number of messages before the run."""
    delegate: Delegate | None = None
    """Starts subagents."""
    parent: Run | None = None
    """Run that this one works for, in a subagent."""
    progress: Progress = field(default_factory=Progress)
    """Progress of the run."""

    @property
    def permissions(self) -> Permissions:
        """Modes, permission rules and policy."""
        return self.state.permissions

    @property
    def calls(self) -> RunningCalls:
        """Tool calls that are running."""
        return self.state.calls

    @property
    def jobs(self) -> Jobs:
        """Background jobs."""
        return self.state.jobs

    def name_of(self, tool: str) -> str:
        """Return the name by which the model knows a tool; empty if it is not offered one that does the same."""
        return self.state.name_of(tool, self.progress.spec, self.request.tools)

    @property
    def sent(self) -> tuple[ModelMessage, ...]:
        """Messages of the latest request."""
        return self.progress.sent

    @property
    def conversation(self) -> Conversation:
        """The conversation, for tools."""
        return RunConversation(self)

    @property
    def ancestors(self) -> tuple[Run, ...]:
        """This run, its parent, and so on; usage counts for all of them."""
        return (self,) if self.parent is None else (self, *self.parent.ancestors)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Tools offered to the model now."""
        if self.options.tool_filter is not None and self.progress.filtered is None:
            self.filter_tools()
        state, filtered = self.state, self.progress.filtered
        shown = declared_tools(state.tools, state.late) if filtered is None else filtered
        return state.offered((*shown, *self.request.tools), self.progress.spec or state.model.spec)

    def filter_tools(self) -> None:
        """Let the filter of the program choose the tools of the next model call."""
        if self.options.tool_filter is None:
            self.state.filtered_tools = None
        else:
            tools = self.options.tool_filter(self.state.available_tools, self.history.messages)
            self.progress.filtered = self.state.filtered_tools = tuple(tools)

    @property
    def config(self) -> RunConfig:
        """Current configuration."""
        state, options = self.state, self.options
        facts = state.model.info.now
        return RunConfig(
            config_id=options.config_id,
            max_tokens=state.max_tokens,
            temperature=options.temperature,
            context_window=facts.context_window if facts else None,
            mode=state.mode.name,
            approval=state.approval,
            tools=tuple(tool.name for tool in (*state.available_tools, *self.request.tools)),
        )

    def in_dialect(self, text: str, tool: str) -> str:
        """Return an error text about a call with the names of its tool and arguments as the model knows them."""
        spec = self.progress.spec or self.state.model.spec
        dialect = self.state.dialect(spec) if self.state.dialect else None
        return dialect.call_error(text, tool) if dialect and self.name_of(tool) not in ("", tool) else text

    def tool(self, name: str) -> Tool | None:
        """Return a tool by name, whether or not it is offered now."""
        for tools in (self.state.callable_tools, self.request.tools):
            for tool in tools:
                if tool.name == name:
                    return tool
        return next((tool for tool in search_tools_of(self.state.tools, self.state.late) if tool.name == name), None)


class AgentResult(Struct, frozen=True):
    """Result of a run."""

    messages: tuple[Message, ...]
    """Messages that the run added."""
    text: str
    """Text of the last reply."""
    stop_reason: StopReason
    """Reason the run ended."""
    usage: Usage
    """Tokens and cost of the run."""
    error: str | None = None
    """Description of the error if `stop_reason` is `error` or `aborted`; None otherwise."""
    limit: str = ""
    """Limit that ended the run: `turns`, `tokens`, `seconds`, `cost`, or `policy` for a hook or policy; empty if none.
    """
    rejection: str = ""
    """Reason a guardrail, or a hook before the run, kept the run from starting."""
    failure: ProviderError | None = None
    """Exception of the failed model call, if any."""
    stop_message: str = ""
    """Explanation of the limit."""

    def raise_for_failure(self) -> None:
        """Raise an exception if the run did not succeed.

        Raises:
            ProviderError: The model call failed; the subclass says why (`ContextWindowOverflow`, …).
            Rejected: A guardrail or hook kept the run from starting.
            Aborted: The run was aborted.
            LimitExceeded: A limit ended the run.
            AgentError: The run failed for another reason.
        """
        problem = self._problem()
        if problem is not None:
            raise problem

    def _problem(self) -> CinchError | None:
        text = self.error or "the run failed"
        if self.failure is not None:
            return self.failure
        if self.rejection:
            return Rejected(self.rejection)
        if self.limit:
            return LimitExceeded(self.stop_message or text)
        if self.stop_reason == "aborted":
            return Aborted(text)
        return AgentError(text) if self.stop_reason == "error" else None
