"""How hard a model may think before it answers."""

from __future__ import annotations

from typing import Literal, TypeAlias

ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "extra-high"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "extra-high")
