"""What was found, and how it is written down."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.messages import JsonObject

Level: TypeAlias = Literal["ok", "note", "bad"]

WIDTH = 80
HANGING = " " * 21


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. Only what is `bad` keeps cinch from working.

    `step` is the part of the way to a service that was looked at, `mend` what a person can do, in one sentence.
    """

    level: Level
    subject: str
    message: str
    remedy: str = ""
    step: str = ""

    def about(self, what: str) -> Finding:
        return replace(self, subject=what)

    def as_json(self) -> JsonObject:
        return {name: value for name, value in asdict(self).items() if value}


def lines(finding: Finding, width: int = WIDTH) -> Iterator[str]:
    """The finding as text, its mend in a line of its own. An address or a path is never broken."""
    told = f"{finding.step}: {finding.message}" if finding.step else finding.message
    yield from _wrapped(f"{finding.level:<5}{finding.subject:<15} ", told, width)
    if finding.remedy:
        yield from _wrapped(HANGING, f"→ {finding.remedy}", width)


def _wrapped(beginning: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=beginning,
        subsequent_indent=HANGING,
        break_long_words=False,
        break_on_hyphens=False,
    )
