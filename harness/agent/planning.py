"""Planning phase of a run: submitted plans, the turn limit, and the switch to execution."""

from __future__ import annotations

from harness.agent.reminders import MOVED_ON, announce_mode
from harness.agent.run_state import Run
from harness.approval.modes import EXECUTE, PLAN, SUBMIT_PLAN
from harness.events import LimitReached, ModeChanged, PlanSubmitted
from harness.messages import synthetic
from harness.permissions import WRITE, Rule
from harness.user_requests import Plan, PlanDecision

LAST_TURN = "[This is the last turn of the planning phase. Submit the plan now with submit_plan, from what you know.]"


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
    """Start with execution if planning would lead to it anyway and no plan can be submitted."""
    if run.options.planning.on_limit == "execute" and all(tool.name != SUBMIT_PLAN for tool in run.state.tools):
        run.state.mode = EXECUTE


def count_turn(run: Run) -> None:
    """Count a turn towards the limit of its phase."""
    if run.state.mode is PLAN and run.options.planning.max_turns:
        run.meter.planning_turns += 1
    else:
        run.meter.turns += 1


def planning_limit(run: Run) -> LimitReached | None:
    """Enforce the limit on planning turns before another turn.

    Before the last planning turn the model is asked to submit its plan. After it, the run continues with execution, or
    the returned limit ends it.
    """
    limit, turns = run.options.planning.max_turns, run.meter.planning_turns
    if not limit or run.state.mode is not PLAN:
        return None
    if turns >= limit and run.options.planning.on_limit == "execute":
        _execute(run)
        announce_mode(run, EXECUTE, MOVED_ON)
        return None
    if turns >= limit:
        return LimitReached(limit="turns", message=f"planning used its {limit} turns, and no plan was accepted")
    if turns == limit - 1:
        run.inbox.reminders.put(synthetic(LAST_TURN))
    return None


def _execute(run: Run) -> None:
    if run.state.mode is not EXECUTE:
        run.state.mode = EXECUTE
        run.bus.publish(ModeChanged(mode=EXECUTE.name))
