"""Names of tools in texts for models, which may know the tools by other names or not have them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

NameOf: TypeAlias = Callable[[str], str]
"""Function that returns the name by which a model knows a tool; empty if it is not offered one that does the same."""

_QUOTED = re.compile(r"(?<=`)[a-z_]+(?=`)")
_FIELD = re.compile(r"\{([a-z_]+)\}")


def own_name(tool: str) -> str:
    """Return the name of a tool for a model that is offered all of them as they are."""
    return tool


def mention(text: str, name_of: NameOf = own_name) -> str:
    """Return a constant text with the names of its tools; empty if the model does not have one of them.

    Args:
        text: The text, with the tools in braces, such as `Try {grep}.`
        name_of: Returns the names.
    """
    names = {tool: name_of(tool) for tool in _FIELD.findall(text)}
    return _FIELD.sub(lambda match: names[match[1]], text) if all(names.values()) else ""


def renamed(text: str, name_of: NameOf) -> str:
    """Return a text with the names of the tools that it names in backticks; other words stay."""
    return _QUOTED.sub(lambda match: name_of(match[0]) or match[0], text)
