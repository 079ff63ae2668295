"""Assessment of a tool call without the user: tool, arguments, mode, risk and policy."""

from __future__ import annotations

import difflib
import json
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.approval.modes import PLAN, Mode
from harness.approval.policy import Permissions
from harness.approval.revision import is_revisable
from harness.codec import parsed_arguments
from harness.errors import InvalidArguments, WorkspaceError
from harness.function_tools.names import UNAVAILABLE, is_remote_name
from harness.messages import JsonObject, StopReason, ToolCall
from harness.permissions import Decision
from harness.ports.hooks import AllowCall, AskUser, HookChain
from harness.ports.interaction import UserInteraction
from harness.ports.permission_policy import CallFacts
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.publishing import Bus
from harness.risk import Risk
from harness.user_requests import ApprovalRequest
from harness.views import View
from harness.workspace.path_policy import real_paths
from harness.workspace.workspace import Workspace

if TYPE_CHECKING:
    from harness.approval.paths import PathFacts


DEPENDS_ON = "depends_on"
"""Argument of any call: the calls of the same reply that it waits for; see `harness.execution.dependencies`."""


class ApprovalOptions(Protocol):
    """The options that approval needs."""

    @property
    def cancel_grace_s(self) -> float:
        """Seconds that cancelled code gets to stop."""
        ...


class CallContext(Protocol):
    """The part of a run that decides about calls without the user."""

    @property
    def permissions(self) -> Permissions: ...
    @property
    def workspace(self) -> Workspace: ...
    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model is offered."""
        ...

    def tool(self, name: str) -> Tool | None:
        """Return a tool by its name, whether it is offered or not."""
        ...

    def in_dialect(self, text: str, tool: str) -> str:
        """Return an error text about a call with the names of its tool and arguments as the model knows them."""
        ...

    def name_of(self, tool: str) -> str:
        """Return the name by which the model knows a tool; empty if it is not offered one that does the same."""
        ...


class ApprovalContext(CallContext, Protocol):
    """The part of a run that approval needs."""

    @property
    def options(self) -> ApprovalOptions: ...
    @property
    def user(self) -> UserInteraction: ...
    @property
    def bus(self) -> Bus: ...
    @property
    def hooks(self) -> HookChain: ...


class Allowed(Struct, frozen=True):
    """A call that may run."""

    call: ToolCall
    """The call."""
    tool: Tool
    """Its tool."""
    arguments: JsonObject
    """Validated arguments."""
    risk: Risk
    """Risk assessment."""
    note: str = ""
    """Text for the model, placed before the result."""
    verdict: AllowCall | AskUser | None = None
    """Verdict of the hooks on the permission."""
    readable: tuple[Path, ...] = ()
    """Files and folders outside the workspace that the call may read."""
    changeable: tuple[Path, ...] = ()
    """Files outside the workspace that the call may change."""
    real_paths: tuple[str, ...] = ()
    """Paths of the call with links resolved when it was approved; empty if nothing needs to be checked."""
    is_ordered: bool = False
    """True if the model has declared which calls of the reply it waits for."""


Outcome: TypeAlias = Allowed | ToolOutput
"""A call that may run, or the output of one that may not."""


class PendingApproval(Struct, frozen=True):
    """A call that needs the user's approval."""

    wanted: Allowed
    decision: Decision
    view: View | None
    is_revised: bool = False


def checked(run: CallContext, call: ToolCall, stop_reason: StopReason) -> Outcome:
    """Return the call with validated arguments, or the output if it is rejected; the policy is evaluated later."""
    tool = run.tool(call.name)
    if tool is None:
        return ToolOutput.failure(_unknown(run, call.name))
    if call.partial_json:
        return ToolOutput.failure(run.in_dialect(_invalid_json(call, stop_reason), call.name))
    # Every mode declares all tools, so that services can cache them.
    if not run.permissions.mode.allows(tool):
        return ToolOutput.failure(run.in_dialect(_excluded(call.name, run.permissions.mode), call.name))
    try:
        arguments = validated(tool, call.arguments)
    except InvalidArguments as error:
        return ToolOutput.failure(run.in_dialect(str(error), call.name))
    _, is_ordered = without_dependencies(call.arguments, tool.parameters)
    return Allowed(call, tool, arguments, tool.risk(arguments), is_ordered=is_ordered)


def validated(tool: Tool, arguments: JsonObject) -> JsonObject:
    """Return the arguments of a call as its tool receives them.

    Raises:
        InvalidArguments: They are not valid.
    """
    # A copy, so that a tool cannot change the arguments in the history.
    return tool.validate(deepcopy(without_dependencies(arguments, tool.parameters)[0]))


def without_dependencies(arguments: JsonObject, schema: JsonObject) -> tuple[JsonObject, bool]:
    """Return the arguments for the tool, and True if the call declares what it waits for.

    A parameter with the name `depends_on` in the schema of the tool stays an argument.
    """
    if DEPENDS_ON not in arguments:
        return arguments, False
    properties = schema.get("properties")
    if isinstance(properties, dict) and DEPENDS_ON in properties:
        return arguments, False
    return {name: value for name, value in arguments.items() if name != DEPENDS_ON}, True


