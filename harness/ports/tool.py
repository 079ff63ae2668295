"""Port: tools that a model may call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from msgspec import Struct

from harness.messages import JsonObject, Message, Text, ToolCall, ToolResult, UserContent
from harness.ports.provider import Hosting, ToolSpec
from harness.risk import Risk
from harness.tool_mentions import NameOf, mention, own_name
from harness.views import View

if TYPE_CHECKING:
    from harness.jobs import Jobs
    from harness.ports.hooks import Hooks
    from harness.ports.interaction import UserInteraction
    from harness.ports.provider import Model
    from harness.user_requests import Plan, PlanDecision
    from harness.workspace.workspace import Workspace


REPLACED_TOOLS: Mapping[str, Set[str]] = {"apply_patch": frozenset({"edit_file", "write_file"})}
"""Tools that another one replaces for some models, by the name of that one."""


class ToolOutput(Struct, frozen=True):
    """Output of a tool call."""

    content: tuple[UserContent, ...]
    """Content for the model."""
    view: View | None = None
    """Display for the user."""
    details: JsonObject | None = None
    """Structured data for programs."""
    is_error: bool = False
    """True if the call failed."""
    terminate: bool = False
    """True if the run ends after this turn, without another model call."""
    child_run_id: str = ""
    """Run id of the subagent that did the work."""

    @classmethod
    def text(cls, text: str, *, view: View | None = None, details: JsonObject | None = None) -> ToolOutput:
        """Return an output with `text` as its content."""
        return cls((Text(text),), view, details)

    @classmethod
    def failure(cls, text: str, *, view: View | None = None, details: JsonObject | None = None) -> ToolOutput:
        """Return a failed output; `text` names the error and what the model can do about it."""
        return cls((Text(text),), view, details, is_error=True)


class Role(Struct, frozen=True):
    """Overrides for a subagent; everything else is inherited from the caller."""

    model: Model | None = None
    """Model to use; None inherits the caller's."""
    system_prompt: str = ""
    """System prompt; empty inherits the caller's."""
    tools: tuple[Tool, ...] = ()
    """Tools to offer; empty inherits the caller's."""
    allowed_tools: tuple[str, ...] | None = None
    """Name patterns of the tools to offer, of those above; None for all."""
    denied_tools: tuple[str, ...] = ()
    """Name patterns of tools that are not offered."""
    is_read_only: bool = False
    """True to offer only tools that never change anything."""
    asks: bool = True
    """False to deny calls that need the user's approval, without a question."""
    name: str = ""
    """Name of the role; empty for none."""
    hooks: tuple[Hooks, ...] = ()
    """Hooks of the subagent, after those of the caller."""

    @property
    def selects_tools(self) -> bool:
        """True if the role has only some of the tools."""
        return self.allowed_tools is not None or bool(self.denied_tools) or self.is_read_only

    def allows(self, tool: Tool) -> bool:
        """Return True if the role may have a tool."""
        is_named = is_tool_allowed(tool.name, self.allowed_tools, self.denied_tools)
        return is_named and not (self.is_read_only and tool.mutates)


def is_tool_allowed(name: str, allowed: Sequence[str] | None, denied: Sequence[str] = ()) -> bool:
    """Return True if name patterns allow a tool; one that replaces others also if they allow all of those.

    Args:
        name: Name of the tool.
        allowed: Patterns of allowed tools; None: all.
        denied: Patterns of denied tools.
    """
    if _matches(name, denied):
        return False
    if allowed is not None and _matches(name, allowed):
        return True
    replaced = REPLACED_TOOLS.get(name)
    return all(is_tool_allowed(each, allowed, denied) for each in replaced) if replaced else allowed is None


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


