"""Thinking levels of a model."""

from __future__ import annotations

from typing import Literal, TypeAlias

ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "extra-high"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "extra-high")
