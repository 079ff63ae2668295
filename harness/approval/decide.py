"""Decision on a tool call: by assessment, by policy, by hooks, and by the user if the policy requires it.

A call that the policy denies reaches neither hooks nor the user. Arguments that a hook changes are assessed again, as
if the model had sent them; the hooks do not see them again.
"""

from __future__ import annotations

import asyncio
import logging
from copy import deepcopy
from typing import assert_never

from msgspec.structs import replace

from harness.approval.assessment import (
    Allowed,
    ApprovalContext,
    Outcome,
    PendingApproval,
    changed,
    checked,
    denial_of,
    evaluate_policy,
    preview,
    with_access,
)
from harness.approval.batch import Batch
from harness.approval.revision import Revision, apply_revision, is_revisable, rejections, with_hunks
from harness.concurrency import cancel_tasks
from harness.events import Notice, ToolApprovalRequested, ToolApprovalResolved
from harness.messages import JsonObject, StopReason, ToolCall
from harness.permissions import Decision, Rule
from harness.ports.hooks import Block, CallReview, Modify
from harness.ports.tool import Revisable, ToolContext, ToolOutput, failure_of
from harness.user_requests import (
    AllowAlways,
    AllowForSession,
    AllowHunks,
    AllowOnce,
    AllowWithArguments,
    ApprovalDecision,
    BatchApproval,
    Denied,
    ProposeRevision,
)
from harness.views import DiffView

logger = logging.getLogger(__name__)

WITHDRAWN = "the question was withdrawn"
INVALID_APPROVAL = "The approval decision does not fit this call, so it did not run."


async def decide_call(
    run: ApprovalContext, call: ToolCall, context: ToolContext, stop_reason: StopReason, batch: Batch
) -> Outcome | Block:
    """Decide on one call, asking the user if the policy requires it. Never runs the tool.

    Args:
        run: The run.
        call: The call.
        context: Services for the preview.
        stop_reason: Stop reason of the reply.
        batch: The calls of the reply.

    Returns:
        The call if it may run, else its output, or the verdict of a hook that blocked it.
    """
    try:
        wanted = checked(run, call, stop_reason)
        return await _Approval(run, context, batch).decide(wanted) if isinstance(wanted, Allowed) else wanted
    except Exception as error:  # user-supplied tool or policy; may raise. A call that cannot be assessed does not run
        logger.exception("tool %s: assessment failed", call.name)
        return failure_of(call, error)


async def preview_call(
    run: ApprovalContext, call: ToolCall, context: ToolContext, stop_reason: StopReason
) -> PendingApproval | None:
    """Return the approval request of a later call as far as it can be known now; None if it needs none."""
    try:
        wanted = checked(run, call, stop_reason)
        if isinstance(wanted, ToolOutput):
            return None
        decision = evaluate_policy(run, wanted)
        if decision.kind != "ask":
            return None
        asked = await preview(wanted, decision, context)
    except Exception:  # user-supplied tool; may raise. The error is reported when its call is decided
        logger.exception("tool %s: preview failed", call.name)
        return None
    return asked if isinstance(asked, PendingApproval) else None


