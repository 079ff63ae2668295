"""Events of model selection and failed model calls; `harness.events` lists all events."""

from __future__ import annotations

from harness.event_header import EventHeader
from harness.lazy_dataclass import dataclass
from harness.messages import ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(EventHeader):
    """A model call failed and will be retried."""

    attempt: int
    """Number of the retry, from 1."""
    max_retries: int
    """Maximum number of retries; 0 = unknown."""
    delay: float
    """Seconds until the retry."""
    error: str
    """Description of the error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRouted(EventHeader):
    """Routing selected another model from this turn on."""

    spec: ModelSpec
    """The new model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFallback(EventHeader):
    """A fallback model replaces a failed one for the rest of the run."""

    failed: ModelSpec
    """Model that failed."""
    spec: ModelSpec
    """Model used from now on."""
    error: str
    """Error of the failed model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChanged(EventHeader):
    """The user or the program changed the model or the thinking level, effective from the next turn."""

    spec: ModelSpec
    """The new model."""
