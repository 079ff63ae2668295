"""Forms of a prompt, and their conversion to messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from harness.errors import ConfigError, NoMessages
from harness.messages import Image, Message, Text, UserContent, UserMessage

Prompt: TypeAlias = str | Sequence[UserContent] | UserMessage | Sequence[Message]
"""A text, content blocks, a user message, or messages."""


def messages_of(prompt: Prompt) -> tuple[Message, ...]:
    """Return the prompt as messages.

    Raises:
        NoMessages: The prompt is an empty list.
        ConfigError: The list mixes content and messages, or contains something else.
    """
    if isinstance(prompt, str):
        return (UserMessage((Text(prompt),)),)
    if isinstance(prompt, UserMessage):
        return (prompt,)
    if not prompt:
        raise NoMessages("the prompt is empty")
    content = tuple(each for each in prompt if isinstance(each, Text | Image))
    messages = tuple(each for each in prompt if isinstance(each, Message))
    if len(prompt) not in (len(content), len(messages)):
        raise ConfigError("a prompt is a text, a list of Text and Image, or a list of messages")
    return (UserMessage(content),) if content else messages


def user_messages(prompt: Prompt) -> tuple[UserMessage, ...]:
    """Return the user messages of a prompt for a run that is active.

    Raises:
        NoMessages: The prompt is an empty list.
        ConfigError: The prompt has an invalid form, or contains messages other than `UserMessage`.
    """
    messages = messages_of(prompt)
    prompts = tuple(each for each in messages if isinstance(each, UserMessage))
    if len(prompts) < len(messages):
        raise ConfigError("only user messages can be steered or queued: pass UserMessage, or its content")
    return prompts
