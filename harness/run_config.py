"""The configuration of a run, as a value that can be recorded."""

from __future__ import annotations

from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Configuration at the start of a run; the model is the `spec` of its `AgentStart`."""

    config_id: str = ""
    """Name of the configuration; empty if it has none."""
    max_tokens: int | None = None
    """Maximum length of a reply in tokens; None: the provider's default."""
    temperature: float | None = None
    """Sampling temperature; None: the provider's default."""
    context_window: int | None = None
    """Size of the context window in tokens; None if not yet known."""
    mode: str = ""
    """`plan` or `execute`."""
    approval: str = ""
    """Approval mode: `on`, `smart` or `off`."""
    tools: tuple[str, ...] = ()
    """Names of the tools offered to the model."""
