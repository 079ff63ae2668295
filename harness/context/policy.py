"""Context policy: the numbers that decide what fills the context window, and the limits that follow from them."""

from __future__ import annotations

from msgspec import Struct

from harness.ports.provider import Model, known_model_info

MAX_RESERVED = 0.20
"""Largest share of the window that is reserved for the reply by default."""


class ContextPolicy(Struct, frozen=True):
    """Options of the context: its size, and the stages that keep a conversation within it.

    Shares, from 0 to 1, are parts of the window without the reserve. A stage is off if its share is 0.
    """

    window: int = 0
    """Size of the context window in tokens; 0: that of the model. A smaller window of the model takes precedence."""
    reserve: int | None = None
    """Tokens reserved for the reply; None: the maximum length of a reply, but at most 20 % of the window."""
    advise_at: float = 0.60
    """Share from which the model is advised to save tokens."""
    warn_at: float = 0.80
    """Share from which the model is warned that old tool output will be cleared."""
    critical_at: float = 0.95
    """Share from which the user is warned."""
    evict_at: float = 0.80
    """Share from which old tool output is replaced by stubs."""
    evict_to: float = 0.25
    """Share that an eviction reaches if possible. Everything behind the first stub is sent at the full price again, so
    few large evictions cost less than many small ones."""
    evict_min_age: int = 3
    """Turns for which tool output is not evicted."""
    compact_at: float = 0.90
    """Share from which a model summarizes older messages."""
    compact_cooldown: int = 3
    """Turns without another automatic compaction after one."""
    compact_failures: int = 3
    """Failed summaries after which messages are left out instead; 0 = unlimited."""
    summary_tokens: int = 2_048
    """Maximum length of a summary in tokens, without the parts that no model writes."""
    summary_in_context: bool = True
    """True to ask for a summary at the end of the conversation itself, which the provider's cache serves; False to send
    a shortened text of the conversation. It is the text in any case for another model, or after an overflow."""
    prompts_tokens: int = 4_000
    """Tokens of the user's prompts that a summary quotes word for word."""
    handoff_at: float = 0.0
    """Share from which a handoff is due at the end of a run; see `Agent.is_handoff_due`."""
    keep_first: int = 1
    """Number of first messages that are never summarized and are left out last."""
    keep_recent: int = 10
    """Number of latest messages that are never summarized and are left out last; calls stay with their results."""
    tool_output_lines: int = 50
    """Lines that older tool output is truncated to before messages are left out; 0 = no truncation."""
    overflow_tokens: int = 0
    """Length after a request that the service rejected as too long, in tokens; 0: half of the rejected length."""


DEFAULT_POLICY = ContextPolicy()
NO_STAGES = ContextPolicy(advise_at=0, warn_at=0, critical_at=0, evict_at=0, compact_at=0)
"""Policy without stages: messages are left out only if they do not fit."""


class ContextLimits(Struct, frozen=True):
    """Sizes that a policy results in for a model, in tokens."""

    window: int
    """Size of the context window."""
    reserve: int
    """Tokens reserved for the reply."""
    usable: int
    """Maximum length of a request."""


def context_limits(policy: ContextPolicy, model: Model, reply_tokens: int | None, budget: int = 0) -> ContextLimits:
    """Return the sizes for a model.

    Args:
        policy: The policy.
        model: The model.
        reply_tokens: Maximum length of a reply in tokens; None: that of the model.
        budget: Maximum length of a request that an overflow taught; 0 = unknown.
    """
    info = known_model_info(model)
    window = policy.window or info.context_window
    if model.info.now is not None:
        window = min(window, info.context_window)
    most = int(window * MAX_RESERVED)
    reserve = min(reply_tokens or info.max_output or most, most) if policy.reserve is None else policy.reserve
    usable = max(1, window - reserve)
    return ContextLimits(window, reserve, min(usable, budget) if budget else usable)
