"""Conversations as JSON text, for programs that store them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from harness.codec import decode, encode
from harness.errors import ConfigError
from harness.messages import Message


def dump_messages(messages: Sequence[Message]) -> str:
    """Return a JSON array of messages, each as `harness.codec` writes it."""
    return json.dumps([encode(message) for message in messages], ensure_ascii=False)


def load_messages(text: str) -> list[Message]:
    """Return the messages that `dump_messages` wrote.

    Raises:
        ConfigError: The text has another format.
    """
    try:
        items = json.loads(text)
        if not isinstance(items, list):
            raise ValueError("not an array")
        # The codec validates the items of the untyped array.
        return [decode(Message, item) for item in items]  # pyright: ignore[reportUnknownVariableType, reportArgumentType, reportUnknownArgumentType]
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not a list of saved messages: {error}") from error
