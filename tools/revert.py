"""revert_to_state: returns the model's own context to an earlier reply, if the user enables this tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from harness.context.call_description import describe_call
from harness.context.grouping import MessageGroup
from harness.context.summary_facts import truncated_line
from harness.messages import AssistantMessage, JsonObject, Message, UserMessage
from harness.ports.tool import ToolContext, ToolOutput
from tools.context_editing import NO_CONVERSATION, RemovableTurns, prompt_in, remove, turns_before
from tools.typed import Parameters, TypedTool

Category: TypeAlias = Literal["failure", "tangent", "completion", "step-summary"]

TAGS: dict[Category, str] = {
    "failure": "Lesson",
    "tangent": "Finding",
    "completion": "Outcome",
    "step-summary": "Checkpoint",
}
"""Tag of the note by category."""
MAX_LISTED = 20
"""Number of latest steps to list."""

_STEP = re.compile(r"\[?n?(-?\d+)\]?")


class RevertArguments(Parameters):
    category: Annotated[
        Category,
        Meta(
            description="A dead end, a finished exploration, a finished subtask, or a checkpoint of a long task.",
            extra_json_schema={"type": "string"},
        ),
    ]
    step: Annotated[
        str, Meta(description="Last reply to keep: n12 is the 12th of the conversation, -3 the third before this one.")
    ]
    summary: Annotated[str, Meta(min_length=1, description="What to remember of the removed steps.")]


class RevertTool(TypedTool[RevertArguments]):
    name = "revert_to_state"
    label = "Revert context"
    risk_level = "none"
    Arguments = RevertArguments

    def summary(self, arguments: JsonObject) -> str:
        return " · ".join(str(arguments[key]) for key in ("step", "summary") if arguments.get(key))

    async def execute(self, arguments: RevertArguments, context: ToolContext) -> ToolOutput:
        conversation = context.conversation
        if conversation is None:
            return ToolOutput.failure(NO_CONVERSATION)
        steps = _Steps(await conversation.history(), turns_before(conversation, context.call_id))
        number = steps.number(arguments.step)
        if number is None:
            return ToolOutput.failure(f"There is no step {arguments.step!r}. The latest are:\n{steps.listed()}")
        span = steps.after(number)
        if (prompt := prompt_in(span)) is not None:
            return ToolOutput.failure(_with_prompt(number, prompt, steps))
        turns = [group for group in span if steps.turns.removable(group)]
        if not turns:
            return ToolOutput.failure(f"No step after n{number} can be removed: pinned messages and notes stay.")
        note = (
            f"[{TAGS[arguments.category]}: {arguments.summary.strip()}]\n"
            f"[{{count}} messages after n{number} were removed from the context. Files are unchanged; recall finds "
            "the messages.]"
        )
        count, freed = remove(conversation, turns, note)
        return ToolOutput.text(
            f"Removed {count} messages after n{number}, about {freed:,} tokens, from the context. Files are unchanged."
        )


class _Steps:
    """Replies of a conversation by number, from 1; the context shows some of them."""

    def __init__(self, history: Sequence[Message], turns: RemovableTurns) -> None:
        self.turns = turns
        replies = [each for each in history if isinstance(each, AssistantMessage)]
        numbers = {each.id: number for number, each in enumerate(replies, 1)}
        self._shown: list[_Step] = [
            _Step(numbers[each.id], place, each)
            for place, group in enumerate(turns.groups)
            for each in group
            if isinstance(each, AssistantMessage) and each.id in numbers
        ]

    def number(self, step: str) -> int | None:
        """Return the number of a step that the context shows; None if it shows no such step."""
        match = _STEP.fullmatch(step.strip())
        number = int(match[1]) if match else 0
        if number < 0:
            number = self._shown[number].number if -number <= len(self._shown) else 0
        return number if any(each.number == number for each in self._shown) else None

    def after(self, number: int) -> tuple[MessageGroup, ...]:
        place = next(each.place for each in self._shown if each.number == number)
        return self.turns.groups[place + 1 :]

    def earliest(self) -> int:
        """Return the first step after which no message of the user follows; 0 if no step qualifies."""
        return next((each.number for each in self._shown if prompt_in(self.after(each.number)) is None), 0)

    def listed(self) -> str:
        return "\n".join(self._titles()) or "(none)"

    def _titles(self) -> Iterator[str]:
        for each in self._shown[-MAX_LISTED:]:
            calls = "; ".join(map(describe_call, each.reply.tool_calls))
            yield truncated_line(f"n{each.number}: {calls or each.reply.text}", 120)


class _Step(Struct, frozen=True):
    number: int
    place: int
    reply: AssistantMessage


def _with_prompt(number: int, prompt: UserMessage, steps: _Steps) -> str:
    text = truncated_line(prompt.text, 100)
    earliest = steps.earliest()
    hint = f"The earliest step to return to is n{earliest}." if earliest else "There is no step to return to yet."
    return f"The steps after n{number} contain a message of the user, which must stay: {text!r}. {hint}"