def evaluate_policy(run: CallContext, wanted: Allowed) -> Decision:
    """Return the decision of the user's settings at this moment, with the paths of the call checked."""
    tool, arguments = wanted.tool, wanted.arguments
    risk = _path_facts(run.workspace).check(wanted.risk)
    return run.permissions.decide(CallFacts(tool, wanted.call, arguments, risk, run.workspace, wanted.verdict))


def with_access(run: ApprovalContext, outcome: Outcome, *, may_change: bool) -> Outcome:
    """Return an approved call with access to its paths outside the workspace.

    Args:
        run: The run.
        outcome: The call, or the output of one that may not run.
        may_change: True to include files outside the workspace that the call changes.
    """
    if isinstance(outcome, ToolOutput):
        return outcome
    facts, risk = _path_facts(run.workspace), outcome.risk
    return replace(
        outcome,
        readable=facts.places_outside(risk, writing=False),
        changeable=facts.places_outside(risk, writing=True) if may_change else (),
        real_paths=real_paths(risk.paths, run.workspace.root) or (),
    )


def _path_facts(workspace: Workspace) -> PathFacts:
    # Not before the first call: creating an agent imports this module.
    from harness.approval.paths import PathFacts

    return PathFacts(workspace)


def denial_of(decision: Decision) -> ToolOutput:
    """Return the output of a call that the policy denies."""
    if decision.risk.level == "forbidden":
        return ToolOutput.failure(
            f"{decision.why[:1].upper()}{decision.why[1:]}. This never runs, whatever the user has allowed. "
            "Find another way, or ask the user to do it manually."
        )
    return ToolOutput.failure(
        f"This call is denied: {decision.why}. Find another way, or explain to the user what it was needed for."
    )


async def preview(wanted: Allowed, decision: Decision, context: ToolContext) -> PendingApproval | ToolOutput:
    """Return the call with its preview, or the output if the preview fails."""
    facts = _path_facts(context.workspace)
    readable = (*facts.places_outside(wanted.risk, writing=False), *facts.places_outside(wanted.risk, writing=True))
    if readable:
        context = replace(context, workspace=context.workspace.with_access(changeable=readable))
    try:
        view = await wanted.tool.preview(wanted.arguments, context)
    except WorkspaceError as error:
        return ToolOutput.failure(str(error))
    return view if isinstance(view, ToolOutput) else PendingApproval(wanted, _with_job(decision, context), view)


def _with_job(decision: Decision, context: ToolContext) -> Decision:
    """Return the decision with the command of the job whose input it offers to allow; a job that ended has no offer."""
    if decision.job_offer is None:
        return decision
    job = context.jobs.find(decision.job_offer.pattern) if context.jobs else None
    if job is None or job.state != "running":
        return replace(decision, job_offer=None)
    return replace(decision, job_offer=replace(decision.job_offer, job=job.spec.title))


def changed(wanted: Allowed, arguments: JsonObject, why: str) -> Outcome:
    """Return the call with other arguments and a note for the model, or the output if it is rejected."""
    try:
        valid = validated(wanted.tool, arguments)
    except InvalidArguments as error:
        return ToolOutput.failure(str(error))
    return replace(
        wanted,
        call=replace(wanted.call, arguments=deepcopy(valid)),
        arguments=valid,
        risk=wanted.tool.risk(valid),
        note=f"{why}: {json.dumps(valid, ensure_ascii=False)}\n",
        # A hook that allowed the call has not seen these arguments.
        verdict=wanted.verdict if isinstance(wanted.verdict, AskUser) else None,
    )


def request_for(run: ApprovalContext, asked: PendingApproval) -> ApprovalRequest:
    wanted, view = asked.wanted, asked.view
    return ApprovalRequest(
        call=wanted.call,
        label=wanted.tool.label,
        summary=wanted.tool.summary(wanted.arguments),
        decision=asked.decision,
        view=view,
        cwd=run.workspace.root / wanted.risk.cwd,
        is_revisable=is_revisable(wanted.tool, view),
        is_revised=asked.is_revised,
    )


def _excluded(name: str, mode: Mode) -> str:
    if mode is PLAN:
        return f"{name} is not available in plan mode, so it did not run. Only the user can end plan mode."
    return f"{name} is only available in plan mode, and plan mode is off, so it did not run."


def _unknown(run: CallContext, name: str) -> str:
    known = [run.name_of(tool.name) or tool.name for tool in run.tools]
    near = difflib.get_close_matches(name, known, n=2)
    if not near and is_remote_name(name):
        return UNAVAILABLE.format(name=name)
    hint = f"did you mean {' or '.join(near)}?" if near else f"available tools: {', '.join(known) or 'none'}"
    return f"Error: unknown tool '{name}'; {hint}"


def _invalid_json(call: ToolCall, stop_reason: StopReason) -> str:
    if stop_reason == "length":
        return (
            "This tool call was incomplete due to max tokens reached, so it did not run. "
            "Send it again in smaller pieces."
        )
    try:
        parsed_arguments(call.partial_json)
        reason = "they are not an object"
    except ValueError as error:
        reason = str(error)
    return f"The arguments of {call.name} are not valid JSON ({reason}), so it did not run. Send the call again."
