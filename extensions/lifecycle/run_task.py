"""Task type of one run, as a hook: finds it, instructs the model, and applies its tools, limits and completion."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from extensions.lifecycle.task_types import TaskType
from harness.agent.limits import Limits, Meter
from harness.agent.tool_filter import ALWAYS_OFFERED
from harness.events import CompactionTrigger
from harness.messages import AssistantMessage, Message, ToolCall, UserMessage
from harness.ports.hooks import Block, Hooks, Inject, Stop, TurnVerdict
from harness.ports.tool import is_tool_allowed


class ChosenTask(Struct, frozen=True):
    """Task type of a run, with the instructions for the model."""

    task: TaskType
    """The task type."""
    reason: str = ""
    """Reason for it, for users and the model."""
    instructions: str = ""
    """Text of its template."""


_HEAD = "[Task type: "

Choose: TypeAlias = Callable[[UserMessage], Awaitable[ChosenTask | None]]
"""Function that returns the task type of a prompt; None if it has none."""


class RunTask(Hooks):
    """Applies the task type of a run, which it finds before the first turn, after the guardrails.

    The declared tools stay the same, since services cache a request by its beginning: calls of others are blocked.
    Subagents have the tools of the task type, and their cost counts.

    Args:
        choose: Function that returns the task type of the prompt, or of the prompt that the run continues.
    """

    is_shared = True

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._prompt_id = ""
        self._task: TaskType | None = None
        self._message = ""
        self._is_compacted = False
        self._is_decided = False
        self._meter = Meter(Limits(max_turns=0))
        self._continuations = 0

    def for_run(self) -> RunTask:
        return RunTask(self._choose)

    async def before_turn(self, messages: Sequence[Message], turn: int) -> TurnVerdict:
        if not self._is_decided:
            self._is_decided = True
            return await self._begin(messages)
        self._meter.turns = turn - 1
        limit = self._meter.exceeded()
        if limit:
            return Stop(f"{limit.message} for tasks of the type {self._name}")
        # A subagent has its own conversation.
        if not self._is_compacted or not any(each.id == self._prompt_id for each in messages):
            return None
        self._is_compacted = False
        return Inject(self._message)

    async def _begin(self, messages: Sequence[Message]) -> Inject | None:
        prompt = latest_prompt(messages)
        chosen = await self._choose(prompt) if prompt else None
        if prompt is None or chosen is None:
            return None
        task = self._task = chosen.task
        self._prompt_id, self._message = prompt.id, message_for(chosen)
        self._meter.limits = task.limits
        self.counts_cost = task.limits.max_cost > 0
        return Inject(self._message) if _is_new(messages, prompt) else None

    async def before_compact(self, trigger: CompactionTrigger, tokens: int) -> None:
        # The summary may lack the message about the task type, which the next turn repeats.
        self._is_compacted = self._task is not None

    async def after_model(self, reply: AssistantMessage) -> None:
        self._meter.ledger.priced += reply.usage

    async def before_tool(self, call: ToolCall) -> Block | None:
        if not self.reviews(call.name):
            return None
        return Block(
            f"The tool {call.name} is not available for tasks of the type {self._name}. Use one of: "
            f"{', '.join(self._task.tools if self._task else ())}; or explain to the user what it was needed for."
        )

    def reviews(self, tool_name: str) -> bool:
        return self._task is not None and not allows_tool(self._task, tool_name)

    async def before_stop(self, reply: AssistantMessage) -> Inject | None:
        task = self._task
        if task is None or not task.markers or self._continuations >= task.max_continuations:
            return None
        text = reply.text.casefold()
        if any(marker.casefold() in text for marker in task.markers):
            return None
        self._continuations += 1
        return Inject(
            f"[The task is not marked as complete. Continue with it. When it is complete, or cannot be completed "
            f"without the user, end your reply with {task.markers[0]}.]"
        )

    @property
    def _name(self) -> str:
        return self._task.name if self._task else ""


def latest_prompt(messages: Sequence[Message]) -> UserMessage | None:
    """Return the last message of the user."""
    return next((each for each in reversed(messages) if isinstance(each, UserMessage) and not each.synthetic), None)


def _is_new(messages: Sequence[Message], prompt: UserMessage) -> bool:
    """Return True if a run begins with this prompt, and does not continue an earlier one."""
    after = messages[messages.index(prompt) + 1 :]
    return not any(
        isinstance(each, AssistantMessage) or (isinstance(each, UserMessage) and each.text.startswith(_HEAD))
        for each in after
    )


def allows_tool(task: TaskType, name: str) -> bool:
    """Return True if runs of a task type may use a tool; those that only concern the conversation always may."""
    return not task.tools or is_tool_allowed(name, (*task.tools, *ALWAYS_OFFERED))


def message_for(chosen: ChosenTask) -> str:
    """Return the message to the model about the task type of its run; users see its first paragraph."""
    task, limit = chosen.task, chosen.task.limits.max_turns
    reason = f" ({chosen.reason})" if chosen.reason else ""
    rules = [
        f"Use only these tools: {', '.join(task.tools)}." if task.tools else "",
        f"The run ends after {limit} turn{'' if limit == 1 else 's'}." if limit else "",
        f"End the reply that completes the task with {task.markers[0]}." if task.markers else "",
    ]
    head = f"{_HEAD}{' '.join(filter(None, (f'{task.name}{reason}.', *rules)))}]"
    return f"{head}\n\n{chosen.instructions}" if chosen.instructions else head
