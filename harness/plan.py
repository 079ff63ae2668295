"""A plan is put before the person; only their yes leaves plan mode."""

from __future__ import annotations

from harness.events import ModeChanged, PlanSubmitted
from harness.modes import EXECUTE
from harness.person import PlanVerdict
from harness.run import Run


async def propose_plan(run: Run, plan: str) -> PlanVerdict:
    run.bus.publish(PlanSubmitted(plan=plan))
    verdict = await run.person.review_plan(plan)
    if verdict.accepted and verdict.allow_edits:
        run.state.grants.allow_edits()
    if verdict.accepted and run.state.mode is not EXECUTE:
        run.state.mode = EXECUTE
        run.bus.publish(ModeChanged(mode=EXECUTE.name))
    return verdict
