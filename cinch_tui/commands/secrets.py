"""API keys typed into the prompt: taken out of the text before anything else sees it."""

from __future__ import annotations

import re
from dataclasses import field

from harness.lazy_dataclass import dataclass

_KEY_LINE = re.compile(r"^[ \t]*#key[ \t]+(?P<provider>\S+)[ \t]+(?P<secret>\S+)[^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TypedKey:
    provider: str
    secret: str = field(repr=False)


def take_keys(text: str) -> tuple[str, tuple[TypedKey, ...]]:
    """`text` without its `#key provider secret` lines, and what those lines held.

    A whole line goes, whatever else it says: losing a word of a prompt is mended, a published key is not.
    """
    keys = tuple(TypedKey(match["provider"], match["secret"]) for match in _KEY_LINE.finditer(text))
    return (_KEY_LINE.sub("", text), keys) if keys else (text, ())
