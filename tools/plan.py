"""submit_plan: the model's way out of plan mode, with the user's approval."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from harness.execution.spill import open_spill
from harness.messages import JsonObject, Text, new_id
from harness.ports.tool import ToolContext, ToolOutput
from harness.user_requests import Choice, Plan, PlanDecision, plan_text
from harness.views import TextView
from tools.typed import Parameters, TypedTool

UNASKED = "The plan was not reviewed, because no user could be asked. The run ends with the plan as its answer."
MOST_OPTIONS = 4


class OptionArguments(Parameters):
    name: str
    description: str = ""


class PlanArguments(Parameters):
    plan: Annotated[str, Meta(min_length=1, description="The whole plan, in Markdown.")]
    title: str = ""
    options: Annotated[
        tuple[OptionArguments, ...],
        Meta(description="2 to 4 approaches, your recommendation first."),
    ] = ()

    def __post_init__(self) -> None:
        names = {each.name.strip() for each in self.options} - {""}
        if self.options and not 2 <= len(names) == len(self.options) <= MOST_OPTIONS:
            raise ValueError(f"options: pass 2 to {MOST_OPTIONS} with different names, or none")


class PlanTool(TypedTool[PlanArguments]):
    name = "submit_plan"
    label = "Plan"
    risk_level = "none"
    Arguments = PlanArguments

    def summary(self, arguments: JsonObject) -> str:
        texts = (arguments.get("title"), arguments.get("plan"))
        lines = [line for text in texts if isinstance(text, str) for line in text.strip().splitlines()]
        return lines[0].lstrip("# ") if lines else ""

    async def execute(self, arguments: PlanArguments, context: ToolContext) -> ToolOutput:
        # Not in a thread: it takes no time, and requests of one reply are made in order.
        file = _saved(context.spill_dir, arguments.plan)
        options = tuple(Choice(each.name, each.description) for each in arguments.options)
        plan = Plan(arguments.plan, arguments.title, options, file)
        decision = await context.propose_plan(plan)
        if decision.non_interactive:
            view = TextView(plan_text(plan), language="markdown")
            return ToolOutput((Text(UNASKED),), view, {"accepted": False}, terminate=True)
        details: JsonObject = {"accepted": decision.accepted}
        if not decision.accepted:
            view = TextView(plan_text(plan), language="markdown")
            return ToolOutput.text(_rejection(decision.feedback.strip()), view=view, details=details)
        final = decision.plan or _read(file) or arguments.plan
        if decision.option:
            details["option"] = decision.option
        view = TextView(plan_text(Plan(final, arguments.title, options), decision.option), language="markdown")
        edited = final if final.strip() != arguments.plan.strip() else ""
        return ToolOutput.text(_acceptance(plan, decision, edited), view=view, details=details)


def _saved(folder: Path, text: str) -> Path | None:
    """Return a new file with the text; None if it cannot be written."""
    path = folder / f"plan-{new_id()[:8]}.md"
    try:
        with open_spill(path) as file:
            file.write(text)
    except OSError:
        return None
    return path


def _read(file: Path | None) -> str:
    """Return the text of the file, which the user may have edited; empty if it cannot be read or is blank."""
    with suppress(OSError):
        text = file.read_text(encoding="utf-8", errors="replace") if file else ""
        return text if text.strip() else ""
    return ""


def _acceptance(plan: Plan, decision: PlanDecision, edited: str) -> str:
    feedback, option = decision.feedback.strip(), decision.option
    remark = f" The user adds: {feedback}" if feedback else ""
    chosen = f" The user chose {option!r}." if option else ""
    if plan.options and not option:
        chosen = " The user chose none of the options: take the one you recommend."
    where = f"\nThe plan is in {plan.file}." if plan.file else ""
    text = f"\n\nThe user edited the plan. Carry out this version:\n{edited}" if edited else ""
    accepted = f"The user accepted the plan.{chosen} Plan mode is over: carry the plan out now, step by step."
    return f"{accepted}{remark}{where}{text}"


def _rejection(feedback: str) -> str:
    if feedback:
        return (
            f"The plan was not accepted: {feedback}\n"
            "Plan mode continues. If the feedback asks for a change, revise the plan and submit it again."
        )
    return "The plan was not accepted, and no reason was given. Plan mode continues; ask what to change."
