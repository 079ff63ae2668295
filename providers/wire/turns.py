"""Conversation as alternating turns, for services that require them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Set
from itertools import groupby
from operator import itemgetter
from typing import Literal, TypeAlias

from harness.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    JsonValue,
    ModelMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserContent,
    UserMessage,
)
from harness.ports.provider import Request
from providers.wire.encoding import is_same_model, without_blanks

Role: TypeAlias = Literal["user", "assistant"]
Turn: TypeAlias = tuple[Role, list[JsonValue]]

OPENING_TEXT = "Go on."
"""User message put before a history that begins with a reply, which services refuse."""


class TurnEncoder(ABC):
    """Encodes the messages of a request as turns; a subclass writes each kind of block in the format of a service.

    Args:
        request: The request.
        unreadable: Ids of replies whose thinking the service rejects; it is left out.
    """

    def __init__(self, request: Request, unreadable: Set[str] = frozenset()) -> None:
        self._spec = request.spec
        self._messages = request.messages
        self._unreadable = unreadable

    @abstractmethod
    def text(self, text: str) -> JsonObject: ...

    @abstractmethod
    def image(self, image: Image) -> JsonObject: ...

    @abstractmethod
    def thinking(self, block: Thinking) -> JsonObject | None:
        """Return thinking of the model itself; None if it cannot be sent back."""

    def reply_text(self, block: Text) -> JsonObject:
        """Return text of the model itself, with what has to be sent back of its signature."""
        return self.text(block.text)

    @abstractmethod
    def call(self, call: ToolCall) -> JsonObject: ...

    @abstractmethod
    def tool_result(self, message: ToolResult) -> JsonObject: ...

    def after_results(self, message: ToolResult) -> Iterable[JsonValue]:
        """Return what a tool result cannot contain, placed after all results."""
        return ()

    def user_blocks(self, content: Iterable[UserContent]) -> Iterator[JsonValue]:
        for block in without_blanks(content):
            yield self.image(block) if isinstance(block, Image) else self.text(block.text)

    def returns_thinking(self, message: AssistantMessage) -> bool:
        """Return True if the thinking of a reply is sent back."""
        # Thinking is signed for the model that wrote it; another model ignores or rejects it.
        return is_same_model(message, self._spec) and message.id not in self._unreadable

    def assistant_blocks(self, message: AssistantMessage) -> Iterable[JsonValue]:
        returns_thinking = self.returns_thinking(message)
        for block in message.content:
            match block:
                case Text(text):
                    if text.strip():
                        yield self.reply_text(block) if returns_thinking else self.text(text)
                case Thinking():
                    if returns_thinking and (thinking := self.thinking(block)):
                        yield thinking
                case ToolCall():
                    yield self.call(block)

    def images_after(self, message: ToolResult, tool: str, call_id: str) -> Iterator[JsonValue]:
        """Yield the images of a tool result for a model that accepts them only outside the result."""
        images = [block for block in message.content if isinstance(block, Image)]
        if images:
            yield self.text(f"The result of {tool} ({call_id}) shows:")
            yield from self.user_blocks(images)

    def turns(self) -> list[Turn]:
        """Return alternating turns of the user and the model; tool results come first in the user's turn.

        The first turn is the user's, even if the history begins with a reply. Services reject anything else, or join it
        in their own way.
        """
        unmerged = (turn for turn in self._unmerged_turns() if turn[1])
        grouped = groupby(unmerged, key=itemgetter(0))
        turns: list[Turn] = [(role, [block for _, content in group for block in content]) for role, group in grouped]
        is_reply_first = bool(turns) and turns[0][0] == "assistant"
        return [("user", [self.text(OPENING_TEXT)]), *turns] if is_reply_first else turns

    def _unmerged_turns(self) -> Iterator[Turn]:
        results: list[JsonValue] = []
        content: list[JsonValue] = []
        for message in self._messages:
            match message:
                case ToolResult():
                    results.append(self.tool_result(message))
                    content.extend(self.after_results(message))
                case UserMessage():
                    content.extend(self.user_blocks(message.content))
                case AssistantMessage():
                    yield "user", [*results, *content]
                    results, content = [], []
                    yield "assistant", [*self.assistant_blocks(message)]
        yield "user", [*results, *content]


def with_result_images(messages: Iterable[ModelMessage]) -> Iterator[ModelMessage]:
    """Yield the messages, with the images of tool results repeated in a user message after the last of the results.

    For formats whose tool messages cannot contain images.
    """
    for is_result, group in groupby(messages, key=lambda message: isinstance(message, ToolResult)):
        batch = [*group]
        yield from batch
        images = [block for message in batch for block in message.content if isinstance(block, Image)]
        if is_result and images:
            yield UserMessage((Text("Images from the tool results above:"), *images))


def ids_with_thinking(messages: Iterable[ModelMessage]) -> set[str]:
    """Return the ids of replies that contain thinking."""
    return {
        message.id
        for message in messages
        if isinstance(message, AssistantMessage) and any(isinstance(block, Thinking) for block in message.content)
    }
