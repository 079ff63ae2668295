"""Which model is asked at which turn. Turns count from 1 within a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from harness.lazy_dataclass import dataclass
from harness.ports.provider import Model


class Routing(Protocol):
    """Chooses the model of each turn."""

    @property
    def models(self) -> tuple[Model, ...]:
        """All it may choose: their connections are closed with the agent."""
        ...

    def model_for(self, turn: int, *, is_sub_agent: bool) -> Model:
        """Return the model of a turn; `is_sub_agent`: the run is that of a sub-agent."""
        ...


@dataclass(frozen=True, slots=True)
class Single:
    """Always the same."""

    model: Model

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.model,)

    def model_for(self, turn: int, *, is_sub_agent: bool = False) -> Model:
        del turn, is_sub_agent
        return self.model


@dataclass(frozen=True, slots=True)
class ByTurn:
    """One model, but for some turns another."""

    default: Model
    overrides: Mapping[int, Model] = field(default_factory=dict[int, Model])

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.default, *self.overrides.values())

    def model_for(self, turn: int, *, is_sub_agent: bool = False) -> Model:
        del is_sub_agent
        return self.overrides.get(turn, self.default)


@dataclass(frozen=True, slots=True)
class CheapThenPowerful:
    """The cheap model looks around; from turn `switch_at` on the powerful one decides."""

    cheap: Model
    powerful: Model
    switch_at: int

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.cheap, self.powerful)

    def model_for(self, turn: int, *, is_sub_agent: bool = False) -> Model:
        del is_sub_agent
        return self.cheap if turn < self.switch_at else self.powerful


if TYPE_CHECKING:
    _: tuple[type[Routing], ...] = (Single, ByTurn, CheapThenPowerful)
