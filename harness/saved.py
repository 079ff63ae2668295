"""A conversation as text and back, for programs that keep it themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence

from harness.codec import decode, encode
from harness.errors import ConfigError
from harness.messages import Message


def dump_messages(messages: Sequence[Message]) -> str:
    """A JSON array of messages as `harness.codec` writes them."""
    return json.dumps([encode(message) for message in messages], ensure_ascii=False)


def load_messages(text: str) -> list[Message]:
    """What `dump_messages` wrote.

    Raises:
        ConfigError: it is no such text.
    """
    try:
        items = json.loads(text)
        if not isinstance(items, list):
            raise ValueError("not an array")
        # What stands in an array of unknown make is checked by the codec, item by item.
        return [decode(Message, item) for item in items]  # pyright: ignore[reportUnknownVariableType, reportArgumentType, reportUnknownArgumentType]
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"these are no saved messages: {error}") from error
