"""Thinking levels; apart from `messages` because the configuration needs them before the first paint."""

from __future__ import annotations

from typing import Literal, TypeAlias

ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "extra-high"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "extra-high")
"""The levels in order."""
