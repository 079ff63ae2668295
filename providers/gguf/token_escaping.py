"""What is said in a conversation can spell a token that only the template may write, such as the end of a turn.

Read as that token, a line of a file or a web page could go on as if the person or the model had spoken. It is read as
the letters it is made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.messages import JsonObject, JsonValue

# No text holds it: Unicode keeps it free for uses like this one. A template may write it as JSON does.
SEAM = "\ufdd0"
_SEAM_AS_WRITTEN = re.compile(rf"{SEAM}|\\u{ord(SEAM):04x}")


class TokenEscaper:
    """Knows how a model's control tokens are spelled."""

    def __init__(self, controls: Iterable[str]) -> None:
        words = sorted((word for word in controls if len(word) > 1), key=len, reverse=True)
        self._controls = re.compile("|".join(map(re.escape, words))) if words else None

    def escaped(self, said: list[JsonObject]) -> list[JsonObject]:
        """Messages or tools in which each such word has a seam, at which `parts` takes it apart."""
        return [
            {name: value if name == "role" else self._defused(value) for name, value in each.items()} for each in said
        ]

    def _defused(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self._controls.sub(_with_seam, value) if self._controls else value
            case list():
                return [self._defused(each) for each in value]
            case dict():
                return {name: self._defused(each) for name, each in value.items()}
            case _:
                return value


def parts(prompt: str) -> list[str]:
    """A prompt cut at its seams: each part is to be read into tokens by itself."""
    return _SEAM_AS_WRITTEN.split(prompt)


def _with_seam(control: re.Match[str]) -> str:
    return f"{control[0][0]}{SEAM}{control[0][1:]}"
