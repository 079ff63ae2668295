"""Attached files in a prompt: text blocks, each with the content of a file, after the text of the user."""

from __future__ import annotations

from harness.messages import Text, UserContent

OPENING = '<attached path="'
"""Beginning of such a block."""


def is_attached(block: UserContent) -> bool:
    """Return True for a text block with an attached file."""
    return isinstance(block, Text) and block.text.startswith(OPENING)


def attached_path(block: Text) -> str:
    """Return the path of an attached file."""
    return block.text.removeprefix(OPENING).partition('"')[0]
