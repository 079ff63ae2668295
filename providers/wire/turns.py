"""A conversation by turns, as services want it that take one message of each side at a time."""

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


class Writer(Protocol):
    """Writes in the form of one service; what is nothing to it is left out."""

    def said(self, content: Iterable[UserContent]) -> Iterable[JsonValue]: ...

    def result(self, message: ToolResult) -> JsonValue: ...

    def beside(self, message: ToolResult) -> Iterable[JsonValue]:
        """What of a result cannot be inside of it, and is said after all of them."""
        ...

    def reply(self, message: AssistantMessage) -> Iterable[JsonValue]: ...


def turns_of(messages: Sequence[ModelMessage], writer: Writer, opening: JsonValue) -> list[Turn]:
    """The person's and the model's turns, one after the other, the results of a reply's calls first in what follows it.

    The first is the person's; where the history begins with a reply, `beginning` is said before. All else is refused,
    or joined by the service in its own way.
    """
    turns: list[Turn] = []
    for speaker, said in _told(messages, writer):
        if not said:
            continue
        if not turns and speaker == "model":
            turns.append(("user", [opening]))
        if turns and turns[-1][0] == speaker:
            turns[-1][1].extend(said)
        else:
            turns.append((speaker, said))
    return turns


def _told(messages: Sequence[ModelMessage], writer: Writer) -> Iterator[Turn]:
    results: list[JsonValue] = []
    said: list[JsonValue] = []
    for message in messages:
        match message:
            case ToolResult():
                results.append(writer.result(message))
                said.extend(writer.beside(message))
            case UserMessage():
                said.extend(writer.said(message.content))
            case AssistantMessage():
                yield "user", [*results, *said]
                results, said = [], []
                yield "model", [*writer.reply(message)]
    yield "user", [*results, *said]


def images_after(
    message: ToolResult, tool: str, call_id: str, blocks: Callable[[Iterable[UserContent]], Iterable[JsonValue]]
) -> Iterator[JsonValue]:
    """Yield the images of a tool result for a model that accepts them only outside the result."""
    images = [block for block in message.content if isinstance(block, Image)]
    if images:
        yield {"text": f"The result of {tool} ({call_id}) shows:"}
        yield from blocks(images)


def ids_with_thinking(messages: Iterable[ModelMessage]) -> set[str]:
    """The ids of the replies that have a thought in them."""
    return {
        message.id
        for message in messages
        if isinstance(message, AssistantMessage) and any(isinstance(block, Thinking) for block in message.content)
    }
