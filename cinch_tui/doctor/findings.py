"""Findings of the checks, and their text form."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict

from harness.messages import JsonObject

Level: TypeAlias = Literal["ok", "note", "bad"]

WIDTH = 80
HANGING = " " * 21


class Finding(Struct, frozen=True):
    """Result of one check."""

    level: Level
    """Severity; only "bad" keeps cinch from working."""

    subject: str
    """The provider, program or file that was checked."""

    message: str
    remedy: str = ""
    """The next action for the user, in one sentence."""

    step: str = ""
    """The connection step, for checks of a service."""

    def as_json(self) -> JsonObject:
        return {name: value for name, value in asdict(self).items() if value}


def lines(finding: Finding, width: int = WIDTH) -> Iterator[str]:
    """Yield the finding as wrapped text, with the remedy on separate lines; addresses and paths are not broken."""
    message = f"{finding.step}: {finding.message}" if finding.step else finding.message
    yield from _wrapped(f"{finding.level:<5}{finding.subject:<15} ", message, width)
    if finding.remedy:
        yield from _wrapped(HANGING, f"→ {finding.remedy}", width)


def _wrapped(beginning: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=beginning, subsequent_indent=HANGING, break_long_words=False, break_on_hyphens=False
    )
