"""Metadata of settings: description, bounds, the files that may set them, and the time when a change applies."""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple, TypeAlias

Value: TypeAlias = "str | int | float | bool | tuple[str, ...]"
Guard: TypeAlias = Literal["open", "held", "tighten"]
"""A project file in an untrusted folder may set the value ("open"), not set it ("held"), or only make it stricter
("tighten")."""
EffectTime: TypeAlias = Literal["at once", "from the next prompt", "from the next start"]
AT_ONCE: EffectTime = "at once"
NEXT_PROMPT: EffectTime = "from the next prompt"
NEXT_START: EffectTime = "from the next start"


class Setting(NamedTuple):
    """Metadata of a setting."""

    doc: str
    """Description in the example file."""
    minimum: float | None = None
    guard: Guard = "open"
    applies: EffectTime | None = None
    """The time when a change applies; None: that of the table."""
    key: str = ""
    """Key in the table, dotted for one in a table of its own; empty: the name of the field."""
    maximum: float | None = None


held = partial(Setting, guard="held")
tighten = partial(Setting, guard="tighten")
share = partial(Setting, minimum=0, maximum=1)


class OpenTable(NamedTuple):
    """Metadata of a table with free keys and text values."""

    doc: str
    """Description in the example file."""
    example: str
