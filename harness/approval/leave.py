"""Whether a call may run: is there such a tool, do its arguments fit, does the mode permit it, does the person?"""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Awaitable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from harness.approval.policy import Allow, Ask, Deny, decide
from harness.approval.revision import Revision, in_part, is_revisable, refusals, reworded
from harness.approval.rules import Rule, describe
from harness.errors import InvalidArguments, WorkspaceError
from harness.events import Notice, ToolApprovalRequested, ToolApprovalResolved
from harness.execution.results import failure_of
from harness.messages import JsonObject, StopReason, ToolCall
from harness.modes import permits
from harness.person import (
    Always,
    ApprovalRequest,
    Denied,
    Edited,
    Once,
    Partly,
    Reworded,
    Session,
)
from harness.reply import parsed_arguments
from harness.run import Run
from harness.tool import Revisable, Risk, Tool, ToolContext, ToolOutput
from harness.views import DiffView, View

logger = logging.getLogger(__name__)

WITHDRAWN = "the question was withdrawn"
MISFIT = "The person's answer does not fit this call, so it did not run."


@dataclass(frozen=True, slots=True)
class Allowed:
    """A call that may run, with the arguments it runs with; `note` is told to the model before the result."""

    call: ToolCall
    tool: Tool
    arguments: JsonObject
    risk: Risk
    note: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    output: ToolOutput


