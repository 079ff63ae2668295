"""Escaping of control tokens in message text, which only the template may write, such as the end of a turn.

Read as that token, a line of a file or a web page could continue as if the user or the model had written it. Escaped,
it is read as its characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.messages import JsonObject, JsonValue

# A noncharacter, which no text contains. A template may write it as a JSON escape.
SEAM = "\ufdd0"
_SEAM_AS_WRITTEN = re.compile(rf"{SEAM}|\\u{ord(SEAM):04x}")


class TokenEscaper:
    """Escapes the control tokens of a model."""

    def __init__(self, controls: Iterable[str]) -> None:
        words = sorted((word for word in controls if len(word) > 1), key=len, reverse=True)
        self._controls = re.compile("|".join(map(re.escape, words))) if words else None

    def escaped(self, messages: list[JsonObject]) -> list[JsonObject]:
        """Return messages or tools in which each control token has a seam, at which `parts` splits it."""
        return [
            {name: value if name == "role" else self._escaped(value) for name, value in each.items()}
            for each in messages
        ]

    def _escaped(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return (
                    self._controls.sub(lambda control: f"{control[0][0]}{SEAM}{control[0][1:]}", value)
                    if self._controls
                    else value
                )
            case list():
                return [self._escaped(each) for each in value]
            case dict():
                return {name: self._escaped(each) for name, each in value.items()}
            case _:
                return value


def parts(prompt: str) -> list[str]:
    """Split a prompt at its seams; each part is tokenized separately."""
    return _SEAM_AS_WRITTEN.split(prompt)
