"""Options of tool execution, and the part of a run that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from harness.approval.assessment import ApprovalContext, ApprovalOptions
from harness.context.history import History
from harness.execution.cache import ResultCache
from harness.execution.running import RunningCalls
from harness.inbox import Inbox
from harness.jobs import Jobs
from harness.messages import ModelMessage, ToolCall
from harness.ports.hooks import HookChain
from harness.ports.tool import Conversation, Delegate
from harness.risk import RiskLevel

Concurrency: TypeAlias = Literal["parallel", "sequential"] | int
"""`parallel`: all calls that do not conflict · `sequential`: one after another · a number: in batches of that size."""


class Execution(Struct, frozen=True):
    """Options for executing tool calls."""

    concurrency: Concurrency = "parallel"
    """Calls to run at the same time."""
    timeout: float | None = None
    """Time limit per call in seconds; None: unlimited.

    A call of risk level `none` may be waiting for the user, so it has no limit unless `timeouts` names its tool.
    """
    timeouts: Mapping[str, float | None] = {}
    """Time limits by tool name, in seconds, which override `timeout`."""
    max_result_chars: int = 30_000
    """Maximum length of a result in characters; 0 = unlimited.

    A longer result is cut in the middle, and its full text is kept in a file.
    """
    cache_entries: int = 100
    """Maximum number of cached results; 0 disables the cache."""
    cache_turns: int = 10
    """Number of turns that a result stays in the cache."""
    priority: Callable[[ToolCall], int] | None = None
    """Returns the priority of a call; those of a higher one end before others of the same reply begin. None: no order.
    """

    def timeout_for(self, tool_name: str, level: RiskLevel) -> float | None:
        """Return the time limit in seconds of a call of `tool_name` with a risk of this `level`, or None."""
        return self.timeouts.get(tool_name, None if level == "none" else self.timeout)


class ExecutionOptions(ApprovalOptions, Protocol):
    """The options that tool execution needs."""

    @property
    def execution(self) -> Execution: ...


class ExecutionContext(ApprovalContext, Protocol):
    """The part of a run that tool execution needs."""

    @property
    def options(self) -> ExecutionOptions: ...
    @property
    def history(self) -> History: ...
    @property
    def inbox(self) -> Inbox: ...
    @property
    def hooks(self) -> HookChain: ...
    @property
    def cache(self) -> ResultCache: ...
    @property
    def sent(self) -> Sequence[ModelMessage]:
        """Messages of the latest request."""
        ...

    @property
    def calls(self) -> RunningCalls: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def spill_dir(self) -> Path: ...
    @property
    def delegate(self) -> Delegate | None: ...
    @property
    def conversation(self) -> Conversation: ...
    def name_of(self, tool: str) -> str: ...
