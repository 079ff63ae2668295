"""What a run works with: the state an agent keeps between runs, and everything fixed for one run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from pathlib import Path

from harness.agent.cost import Ledger
from harness.agent.hook_chain import HookChain
from harness.agent.limits import Meter
from harness.agent.options import AgentOptions
from harness.agent.reply import ReplyBuilder
from harness.agent.retry import RetryPolicy
from harness.approval.modes import Mode, tools_of
from harness.approval.policy import ApprovalMode
from harness.approval.rules import Grants
from harness.concurrency.interruptible_wait import InterruptibleWait
from harness.context.history import History
from harness.context.normalise import Normaliser
from harness.continuation import Continuation, TurnTrigger
from harness.errors import ProviderError
from harness.execution.cache import ResultCache
from harness.execution.running import RunningCalls
from harness.inbox import Inbox
from harness.jobs import Jobs
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, JsonObject, JsonValue, Message, ModelSpec, StopReason, Usage, UserMessage
from harness.ports.interaction import UserInteraction
from harness.ports.provider import Model, ModelInfo, OutputSchema, ToolSpec
from harness.ports.tool import Delegate, Tool
from harness.publishing.bus import Bus
from harness.run_config import RunConfig
from harness.workspace.workspace import Workspace


@dataclass(slots=True)
class Permissions:
    """What a person permits; they may change it at any time. Sub-agents have that of the agent they work for, so that
    none may ever do more."""

    mode: Mode
    approval: ApprovalMode
    grants: Grants


@dataclass(slots=True)
class Initial:
    """What an agent was made with, for `reset`."""

    model: Model
    tools: tuple[Tool, ...]
    system_prompt: str


@dataclass(slots=True)
class State:
    """What a person may change at any time; a run reads it anew for each turn.

    `budget` is how many tokens a request may have, learned when a service refused one that was longer; 0: not known.
    `reply` is the reply in progress; `last_error` the error that ended the last run.
    """

    model: Model
    tools: Sequence[Tool]
    system_prompt: str
    permissions: Permissions
    max_tokens: int | None = None
    ledger: Ledger = field(default_factory=Ledger)
    budget: int = 0
    pause: InterruptibleWait = field(default_factory=InterruptibleWait)
    calls: RunningCalls = field(default_factory=RunningCalls)
    jobs: Jobs = field(default_factory=Jobs)
    reply: ReplyBuilder | None = None
    last_error: str | None = None
    former_models: list[Model] = field(default_factory=list[Model])
    """Models that were replaced by another one and still have to be closed."""

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
        self.permissions.approval = approval

    @property
    def grants(self) -> Grants:
        return self.permissions.grants

    @property
    def usage(self) -> Usage:
        """What the whole conversation has used."""
        return self.ledger.usage

    @property
    def available_tools(self) -> tuple[Tool, ...]:
        return tools_of(self.mode, self.tools)

    @property
    def system(self) -> str:
        return f"{self.system_prompt}\n\n{self.mode.addendum}" if self.mode.addendum else self.system_prompt

    @property
    def model_info(self) -> ModelInfo:
        return known_model_info(self.model)


def known_model_info(model: Model) -> ModelInfo:
    """What is known of a model without waiting."""
    return model.info.now or ModelInfo()


def specs_of(tools: Sequence[Tool]) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in tools)


def _nothing_more(reply: AssistantMessage) -> UserMessage | None:
    del reply
    return None


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Why a run ended, in the fields of `AgentEnd`. A rejected run never began: the history has nothing of it."""

    stop_reason: StopReason
    error: str | None = None
    limit: str = ""
    stop_message: str = ""
    rejection: str = ""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """How a run begins, and what it has that others have not.

    `tools` are offered in this run only. `last_word` is asked when the model has nothing more to do: what it hands back
    is said to the model, and the run goes on. `is_over` is asked after each turn: true ends the run, and ends it well.
    `answer_schema` holds the model to a form. `work` is done in place of the loop; `run_id` was given out before,
    empty for the next one. `metadata` belongs to the program.
    """

    prompts: tuple[Message, ...] = ()
    continuation: Continuation | None = None
    trigger: TurnTrigger = "user"
    tools: tuple[Tool, ...] = ()
    on_idle: Callable[[AssistantMessage], UserMessage | None] = _nothing_more
    should_stop: Callable[[], bool] = _never
    output_schema: OutputSchema | None = None
    work: Callable[[Run], Awaitable[RunOutcome]] | None = None
    run_id: str = ""
    metadata: JsonObject = field(default_factory=dict[str, JsonValue])


@dataclass(slots=True)
class Progress:
    """Where a run stands. `turn` counts its turns from 1; `asked` is the model of the last request, `fallbacks` how
    many models were given up; `failure` is why the last request failed for good, `rejection` why a filter kept words
    back; `left_out` is how many messages the model was not shown last time, and whether others were cut."""

    turn: int = 0
    asked: ModelSpec | None = None
    fallbacks: int = 0
    failure: ProviderError | None = None
    rejection: str = ""
    left_out: tuple[int, bool] = (0, False)
    normaliser: Normaliser = field(default_factory=Normaliser)


@dataclass(frozen=True, slots=True)
class Run:
    """`began`: how many messages there were before this run; `parent` is the one it works for, as a sub-agent's."""

    state: State
    bus: Bus
    history: History
    inbox: Inbox
    meter: Meter
    options: AgentOptions
    user: UserInteraction
    workspace: Workspace
    spill_dir: Path
    hooks: HookChain
    cache: ResultCache
    request: RunRequest = RunRequest()
    start_index: int = 0
    delegate: Delegate | None = None
    parent: Run | None = None
    progress: Progress = field(default_factory=Progress)

    @property
    def ancestors(self) -> tuple[Run, ...]:
        """This run, the one it works for, and so on: what is used here is used by all of them."""
        return (self,) if self.parent is None else (self, *self.parent.ancestors)

    @property
    def retry_policy(self) -> RetryPolicy:
        """The numbers of the retry policy; the defaults where the program has a strategy of its own."""
        return self.options.retry if isinstance(self.options.retry, RetryPolicy) else RetryPolicy()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools the model is shown now."""
        shown: Sequence[Tool] = self.state.available_tools
        if self.options.tool_filter is not None:
            shown = self.options.tool_filter(shown, self.history.messages)
        return (*shown, *self.request.tools)

    @property
    def config(self) -> RunConfig:
        """The configuration as it is now."""
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

    def tool(self, name: str) -> Tool | None:
        """A tool by its name, shown or not."""
        return next((each for each in (*self.state.tools, *self.request.tools) if each.name == name), None)