Decision: TypeAlias = Allowed | Refused


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a person is asked about."""

    wanted: Allowed
    ask: Ask
    view: View | None
    is_reworded: bool = False


async def decide_call(run: Run, call: ToolCall, context: ToolContext, stop_reason: StopReason) -> Decision:
    """Decide about one call, asking the person where the policy says so. Never runs the tool."""
    return await _judged(call, _decided(run, call, context, stop_reason))


async def decide_changed(run: Run, allowed: Allowed, arguments: JsonObject, context: ToolContext) -> Decision:
    """Decide anew about a call whose arguments a hook changed, as if the model had sent these."""
    return await _judged(allowed.call, _decided_changed(run, allowed, arguments, context))


async def _judged(call: ToolCall, deciding: Awaitable[Decision]) -> Decision:
    try:
        return await deciding
    except Exception as error:  # a tool is a stranger's code; what could not be judged does not run
        logger.exception("tool %s could not be judged", call.name)
        return Refused(failure_of(call, error))


async def _decided(run: Run, call: ToolCall, context: ToolContext, stop_reason: StopReason) -> Decision:
    tool = run.tool(call.name)
    if tool is None:
        return _refuse(_unknown(run, call.name))
    if call.partial_json:
        return _refuse(_no_json(call, stop_reason))
    if not permits(run.state.mode, tool):
        return _refuse(f"{call.name} is not available in {run.state.mode.name} mode.")
    try:
        # A copy: what a tool does to its arguments must not change what the model said.
        arguments = tool.validate(deepcopy(call.arguments))
    except InvalidArguments as error:
        return _refuse(str(error))
    return await _by_policy(run, Allowed(call, tool, arguments, tool.risk(arguments)), context)


async def _decided_changed(run: Run, allowed: Allowed, arguments: JsonObject, context: ToolContext) -> Decision:
    changed = _changed(allowed, arguments, "A hook of this program changed the arguments before the call ran")
    return await _by_policy(run, changed, context) if isinstance(changed, Allowed) else changed


async def _by_policy(run: Run, wanted: Allowed, context: ToolContext) -> Decision:
    verdict = decide(run.state.approval, wanted.risk, run.state.grants, wanted.tool.name)
    match verdict:
        case Allow():
            return wanted
        case Deny(reason):
            return _refuse(reason)
        case Ask():
            return await _by_person(run, wanted, verdict, context)


async def _by_person(run: Run, wanted: Allowed, ask: Ask, context: ToolContext) -> Decision:
    asked = await _foreseen(wanted, ask, context)
    if isinstance(asked, Refused):
        return asked
    run.bus.publish(ToolApprovalRequested(call=wanted.call, reason=ask.reason))
    try:
        decision, resolved = await _answered(run, asked, context)
    except BaseException:
        run.bus.publish(ToolApprovalResolved(call_id=wanted.call.id, decision="denied", reason=WITHDRAWN))
        raise
    run.bus.publish(resolved)
    return decision


async def _foreseen(wanted: Allowed, ask: Ask, context: ToolContext) -> _Asked | Refused:
    try:
        foreseen = await wanted.tool.preview(wanted.arguments, context)
    except WorkspaceError as error:
        return _refuse(str(error))
    return Refused(foreseen) if isinstance(foreseen, ToolOutput) else _Asked(wanted, ask, foreseen)


async def _answered(run: Run, proposed: _Asked, context: ToolContext) -> tuple[Decision, ToolApprovalResolved]:
    """What the person says of the call, or of what they made of it."""
    asked = proposed
    while True:
        approval = await run.person.approve(_approval_request(run, asked))
        match approval:
            case Reworded(text):
                changed = await _reworded(run, proposed, asked, text, context)
                if isinstance(changed, Refused):
                    return changed, _edited_or_denied(changed, asked)
                asked = changed
            case Partly():
                decision = await _in_part(run, asked, approval, context)
                return decision, _edited_or_denied(decision, asked)
            case _:
                decision, resolved = _follow(run, asked.wanted, asked.ask, approval)
                is_edited = asked.is_reworded and resolved.decision == "once"
                return decision, replace(resolved, decision="edited") if is_edited else resolved


def _edited_or_denied(decision: Decision, asked: _Asked) -> ToolApprovalResolved:
    kind = "denied" if isinstance(decision, Refused) else "edited"
    return ToolApprovalResolved(call_id=asked.wanted.call.id, decision=kind)


async def _reworded(run: Run, proposed: _Asked, asked: _Asked, text: str, context: ToolContext) -> _Asked | Refused:
    if proposed.view is None or not is_revisable(proposed.wanted.tool, proposed.view):
        return _refuse(MISFIT)
    if isinstance(asked.view, DiffView) and text == asked.view.old:
        return Refused(_denial("they took back all of the change", unasked=False))
    changed = await _revised(run, asked, reworded(proposed.view, text), context)
    if isinstance(changed, Refused):
        return changed
    note = f"{proposed.wanted.note}{changed.wanted.note}"
    return replace(changed, wanted=replace(changed.wanted, note=note), is_reworded=True)


async def _in_part(run: Run, asked: _Asked, answer: Partly, context: ToolContext) -> Decision:
    view = asked.view
    if not isinstance(view, DiffView) or not is_revisable(asked.wanted.tool, view):
        return _refuse(MISFIT)
    if not answer.refused:
        return asked.wanted
    revision = in_part(view, answer.refused)
    if revision is None:
        return Refused(_denial(f"no part of the change is wanted.\n{refusals(view, answer.refused)}", unasked=False))
    changed = await _revised(run, asked, revision, context)
    if isinstance(changed, Refused):
        return changed
    # What the person saw is what is made, or nothing is.
    if not isinstance(changed.view, DiffView) or (changed.view.old, changed.view.new) != (view.old, revision.text):
        return _refuse(f"{view.path} could not be changed in part, so nothing was changed. Send smaller changes.")
    return replace(changed.wanted, note=f"{asked.wanted.note}{revision.note}")


async def _revised(run: Run, asked: _Asked, revision: Revision, context: ToolContext) -> _Asked | Refused:
    """The call that does what the person wants, judged as if the model had sent it. Asking again is left to callers."""
    tool = asked.wanted.tool
    view = asked.view
    arguments = None
    if isinstance(tool, Revisable) and view is not None:
        arguments = tool.revised(deepcopy(asked.wanted.arguments), view, revision.text)
    changed = _refuse(MISFIT) if arguments is None else _changed(asked.wanted, arguments, "")
    if isinstance(changed, Refused):
        return changed
    verdict = decide(run.state.approval, changed.risk, run.state.grants, tool.name)
    if isinstance(verdict, Deny):
        return _refuse(verdict.reason)
    ask = verdict if isinstance(verdict, Ask) else replace(asked.ask, rule=None)
    return await _foreseen(replace(changed, note=revision.note), ask, context)


def _approval_request(run: Run, asked: _Asked) -> ApprovalRequest:
    wanted, ask, view = asked.wanted, asked.ask, asked.view
    return ApprovalRequest(
        call=wanted.call,
        label=wanted.tool.label,
        summary=wanted.tool.summary(wanted.arguments),
        risk=wanted.risk,
        view=view,
        cwd=run.workspace.root,
        rule=describe(ask.rule) if ask.rule else "",
        can_trust=ask.can_trust,
        is_revisable=is_revisable(wanted.tool, view),
        is_reworded=asked.is_reworded,
    )


def _follow(
    run: Run, wanted: Allowed, ask: Ask, approval: Once | Session | Always | Denied | Edited
) -> tuple[Decision, ToolApprovalResolved]:
    """What the person's answer comes to. An answer wider than what was offered counts once."""
    call_id = wanted.call.id
    match approval:
        case Once():
            return wanted, ToolApprovalResolved(call_id=call_id, decision="once")
        case Session():
            if ask.can_trust:
                run.state.grants.trust(wanted.tool.name)
            return wanted, ToolApprovalResolved(call_id=call_id, decision="session")
        case Always():
            if ask.rule:
                _remember(run, ask.rule)
            return wanted, ToolApprovalResolved(call_id=call_id, decision="always")
        case Denied(reason, unasked):
            resolved = ToolApprovalResolved(call_id=call_id, decision="denied", reason=reason, unasked=unasked)
            return Refused(_denial(reason, unasked=unasked)), resolved
        case Edited(arguments):
            return _edited(run, wanted, arguments), ToolApprovalResolved(call_id=call_id, decision="edited")
        case _:
            assert_never(approval)


