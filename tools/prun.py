"""prun and prun_with_memo: remove the latest turns from the model's own context, if the user enables these tools."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from harness.context.grouping import MessageGroup
from harness.context.tokens import estimate_messages
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from tools.context_editing import NO_CONVERSATION, RemovableTurns, remove, turns_before
from tools.typed import Parameters, TypedTool

_NOTE = "[{count} messages were removed from the context with prun. Files are unchanged; recall finds the messages.]"


class PrunArguments(Parameters):
    tokens: Annotated[int, Meta(ge=1, description="Tokens to free, approximately.")]


class MemoArguments(PrunArguments):
    memo: Annotated[str, Meta(min_length=1, description="What to remember of the removed messages.")]


class PrunTool(TypedTool[PrunArguments]):
    name = "prun"
    label = "Prune context"
    risk_level = "none"
    Arguments = PrunArguments

    def summary(self, arguments: JsonObject) -> str:
        return f"{arguments['tokens']} tokens" if "tokens" in arguments else ""

    async def execute(self, arguments: PrunArguments, context: ToolContext) -> ToolOutput:
        return _prune(arguments.tokens, context, _NOTE)


class PrunWithMemoTool(TypedTool[MemoArguments]):
    name = "prun_with_memo"
    label = "Prune context"
    risk_level = "none"
    Arguments = MemoArguments

    def summary(self, arguments: JsonObject) -> str:
        return str(arguments.get("memo", ""))

    async def execute(self, arguments: MemoArguments, context: ToolContext) -> ToolOutput:
        return _prune(arguments.tokens, context, f"[Memo: {arguments.memo.strip()}]\n{_NOTE}")


def _prune(tokens: int, context: ToolContext, note: str) -> ToolOutput:
    conversation = context.conversation
    if conversation is None:
        return ToolOutput.failure(NO_CONVERSATION)
    turns = _latest(turns_before(conversation, context.call_id), tokens)
    if not turns:
        return ToolOutput.failure("Nothing can be removed: messages of the user, pinned messages and notes stay.")
    count, freed = remove(conversation, turns, note)
    return ToolOutput.text(f"Removed {count} messages, about {freed:,} tokens, from the context.")


def _latest(turns: RemovableTurns, tokens: int) -> list[MessageGroup]:
    """Return the latest turns that have at least `tokens` tokens in all, oldest first."""
    chosen: list[MessageGroup] = []
    for group in reversed(turns.groups):
        if tokens <= 0:
            break
        if turns.removable(group):
            chosen.insert(0, group)
            tokens -= estimate_messages(group)
    return chosen
