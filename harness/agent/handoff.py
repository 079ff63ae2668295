"""Handoff: asks a model for the brief of a new session. The agent and its session stay as they are."""

from __future__ import annotations

from harness.agent.compaction import SummaryQuestion, live_facts, with_evicted
from harness.agent.run_state import Run
from harness.context.compaction import SummaryOptions, facts_for
from harness.context.handoff import plan_handoff, write_brief
from harness.errors import ContextWindowOverflow
from harness.instructions.changes import current_instructions
from harness.instructions.loading import compaction_instructions
from harness.ports.provider import known_model_info


async def handoff_brief(run: Run, focus: str = "") -> str:
    """Return the brief of a new session; the first line is its title.

    Args:
        run: A run that has not begun.
        focus: Task of the new session; empty: to finish the current work.

    Raises:
        SummaryFailed: There is no conversation, or no reply was usable.
        ProviderError: The model call failed.
    """
    policy = run.options.window
    model = run.options.compact_model or run.state.model
    plan = with_evicted(run, plan_handoff(run.state.context.overlay.apply(run.history.messages)))
    facts = facts_for(plan, live_facts(run), policy.prompts_tokens)
    instructions = compaction_instructions(current_instructions(run.state.system_prompt, run.history.messages))
    window = known_model_info(model).context_window
    ask = SummaryQuestion(run, model, "handoff")
    try:
        return await write_brief(plan, facts, ask, SummaryOptions(focus, instructions, policy.summary_tokens, window))
    except ContextWindowOverflow:
        # The known size of the window may be wrong.
        smaller = SummaryOptions(focus, instructions, policy.summary_tokens, window // 2)
        return await write_brief(plan, facts, ask, smaller)
