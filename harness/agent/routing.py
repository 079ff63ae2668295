"""Routing: the model of each turn. Turns count from 1 within a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from harness.ports.provider import Model


class Routing(Protocol):
    """Chooses the model of each turn."""

    @property
    def models(self) -> tuple[Model, ...]:
        """All models it may choose; they are closed with the agent."""
        ...

    def model_for(self, turn: int, *, is_subagent: bool) -> Model:
        """Return the model of a turn; `is_subagent` is True in the run of a subagent."""
        ...


class Single(Struct, frozen=True):
    """Uses one model for all turns."""

    model: Model
    """The model."""

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.model,)

    def model_for(self, turn: int, *, is_subagent: bool = False) -> Model:
        return self.model


class ByTurn(Struct, frozen=True):
    """Uses one model, with exceptions for some turns."""

    default: Model
    """Model of all other turns."""
    overrides: Mapping[int, Model] = {}
    """Models by turn, from 1."""

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.default, *self.overrides.values())

    def model_for(self, turn: int, *, is_subagent: bool = False) -> Model:
        return self.overrides.get(turn, self.default)


class CheapThenPowerful(Struct, frozen=True):
    """Uses a cheap model for exploration and a powerful one from a given turn on."""

    cheap: Model
    """Model of the first turns."""
    powerful: Model
    """Model from turn `switch_at` on."""
    switch_at: int
    """First turn of the powerful model, from 1."""

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.cheap, self.powerful)

    def model_for(self, turn: int, *, is_subagent: bool = False) -> Model:
        return self.cheap if turn < self.switch_at else self.powerful


if TYPE_CHECKING:
    _: tuple[type[Routing], ...] = (Single, ByTurn, CheapThenPowerful)
