"""Port: what a model may call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, Text, UserContent
from harness.views import View

if TYPE_CHECKING:
    from harness.jobs import Jobs
    from harness.ports.interaction import PlanDecision, UserInteraction
    from harness.ports.provider import Model
    from harness.workspace.workspace import Workspace

RiskLevel: TypeAlias = Literal["none", "read", "edit", "execute", "dangerous", "forbidden"]
"""none: touches nothing outside the conversation · read · edit: changes files in the workspace · execute: runs a
program · dangerous: asked about even when the tool is trusted · forbidden: never runs, in any mode."""


Access: TypeAlias = Literal["by_level", "shared", "read", "exclusive"]
"""What a call claims while it runs, against the other calls of its reply. by_level: what follows from its level and
`paths` · shared: nothing, it runs at the same time as any other · read: it changes no file, whatever its level ·
exclusive: everything, it runs alone."""


@dataclass(frozen=True, slots=True)
class Risk:
    """What a call may do. `scope` is what a lasting rule would cover: a command prefix, or empty for the whole tool.
    `scopes` are the prefixes of a call that runs several commands: it is allowed where each of them is.

    `paths` are the files it reads or changes, where it can tell: calls of one reply that change the same file run one
    after another, and one that changes files it cannot name runs alone, unless `access` declares otherwise. `touches`
    are files that it changes beside others that it cannot name. `exact` is all of what it does, for a rule that covers
    nothing else. `cacheable`: the same arguments give the same result as long as no call changed anything and the
    `paths` are as they were.
    """

    level: RiskLevel
    reason: str = ""
    scope: str = ""
    paths: tuple[str, ...] = ()
    cacheable: bool = False
    additional_paths: tuple[str, ...] = ()
    exact_rule: str = ""
    scopes: tuple[str, ...] = ()
    access: Access = "by_level"

    @property
    def changes(self) -> bool:
        return self.level not in ("none", "read")


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool hands back: `content` for the model, `view` for the person, `details` for programs.

    `ends_run`: the model is not asked again. `child_run_id` is the run of the sub-agent that did the work.
    """

    content: tuple[UserContent, ...]
    view: View | None = None
    details: JsonObject | None = None
    is_error: bool = False
    terminate: bool = False
    child_run_id: str = ""

    @classmethod
    def text(cls, text: str, *, view: View | None = None, details: JsonObject | None = None) -> ToolOutput:
        """Words for the model."""
        return cls((Text(text),), view, details)

    @classmethod
    def failure(cls, text: str, *, view: View | None = None, details: JsonObject | None = None) -> ToolOutput:
        """What went wrong, and what the model can do about it."""
        return cls((Text(text),), view, details, is_error=True)


def _ignore_update(view: View) -> None:
    del view


def _ignore_output(output: Callable[[], object]) -> None:
    del output


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Role:
    """What a sub-agent has of its own. What is left out it has from its caller."""

    model: Model | None = None
    system_prompt: str = ""
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class SubagentTask:
    """A task for a sub-agent. `tools` names those of its caller or its role that it may use, empty for all; `update` is
    shown how far it is."""

    task: str
    name: str = ""
    tools: tuple[str, ...] = ()
    max_turns: int = 20
    call_id: str = ""
    update: Callable[[View], None] = _ignore_update
    role: Role = Role()
    on_interrupt: Callable[[Callable[[], object]], None] = _ignore_output
    """Set by the agent that makes the call: what it hands back when it is interrupted."""


class Delegate(Protocol):
    async def __call__(self, delegation: SubagentTask) -> ToolOutput:
        """Let a sub-agent do a task; its last words are the output."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running tool may use. Cancellation arrives as `asyncio.CancelledError`; a tool cleans up and lets it pass.
    One that works in a thread asks `cancelled`, or calls `raise_if_cancelled`, from there.

    `on_interrupt(output)` registers a function without arguments that returns the output so far, in any form that a
    function tool may return. It is called when the call is cancelled, takes too long or is abandoned, and its output
    becomes the beginning of the result. Without one the last view given to `update` does.

    `update` shows progress; `propose_plan` asks the person to accept a plan (and leaves plan mode if they do);
    `spill_dir` is a folder the model may read from, for output too long to hand back: of more than `max_result_chars`
    characters (0: of any length) the middle is cut out, so a tool that can hand back a part does. `delegate` hands a
    task to a sub-agent; None where there may be none. `jobs` is what goes on in the background; None where nothing can.
    """

    call_id: str
    workspace: Workspace
    user: UserInteraction
    propose_plan: Callable[[str], Awaitable[PlanDecision]]
    spill_dir: Path
    update: Callable[[View], None] = field(default=_ignore_update)
    delegate: Delegate | None = None
    jobs: Jobs | None = None
    max_result_chars: int = 0
    by_user: bool = False
    """The user typed the command themselves, so that what it leaves running is theirs."""
    on_interrupt: Callable[[Callable[[], object]], None] = field(default=_ignore_output)
    cancellation: Callable[[], bool] = field(default=_never)

    @property
    def cancelled(self) -> bool:
        """True once the call is to stop: it was cancelled, its time is up, or its run was aborted. From any thread."""
        return self.cancellation()

    def raise_if_cancelled(self) -> None:
        """Raises:
        asyncio.CancelledError: the call is to stop. Let it pass.
        """
        if self.cancelled:
            raise asyncio.CancelledError

    def output_limit(self, most: int) -> int:
        """How much of `most` characters can be handed back, with a few words around them."""
        return min(most, self.max_result_chars * 29 // 30) if self.max_result_chars else most


class Tool(Protocol):
    """One capability.

    `label` is the tool's name for people ("Edit file"). `mutates` is true for a tool that can change anything outside
    the conversation: plan mode hides it.
    """

    name: str
    label: str
    mutates: bool

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> JsonObject: ...

    def validate(self, arguments: JsonObject) -> JsonObject:
        """The arguments as `risk`, `preview` and `run` will get them: checked, aliases resolved, defaults filled in.

        Raises:
            InvalidArguments: with a text from which the model can correct itself.
        """
        ...

    def summary(self, arguments: JsonObject) -> str:
        """One line for people that tells this call from others: the path, the command, the pattern.

        Takes arguments that are unchecked and may be half streamed; never raises.
        """
        ...

    def risk(self, arguments: JsonObject) -> Risk:
        """What a call with these arguments may do; decides whether a person is asked, and what it runs beside."""
        ...

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        """What will happen, for the approval dialog. A `ToolOutput` is the answer foreseen: nobody is asked."""
        ...

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """Do it. Expected failures are `ToolOutput.failure`; a `WorkspaceError` may pass through and becomes one."""
        ...


@runtime_checkable
class Revisable(Protocol):
    """A tool of which a person may change what a call would do, in the form in which they see it."""

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        """The arguments for `text` in place of what `view`, the preview, shows: the new content of a file where it is a
        diff, the command where it is a terminal's. None: this cannot be said in arguments.
        """
        ...
