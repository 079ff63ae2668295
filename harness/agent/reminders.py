"""Reminders: synthetic messages to the model about what has changed since the start of the session.

System prompt and tool list stay the same for a whole session, because services cache a request by its beginning. What
changes meanwhile, such as the mode, is announced at the end of the conversation, once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from harness.agent.run_state import Run
from harness.approval.modes import EXECUTE, PLAN, SUBMIT_PLAN, Mode, ModeName
from harness.context.pipeline import context_tokens, limits_for
from harness.instructions.prompts import prompt_text
from harness.messages import Message, UserMessage, synthetic
from harness.tool_mentions import renamed

logger = logging.getLogger(__name__)

_HEADS: dict[ModeName, str] = {PLAN.name: "[Plan mode is on", EXECUTE.name: "[Plan mode is off"}
"""Beginnings of the reminders of each mode; sessions store the text."""
PLAN_MODE_OFF = f"{_HEADS[EXECUTE.name]}. All tools may be used again, with the usual approvals.]"
MOVED_ON = (
    f"{_HEADS[EXECUTE.name]}: the planning phase has reached its turn limit. All tools are available now: carry out "
    "the task.]"
)
WITHOUT_SUBMITTING = "Reply with what you find, or with the plan in words."
"""Instruction in plan mode for an agent that has no tool to submit a plan, such as a subagent."""

_ADVICE = (
    "Spend the rest with care: read only the parts of files you need, keep the output of commands short, and finish "
    "what you have begun before you start something else.",
    "Old tool output is cleared from now on, and older messages are summarized when it gets fuller. Write down in your "
    "reply what you still need from them: decisions, places, commands.",
)
"""Advice when the context reaches the share `advise_at`, and when it reaches `warn_at`."""


async def collect_reminders(run: Run) -> None:
    """Queue the reminders of the program for a run with a prompt."""
    if run.options.get_reminders is None or not run.request.prompts:
        return
    try:
        # A reminder that was summarized is needed again.
        messages = run.state.context.overlay.apply(run.history.messages)
        texts = await run.options.get_reminders(run.state.system_prompt, messages)
    except Exception:  # user-supplied; may raise
        logger.exception("the reminders of the program could not be collected")
        return
    for text in texts:
        run.inbox.reminders.put(synthetic(text))


def remind_of_mode(run: Run) -> None:
    """Queue a reminder if the mode is not the one announced last. A conversation without a reminder is in `EXECUTE`."""
    mode, progress = run.state.mode, run.progress
    if not progress.announced_mode:
        progress.announced_mode, run.state.context.reminder_id = _announced_mode(run.history.outline)
    if progress.announced_mode != mode.name:
        text = mode_reminder(mode, (tool.name for tool in run.state.tools))
        announce_mode(run, mode, renamed(text, run.name_of))


def remind_of_tools(run: Run) -> None:
    """Queue a reminder of the tools of sources that have appeared or gone."""
    text = run.state.late.announcement()
    # A resumed session may contain it.
    if text and not any(type(each) is UserMessage and each.synthetic and each.text == text for each in run.history):
        run.inbox.reminders.put(synthetic(text))


def announce_mode(run: Run, mode: Mode, text: str) -> None:
    """Queue a reminder of a mode, which stays in the context until the next one."""
    reminder = synthetic(text)
    run.progress.announced_mode, run.state.context.reminder_id = mode.name, reminder.id
    run.inbox.reminders.put(reminder)


def remind_of_context(run: Run) -> None:
    """Queue advice on the size of the context, once for each level, and again after the context was below it."""
    state, policy = run.state.context, run.options.window
    tokens = context_tokens(run.state, run.history, (*run.state.offered_tools, *run.request.tools))
    usable = limits_for(policy, run.state, run.state.model).usable
    state.has_failed_handoff &= tokens > policy.handoff_at * usable
    if 0 < policy.compact_at * usable < tokens:
        return  # the context is about to shrink
    level = sum(0 < share * usable <= tokens for share in (policy.advise_at, policy.warn_at))
    if level > state.advised:
        head = f"[The context is {100 * tokens / usable:.0f} % full: {tokens:,} of {usable:,} tokens.]"
        run.inbox.reminders.put(synthetic(f"{head}\n\n{_ADVICE[level - 1]}"))
    state.advised = level


def _announced_mode(messages: Sequence[Message]) -> tuple[ModeName, str]:
    """Return the mode that the conversation announced last, and the id of the reminder; empty if it has none."""
    for message in reversed(messages):
        # Comparing types keeps a thousand messages below a millisecond.
        if type(message) is UserMessage and message.synthetic:
            for name, head in _HEADS.items():
                if message.text.startswith(head):
                    return name, message.id
    return EXECUTE.name, ""


def mode_reminder(mode: Mode, tool_names: Iterable[str]) -> str:
    """Return the reminder of a mode for an agent with these tools."""
    if mode is not PLAN:
        return PLAN_MODE_OFF
    return f"{prompt_text('plan')}\n\n{prompt_text('planning') if SUBMIT_PLAN in tool_names else WITHOUT_SUBMITTING}"
