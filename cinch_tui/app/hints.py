"""Hints for users of the app in place of those for Python programs, in error texts of the library."""

from __future__ import annotations

import re

_HINTS = (
    (re.compile(r"pass api_key= to connect\(\) for ([\w.-]+)"), r"enter it with #key \1"),
    (re.compile(r"pass base_url= to connect\(\)"), "start cinch with --base-url"),
    (re.compile(r'list_models\("([\w.-]+)"\) lists'), r"cinch models \1 lists"),
)


def app_hints(text: str) -> str:
    """An error text of the library, with commands and options of the app instead of Python arguments."""
    for pattern, hint in _HINTS:
        text = pattern.sub(hint, text)
    return text
