"""The configuration of a run, as a value that can be recorded."""

from __future__ import annotations

from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Configuration at the start of a run; the model is the `spec` of its `AgentStart`.

    `context_window` is None where it is not known yet, `max_tokens` and `temperature` where the provider's default is
    used. `tools` are the names of the tools that the model is offered.
    """

    config_id: str = ""
    max_tokens: int | None = None
    temperature: float | None = None
    context_window: int | None = None
    mode: str = ""
    approval: str = ""
    tools: tuple[str, ...] = ()
