"""Reminders: synthetic messages to the model about what has changed since the start of the session.

System prompt and tool list stay the same for a whole session, because services cache a request by its beginning. What
changes meanwhile, such as the mode, is announced at the end of the conversation, once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from harness.agent.run_state import Run
from harness.approval.modes import EXECUTE, MODES, PLAN, SUBMIT_PLAN, Mode, ModeName
from harness.instructions.prompts import prompt_text
from harness.messages import Message, UserMessage, synthetic

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


async def collect_reminders(run: Run) -> None:
    """Queue the reminders of the program for a run with a prompt."""
    if run.options.get_reminders is None or not run.request.prompts:
        return
    try:
        texts = await run.options.get_reminders(run.state.system_prompt, run.history.messages)
    except Exception:  # user-supplied; may raise
        logger.exception("the reminders of the program could not be collected")
        return
    for text in texts:
        run.inbox.reminders.put(synthetic(text))


def remind_of_mode(run: Run) -> None:
    """Queue a reminder if the mode is not the one announced last. A conversation without a reminder is in `EXECUTE`."""
    mode, progress = run.state.mode, run.progress
    progress.announced_mode = progress.announced_mode or announced_mode(run.history.outline).name
    if progress.announced_mode != mode.name:
        progress.announced_mode = mode.name
        run.inbox.reminders.put(synthetic(mode_reminder(mode, (tool.name for tool in run.state.tools))))


def announced_mode(messages: Sequence[Message]) -> Mode:
    """Return the mode that the conversation announced last."""
    for message in reversed(messages):
        # Comparing types keeps a thousand messages below a millisecond.
        if type(message) is UserMessage and message.synthetic and (mode := mode_announced_by(message)):
            return mode
    return EXECUTE


def mode_announced_by(message: UserMessage) -> Mode | None:
    """Return the mode that a synthetic message announces; None if it announces none."""
    text = message.text
    return next((MODES[name] for name, head in _HEADS.items() if text.startswith(head)), None)


def mode_reminder(mode: Mode, tool_names: Iterable[str]) -> str:
    """Return the reminder of a mode for an agent with these tools."""
    if mode is not PLAN:
        return PLAN_MODE_OFF
    return f"{prompt_text('plan')}\n\n{prompt_text('planning') if SUBMIT_PLAN in tool_names else WITHOUT_SUBMITTING}"