def _remember(run: Run, rule: Rule) -> None:
    problem = run.state.grants.remember(rule)
    if problem:
        run.bus.publish(Notice(text=problem, level="warning"))


def _edited(run: Run, wanted: Allowed, arguments: JsonObject) -> Decision:
    """The person's own words are leave enough, but neither a schema nor what is forbidden bends to them."""
    changed = _changed(wanted, arguments, "The person changed the arguments before allowing the call")
    if isinstance(changed, Refused):
        return changed
    verdict = decide(run.state.approval, changed.risk, run.state.grants, wanted.tool.name)
    return _refuse(verdict.reason) if isinstance(verdict, Deny) else changed


def _changed(wanted: Allowed, arguments: JsonObject, why: str) -> Decision:
    """The call with other arguments, which observers and the model are told of."""
    try:
        checked = wanted.tool.validate(deepcopy(arguments))
    except InvalidArguments as error:
        return _refuse(str(error))
    return replace(
        wanted,
        call=replace(wanted.call, arguments=deepcopy(checked)),
        arguments=checked,
        risk=wanted.tool.risk(checked),
        note=f"{why}: {json.dumps(checked, ensure_ascii=False)}\n",
    )


def _refuse(text: str) -> Refused:
    return Refused(ToolOutput.failure(text))


def _denial(reason: str, *, unasked: bool) -> ToolOutput:
    denied = "This call needs the person's leave" if unasked else "The person denied this call"
    text = f"{denied}: {reason}" if reason else f"{denied}."
    return ToolOutput.failure(text, details={"denied": True})


def _unknown(run: Run, name: str) -> str:
    known = [tool.name for tool in run.tools]
    near = difflib.get_close_matches(name, known, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known) or 'none'}"
    return f"Error: unknown tool '{name}'; {hint}"


def _no_json(call: ToolCall, stop_reason: StopReason) -> str:
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