class SubagentTask(Struct, frozen=True):
    """Task for a subagent."""

    task: str
    """Prompt of the subagent."""
    name: str = ""
    """Name shown to the user."""
    tools: tuple[str, ...] = ()
    """Names of the tools that the subagent may use, from those of its caller or its role; empty for all."""
    max_turns: int = 20
    """Turn limit of the subagent."""
    call_id: str = ""
    """Id of the tool call that delegates."""
    update: Callable[[View], None] = lambda _: None
    """Receives progress views."""
    role: Role = Role()
    """Overrides of the subagent's model, system prompt and tools."""
    on_interrupt: Callable[[Callable[[], object]], None] = lambda _: None
    """Registers a function that returns the partial output if the call is interrupted; set by the calling agent."""


class Delegate(Protocol):
    async def __call__(self, delegation: SubagentTask) -> ToolOutput:
        """Run a subagent; its final message is the output."""
        ...


class Conversation(Protocol):
    """Conversation that a tool call belongs to."""

    async def history(self) -> Sequence[Message]:
        """Return all messages, also those that models no longer see."""
        ...

    def context(self) -> Sequence[Message]:
        """Return the messages that models see."""
        ...

    @property
    def pinned(self) -> Set[str]:
        """Ids of the messages that must stay in the context."""
        ...

    def replace(self, ids: Set[str], note: str) -> None:
        """Let models see a note instead of messages; the history stays as it is.

        Args:
            ids: Ids of messages of the context, calls with all their results.
            note: Text of the note.
        """
        ...


