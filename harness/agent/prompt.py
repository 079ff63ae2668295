"""What may be said to an agent, as messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from harness.errors import ConfigError, NoMessages
from harness.messages import Image, Message, Text, UserContent, UserMessage

Prompt: TypeAlias = str | Sequence[UserContent] | UserMessage | Sequence[Message]


def messages_of(prompt: Prompt) -> tuple[Message, ...]:
    """What was said, as messages.

    Raises:
        NoMessages: it is an empty list.
        ConfigError: it is a list of several kinds, or of what is neither content nor a message.
    """
    if isinstance(prompt, str):
        return (UserMessage((Text(prompt),)),)
    if isinstance(prompt, UserMessage):
        return (prompt,)
    if not prompt:
        raise NoMessages("there is nothing in the prompt")
    content = tuple(each for each in prompt if isinstance(each, Text | Image))
    messages = tuple(each for each in prompt if isinstance(each, Message))
    if len(prompt) not in (len(content), len(messages)):
        raise ConfigError("a prompt is a text, a list of Text and Image, or a list of messages")
    return (UserMessage(content),) if content else messages


def user_messages(prompt: Prompt) -> tuple[UserMessage, ...]:
    """What was said to a run that is on.

    Raises:
        NoMessages, ConfigError: as `messages_of`; or there is among it what no person says.
    """
    messages = messages_of(prompt)
    words = tuple(each for each in messages if isinstance(each, UserMessage))
    if len(words) < len(messages):
        raise ConfigError("only what a person says can be steered or queued: UserMessage, or its content")
    return words
