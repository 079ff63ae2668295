"""Planning phase of a run: submitted plans, the turn limit, and the switch to execution."""

from __future__ import annotations

import asyncio

from harness.agent.reminders import MOVED_ON, announce_mode
from harness.agent.run_state import Run
from harness.approval.interactions import ObservedInteraction
from harness.approval.modes import EXECUTE, PLAN, SUBMIT_PLAN
from harness.events import LimitReached, ModeChanged, PlanSubmitted
from harness.messages import synthetic
from harness.permissions import WRITE, Rule
from harness.ports.interaction import denies_calls
from harness.tool_mentions import mention
from harness.user_requests import Choice, Plan, PlanDecision, Question

LAST_TURN = "[This is the last turn of the planning phase. Submit the plan now with {submit_plan}, from what you know.]"

LIMIT_CHOICES = (
    Choice("Continue", "leave plan mode; calls that change anything need the usual approvals"),
    Choice("Stop", "end the run in plan mode"),
)


async def propose_plan(run: Run, plan: Plan) -> PlanDecision:
    """Publish a plan and ask the user to review it; an accepted plan ends plan mode."""
    file = str(plan.file or "")
    run.bus.publish(PlanSubmitted(plan=plan.text, title=plan.title, options=plan.options, file=file))
    verdict = await run.user.review_plan(plan) if run.options.planning.review else PlanDecision(accepted=True)
    if verdict.accepted and verdict.allow_edits:
        run.permissions.store.add(Rule(WRITE))
    if verdict.accepted:
        _execute(run)
    return verdict


def skip_planning_without_tool(run: Run) -> None:
    """Start with execution if planning would lead to it anyway, unasked, and no plan can be submitted."""
    planning = run.options.planning
    leads_to_execution = planning.on_limit == "execute" and not planning.review
    if leads_to_execution and all(tool.name != SUBMIT_PLAN for tool in run.state.tools):
        run.state.mode = EXECUTE


def count_turn(run: Run) -> None:
    """Count a turn towards the limit of its phase."""
    if run.state.mode is PLAN and run.options.planning.max_turns:
        run.meter.planning_turns += 1
    else:
        run.meter.turns += 1


async def planning_limit(run: Run) -> LimitReached | None:
    """Enforce the limit on planning turns before another turn.

    Before the last planning turn the model is asked to submit its plan. After it, the run continues with execution,
    which a user who reviews plans is asked about first, or the returned limit ends it.
    """
    limit, turns = run.options.planning.max_turns, run.meter.planning_turns
    if not limit or run.state.mode is not PLAN:
        return None
    if turns >= limit and run.options.planning.on_limit == "execute" and await _may_execute(run, limit):
        _execute(run)
        announce_mode(run, EXECUTE, MOVED_ON)
        return None
    if turns >= limit:
        return LimitReached(limit="turns", message=f"planning used its {limit} turns, and no plan was accepted")
    if turns == limit - 1:
        run.inbox.reminders.put(synthetic(mention(LAST_TURN, run.name_of)))
    return None


async def _may_execute(run: Run, limit: int) -> bool:
    """Ask the user whether to execute without an accepted plan; without a user, or without reviews, return True."""
    if not run.options.planning.review or denies_calls(run.user):
        return True
    prompt = f"Planning has used its {limit} turns, and no plan was accepted. Continue with all tools?"
    user = ObservedInteraction(run.user, asyncio.Lock(), run.bus, call_id="")
    answer = await user.ask(Question(prompt, LIMIT_CHOICES, header="Plan", free_text=False))
    return answer.index == 0


def _execute(run: Run) -> None:
    if run.state.mode is not EXECUTE:
        run.state.mode = EXECUTE
        run.bus.publish(ModeChanged(mode=EXECUTE.name))