class _Approval:
    """Decision on one call, by the policy, the hooks or the user."""

    def __init__(self, run: ApprovalContext, context: ToolContext, batch: Batch) -> None:
        self._run = run
        self._context = context
        self._batch = batch

    async def decide(self, wanted: Allowed) -> Outcome | Block:
        decision = evaluate_policy(self._run, wanted)
        if decision.kind == "deny":
            return denial_of(decision)
        if not self._run.hooks:
            return await self._by_policy(wanted, decision)
        reviewed = await self._by_hooks(wanted)
        if not isinstance(reviewed, Allowed):
            return reviewed
        # A hook may have taken long, and the user may have changed the settings meanwhile.
        return await self._by_policy(reviewed, evaluate_policy(self._run, reviewed))

    async def _by_hooks(self, wanted: Allowed) -> Outcome | Block:
        """Return the call as the hooks leave it, or their verdict."""
        review = await self._review(wanted.call)
        wanted = replace(wanted, verdict=review.permission)
        match review.outcome:
            case Block() as block:
                return block
            case Modify(arguments):
                self._run.hooks.modified(wanted.call)
                note = "A hook of this program changed the arguments before the call ran"
                outcome = changed(wanted, arguments, note)
                return replace(outcome, verdict=review.permission) if isinstance(outcome, Allowed) else outcome
            case None:
                return wanted

    async def _review(self, call: ToolCall) -> CallReview:
        """Return the verdicts of the hooks. Hooks that ignore a cancellation are abandoned."""
        task = asyncio.create_task(self._run.hooks.before_tool(call))
        try:
            await asyncio.wait([task])
        finally:
            await cancel_tasks([task], self._run.options.cancel_grace_s)
        return task.result()

    async def _by_policy(self, wanted: Allowed, decision: Decision) -> Outcome:
        match decision.kind:
            case "allow":
                for rule in decision.rules:
                    self._run.permissions.store.record_use(rule)
                # Without approval, the tools stay in the workspace.
                is_off = self._run.permissions.approval == "off"
                return wanted if is_off else with_access(self._run, wanted, may_change=bool(decision.rules))
            case "deny":
                return denial_of(decision)
            case "ask":
                return with_access(self._run, await self._by_user(wanted, decision), may_change=True)

    async def _by_user(self, wanted: Allowed, decision: Decision) -> Outcome:
        asked = await preview(wanted, decision, self._context)
        if isinstance(asked, ToolOutput):
            return asked
        publish = self._run.bus.publish
        publish(ToolApprovalRequested(call=wanted.call, reason=decision.why))
        try:
            outcome, resolved = await self._decided_by_user(asked)
        except BaseException:
            publish(ToolApprovalResolved(call_id=wanted.call.id, decision="denied", reason=WITHDRAWN))
            raise
        publish(resolved)
        return outcome

    async def _decided_by_user(self, proposed: PendingApproval) -> tuple[Outcome, ToolApprovalResolved]:
        """Return the user's decision on the call, or on their revision of it."""
        asked = proposed
        while True:
            match await self._approval(asked):
                case None:
                    decision = ToolOutput.failure(INVALID_APPROVAL)
                case ProposeRevision(text):
                    decision = await self._revision(proposed, asked, text)
                    if isinstance(decision, PendingApproval):
                        asked = decision
                        continue
                case AllowHunks() as approval:
                    decision = await self._allow_hunks(asked, approval)
                case approval:
                    decision, resolved = self._apply(asked, approval)
                    is_edited = asked.is_revised and resolved.decision == "once"
                    return decision, replace(resolved, decision="edited") if is_edited else resolved
            kind = "denied" if isinstance(decision, ToolOutput) else "edited"
            return decision, ToolApprovalResolved(call_id=asked.wanted.call.id, decision=kind)

    async def _approval(self, asked: PendingApproval) -> ApprovalDecision | None:
        """Return the user's decision, made now or earlier, alone or in a batch; None if it does not fit."""
        while True:
            request = await self._batch.request(asked)
            approval = self._batch.take_answer(request) or await self._run.user.approve(request)
            if not isinstance(approval, BatchApproval):
                return approval
            recorded = self._batch.record(asked, request, approval)
            own = next((each.approval for each in recorded if each.request is request), None)
            # Permission rules apply at once, before the turn of their calls.
            for each in recorded:
                if each.request is not request and isinstance(each.approval, AllowForSession | AllowAlways):
                    self._grant(each.asked, each.approval)
            if own is not None or not recorded:
                return own
            if evaluate_policy(self._run, asked.wanted).kind == "allow":
                return AllowOnce()

    def _grant(self, asked: PendingApproval, approval: AllowForSession | AllowAlways) -> None:
        """Store permission rules, limited to what the request offered."""
        decision, store = asked.decision, self._run.permissions.store
        is_session = isinstance(approval, AllowForSession)
        rules: tuple[Rule | None, ...] = decision.session_offers if is_session else decision.offers
        if isinstance(approval, AllowAlways) and approval.exact:
            rules = (decision.exact_offer,)
        elif isinstance(approval, AllowAlways) and approval.server:
            rules = (decision.server_offer,)
        problems = {store.add(rule, persist=not is_session) for rule in rules if rule is not None}
        for problem in filter(None, problems):
            self._run.bus.publish(Notice(text=problem, level="warning"))

    async def _revision(
        self, proposed: PendingApproval, asked: PendingApproval, text: str
    ) -> PendingApproval | ToolOutput:
        if proposed.view is None or not is_revisable(proposed.wanted.tool, proposed.view):
            return ToolOutput.failure(INVALID_APPROVAL)
        if isinstance(asked.view, DiffView) and text == asked.view.old:
            return _denial("they reverted the whole change", non_interactive=False)
        revised = await self._revised(asked, apply_revision(proposed.view, text))
        if isinstance(revised, ToolOutput):
            return revised
        note = f"{proposed.wanted.note}{revised.wanted.note}"
        return replace(revised, wanted=replace(revised.wanted, note=note), is_revised=True)

    async def _allow_hunks(self, asked: PendingApproval, answer: AllowHunks) -> Outcome:
        view = asked.view
        if not isinstance(view, DiffView) or not is_revisable(asked.wanted.tool, view):
            return ToolOutput.failure(INVALID_APPROVAL)
        if not answer.rejected:
            return asked.wanted
        revision = with_hunks(view, answer.rejected)
        if revision is None:
            reasons = rejections(view, answer.rejected)
            return _denial(f"all hunks were rejected.\n{reasons}", non_interactive=False)
        revised = await self._revised(asked, revision)
        if isinstance(revised, ToolOutput):
            return revised
        # The result must be exactly what the user saw.
        if not isinstance(revised.view, DiffView) or (revised.view.old, revised.view.new) != (view.old, revision.text):
            return ToolOutput.failure(
                f"{view.path} could not be changed in part, so nothing was changed. Send smaller changes."
            )
        return replace(revised.wanted, note=f"{asked.wanted.note}{revision.note}")

    async def _revised(self, asked: PendingApproval, revision: Revision) -> PendingApproval | ToolOutput:
        """Return the revised call, assessed as if the model had sent it. The caller asks for approval."""
        tool = asked.wanted.tool
        view = asked.view
        arguments = None
        if isinstance(tool, Revisable) and view is not None:
            arguments = tool.revised(deepcopy(asked.wanted.arguments), view, revision.text)
        wanted = ToolOutput.failure(INVALID_APPROVAL) if arguments is None else changed(asked.wanted, arguments, "")
        if isinstance(wanted, ToolOutput):
            return wanted
        decision = evaluate_policy(self._run, wanted)
        if decision.kind == "deny":
            return denial_of(decision)
        if decision.kind == "allow":
            # It would run without approval, so no rule is offered.
            decision = Decision("ask", asked.decision.why, wanted.risk, asked.decision.rules, asked.decision.source)
        return await preview(replace(wanted, note=revision.note), decision, self._context)

    def _apply(
        self, asked: PendingApproval, approval: AllowOnce | AllowForSession | AllowAlways | Denied | AllowWithArguments
    ) -> tuple[Outcome, ToolApprovalResolved]:
        """Apply a decision, limited to what the request offered."""
        wanted, call_id = asked.wanted, asked.wanted.call.id
        match approval:
            case AllowOnce():
                return wanted, ToolApprovalResolved(call_id=call_id, decision="once")
            case AllowForSession() | AllowAlways():
                self._grant(asked, approval)
                kind = "session" if isinstance(approval, AllowForSession) else "always"
                return wanted, ToolApprovalResolved(call_id=call_id, decision=kind)
            case Denied(reason, non_interactive):
                resolved = ToolApprovalResolved(
                    call_id=call_id, decision="denied", reason=reason, non_interactive=non_interactive
                )
                return _denial(reason, non_interactive=non_interactive), resolved
            case AllowWithArguments(arguments):
                return self._edited(wanted, arguments), ToolApprovalResolved(call_id=call_id, decision="edited")
            case _:
                assert_never(approval)

    def _edited(self, wanted: Allowed, arguments: JsonObject) -> Outcome:
        """Validate arguments edited by the user. They need no approval, but schema and prohibitions apply."""
        edited = changed(wanted, arguments, "The user changed the arguments before allowing the call")
        if isinstance(edited, ToolOutput):
            return edited
        decision = evaluate_policy(self._run, edited)
        return denial_of(decision) if decision.kind == "deny" else edited


def _denial(reason: str, *, non_interactive: bool) -> ToolOutput:
    denied = "This call needs the user's approval" if non_interactive else "The user denied this call"
    text = f"{denied}: {reason}" if reason else f"{denied}."
    return ToolOutput.failure(text, details={"denied": True})
