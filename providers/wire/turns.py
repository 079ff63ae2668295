"""Conversation as alternating turns, for services that require them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from harness.messages import (
    AssistantMessage,
    Image,
    JsonValue,
    ModelMessage,
    Thinking,
    ToolResult,
    UserContent,
    UserMessage,
)

Speaker: TypeAlias = Literal["user", "model"]
Turn: TypeAlias = tuple[Speaker, list[JsonValue]]

ROLES: Mapping[Speaker, str] = {"user": "user", "model": "assistant"}
"""Roles as Anthropic and Bedrock name them."""
OPENING_TEXT = "Go on."
"""User message put before a history that begins with a reply, which services refuse."""


class TurnEncoder(Protocol):
    """Encodes message content in the format of one service; unsupported content is omitted."""

    def user_blocks(self, content: Iterable[UserContent]) -> Iterable[JsonValue]: ...

    def tool_result(self, message: ToolResult) -> JsonValue: ...

    def after_results(self, message: ToolResult) -> Iterable[JsonValue]:
        """Return what a tool result cannot contain, placed after all results."""
        ...

    def assistant_blocks(self, message: AssistantMessage) -> Iterable[JsonValue]: ...


def turns_of(messages: Sequence[ModelMessage], encoder: TurnEncoder, opening: JsonValue) -> list[Turn]:
    """Return alternating turns of the user and the model; tool results come first in the user's turn.

    The first turn is the user's: if the history begins with a reply, `opening` precedes it. Services reject anything
    else, or
    join it in their own way.
    """
    turns: list[Turn] = []
    for speaker, content in _spoken(messages, encoder):
        if not content:
            continue
        if not turns and speaker == "model":
            turns.append(("user", [opening]))
        if turns and turns[-1][0] == speaker:
            turns[-1][1].extend(content)
        else:
            turns.append((speaker, content))
    return turns


def _spoken(messages: Sequence[ModelMessage], encoder: TurnEncoder) -> Iterator[Turn]:
    results: list[JsonValue] = []
    content: list[JsonValue] = []
    for message in messages:
        match message:
            case ToolResult():
                results.append(encoder.tool_result(message))
                content.extend(encoder.after_results(message))
            case UserMessage():
                content.extend(encoder.user_blocks(message.content))
            case AssistantMessage():
                yield "user", [*results, *content]
                results, content = [], []
                yield "model", [*encoder.assistant_blocks(message)]
    yield "user", [*results, *content]


def images_after(
    message: ToolResult, tool: str, call_id: str, blocks: Callable[[Iterable[UserContent]], Iterable[JsonValue]]
) -> Iterator[JsonValue]:
    """Yield the images of a tool result for a model that accepts them only outside the result."""
    images = [block for block in message.content if isinstance(block, Image)]
    if images:
        yield {"text": f"The result of {tool} ({call_id}) shows:"}
        yield from blocks(images)


def ids_with_thinking(messages: Iterable[ModelMessage]) -> set[str]:
    """Return the ids of replies that contain thinking."""
    return {
        message.id
        for message in messages
        if isinstance(message, AssistantMessage) and any(isinstance(block, Thinking) for block in message.content)
    }
