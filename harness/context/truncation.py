"""Truncation of messages: fewer lines, fewer characters, no images.

Only user messages and tool results are truncated; a reply must go back to its vendor unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec.structs import replace

from harness.context.tokens import CHARS_PER_TOKEN, IMAGE_TOKENS, estimate_message, estimate_text
from harness.messages import Image, Message, Text, ToolResult, UserContent, UserMessage

Kinds: TypeAlias = tuple[type[ToolResult] | type[UserMessage], ...]

NO_IMAGE = Text("[Image removed to fit context window]")


def limit_lines(block: UserContent, lines: int) -> UserContent:
    """Return the first and last lines of a block, `lines` in all, with a note on the number removed."""
    if not isinstance(block, Text):
        return block
    all_lines = block.text.splitlines()
    if len(all_lines) <= lines:
        return block
    head = lines - lines // 2
    gone = len(all_lines) - lines
    kept = [*all_lines[:head], f"[... {gone} lines truncated ...]", *all_lines[len(all_lines) - lines // 2 :]]
    return _shorter(block, "\n".join(kept))


def head_and_tail(message: Message, share: int, kinds: Kinds = (ToolResult,)) -> Message:
    """Return the message with each block truncated to `share` tokens, if it is of one of these kinds."""
    if not isinstance(message, kinds) or all(_weigh(block) <= share for block in message.content):
        return message
    return replace(message, content=tuple(_cut(block, share) for block in message.content))


def truncated(groups: Sequence[Sequence[Message]], budget: int) -> list[list[Message]]:
    """Truncate the messages to `budget` tokens if possible; the longest texts are cut most.

    Tool output is cut before user messages.
    """
    shorter = _truncated(groups, budget, (ToolResult,))
    if sum(estimate_message(each) for group in shorter for each in group) <= budget:
        return shorter
    return _truncated(groups, budget, (ToolResult, UserMessage))


def _truncated(groups: Sequence[Sequence[Message]], budget: int, kinds: Kinds) -> list[list[Message]]:
    fixed = 0
    weights: list[int] = []
    for each in (message for group in groups for message in group):
        if isinstance(each, kinds):
            weights.extend(_weigh(block) for block in each.content)
        else:
            fixed += estimate_message(each)
    share = _share(weights, budget - fixed)
    return [[head_and_tail(each, share, kinds) for each in group] for group in groups]


def _share(weights: Sequence[int], room: int) -> int:
    """Return the largest share per block such that all blocks fit; what small ones leave goes to the large ones."""
    for at, weight in enumerate(sorted(weights)):
        share = max(0, room) // (len(weights) - at)
        if weight > share:
            return share
        room -= weight
    return max(weights, default=0)


def _weigh(block: UserContent) -> int:
    return IMAGE_TOKENS if isinstance(block, Image) else estimate_text(block.text)


def _cut(block: UserContent, tokens: int) -> UserContent:
    if _weigh(block) <= tokens:
        return block
    if isinstance(block, Image):
        return NO_IMAGE
    text = block.text
    room = int(tokens * CHARS_PER_TOKEN) - 1 - len(_note(len(text)))
    half = max(0, room // 2)
    return _shorter(block, text[:half] + _note(len(text) - 2 * half) + text[len(text) - half :])


def _note(gone: int) -> str:
    return f"\n[... {gone} characters truncated ...]\n"


def _shorter(block: Text, text: str) -> Text:
    return Text(text) if len(text) < len(block.text) else block
