"""Events about which model is used, and about failed model calls."""

from __future__ import annotations

from harness.event_header import EventHeader
from harness.lazy_dataclass import dataclass
from harness.messages import ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(EventHeader):
    """The request failed and is sent again after `delay` seconds. `attempt` counts from 1; `max_retries` 0: unknown."""

    attempt: int
    max_retries: int
    delay: float
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRouted(EventHeader):
    """Another model is asked from this turn on, by the rule of the routing."""

    spec: ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFallback(EventHeader):
    """`failed` did not answer, because of `error`; `spec` is asked instead, for the rest of the run."""

    failed: ModelSpec
    spec: ModelSpec
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChanged(EventHeader):
    """Somebody chose another model, or another level of thinking, from the next turn on."""

    spec: ModelSpec