class ToolContext(Struct, frozen=True):
    """Services for a running tool.

    Cancellation arrives as `asyncio.CancelledError`; a tool cleans up and lets it propagate. Code in a worker thread
    checks `cancelled` or calls `raise_if_cancelled` instead.
    """

    call_id: str
    """Id of the tool call."""
    workspace: Workspace
    """Access to the files of the workspace."""
    user: UserInteraction
    """Port for questions to the user."""
    propose_plan: Callable[[Plan], Awaitable[PlanDecision]]
    """Asks the user to accept a plan; if accepted, plan mode ends."""
    spill_dir: Path
    """Folder for output that is too long to return; the model may read from it."""
    update: Callable[[View], None] = lambda _: None
    """Publishes a progress view."""
    delegate: Delegate | None = None
    """Runs a subagent; None if subagents are not available."""
    jobs: Jobs | None = None
    """Background jobs; None if not available."""
    conversation: Conversation | None = None
    """The conversation; None if not available."""
    max_result_chars: int = 0
    """Length in characters above which the middle of the result is cut; 0 = unlimited."""
    by_user: bool = False
    """True if the user typed the command, so that processes it leaves running are not killed."""
    on_interrupt: Callable[[Callable[[], object]], None] = lambda _: None
    """Registers a function without arguments that returns the output so far.

    It is called when the call is cancelled, times out or is abandoned, may return anything a function tool may return,
    and its value becomes the start of the result. Without one, the last view passed to `update` is used.
    """
    add_hooks: Callable[[str, Sequence[Hooks]], None] = lambda _name, _hooks: None
    """Adds hooks to the run from now on, such as those of a skill; the first ones with a name count."""
    name_of: NameOf = own_name
    """Returns the name by which the model knows a tool; empty if it is not offered one."""
    cancellation: Callable[[], bool] = lambda: False
    """Source of `cancelled`."""

    @property
    def cancelled(self) -> bool:
        """True once the call has to stop: cancelled, timed out, or its run was aborted. Thread-safe."""
        return self.cancellation()

    def raise_if_cancelled(self) -> None:
        """Raise if the call has to stop.

        Raises:
            asyncio.CancelledError: The call has to stop. Let it propagate.
        """
        if self.cancelled:
            raise asyncio.CancelledError

    def mention(self, text: str) -> str:
        """Return a text with the names of tools, `{tool}`, as the model knows them; empty if it does not have one."""
        return mention(text, self.name_of)

    def output_limit(self, most: int) -> int:
        """Return how many of `most` characters fit in the result, with room for a short note."""
        return min(most, self.max_result_chars * 29 // 30) if self.max_result_chars else most


class Tool(Protocol):
    """One capability of the agent."""

    name: str
    """Name the model calls it by."""
    label: str
    """Name for users, such as "Edit file"."""

    @property
    def mutates(self) -> bool | Literal["by_call"]:
        """True if the tool can change anything outside the conversation; plan mode hides it.

        `by_call`: the risk of a call tells; plan mode denies only calls that change something.
        """
        ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> JsonObject: ...

    def validate(self, arguments: JsonObject) -> JsonObject:
        """Return checked arguments for `risk`, `preview` and `run`: aliases resolved, defaults filled in.

        Raises:
            InvalidArguments: The arguments do not fit the schema; the text lets the model correct the call.
        """
        ...

    def summary(self, arguments: JsonObject) -> str:
        """Return one line that identifies this call for users: the path, the command, the pattern.

        The arguments are unchecked and may be partially streamed. Never raises.
        """
        ...

    def risk(self, arguments: JsonObject) -> Risk:
        """Assess the risk of a call; decides whether approval is needed and which calls may run concurrently."""
        ...

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        """Return a preview for the approval dialog, or a `ToolOutput` that answers the call without approval."""
        ...

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """Run the call.

        Returns:
            The output; expected errors are `ToolOutput.failure`.

        Raises:
            WorkspaceError: A file cannot be read or changed; converted to a failed output by the caller.
        """
        ...


@runtime_checkable
class Revisable(Protocol):
    """Tool whose calls the user may revise in the form in which they are displayed."""

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        """Return arguments that produce `text` instead of what `view` shows.

        Args:
            arguments: Arguments of the proposed call.
            view: Preview of the proposed call.
            text: New content of the file for a diff view, new command for a terminal view, new editable part of a
                text view.

        Returns:
            The new arguments, or None if the revision cannot be expressed as arguments.
        """
        ...


@runtime_checkable
class StatefulTool(Protocol):
    """Tool that keeps state between its calls, such as a working directory."""

    def renewed(self) -> Tool:
        """Return a tool with the same options and without state, for a subagent or another session.

        A tool that keeps no state with its options returns itself.
        """
        ...


@runtime_checkable
class SharedStateTool(Protocol):
    """Tool that shares its state with other tools of the same agent, such as an open file."""

    def renewed_with(self, states: dict[int, object]) -> Tool:
        """Return a tool with the same options and new state, as `StatefulTool.renewed`.

        Args:
            states: New states by the `id` of the former ones; receives the one that this call creates.
        """
        ...


def renewed_tools(tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools, those that keep state without it."""
    states: dict[int, object] = {}

    def renewed(tool: Tool) -> Tool:
        if isinstance(tool, SharedStateTool):
            return tool.renewed_with(states)
        return tool.renewed() if isinstance(tool, StatefulTool) else tool

    return [renewed(tool) for tool in tools]


LEFT_STATE = "left_state"
"""Key in the details of a result for what the call left for later calls, as a short text; empty for nothing."""


def lost_state_notice(messages: Sequence[Message]) -> str:
    """Return the notice for the model that the state which its calls left is lost; empty if they left none."""
    for message in reversed(messages):
        if type(message) is ToolResult and message.details and LEFT_STATE in message.details:
            left = message.details[LEFT_STATE]
            return f"{message.tool_name} has started anew, so this is no longer in effect: {left}." if left else ""
    return ""


def is_deferred(tool: Tool) -> bool:
    """Return True if a tool has a true attribute `deferred`: it is rarely used, and need not be declared.

    The model finds it with `find_tools` and calls it with `call_tool`; see `harness.agent.tool_search`.
    """
    return getattr(tool, "deferred", False) is True


def hosting_of(tool: Tool) -> Hosting:
    """Return the attribute `hosting` of a tool that services may run themselves; empty for any other."""
    return getattr(tool, "hosting", "")


def specs_of(tools: Sequence[Tool]) -> tuple[ToolSpec, ...]:
    """Return the declarations of tools, all run by the agent."""
    return tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in tools)


def failure_of(call: ToolCall, error: BaseException) -> ToolOutput:
    """Return the output for a call whose tool or hook raised an exception."""
    return ToolOutput.failure(f"{call.name} failed: {type(error).__name__}: {error}")
