"""Time at which a changed setting applies: at once, from the next prompt, or from the next start."""

from __future__ import annotations

AT_ONCE = "at once"
NEXT_PROMPT = "from the next prompt"
NEXT_START = "from the next start"

APPLIED_BY_AGENT = frozenset({"model.thinking", "approval.mode"})
APPLIED_BY_VIEW = frozenset(
    {
        "ui.theme",
        "ui.motion",
        "ui.status",
        "ui.status_command",
        "ui.timestamps",
        "ui.vim",
        "ui.side_by_side_min_columns",
        "ui.show_thinking",
    }
)
_READ_WHEN_NEEDED = frozenset({"ui.editor", "ui.show_last_exchange", "ui.status_interval_s"})
_READ_BY_A_RUN = ("limits.", "retry.", "prompt_cache.", "subagents.", "steering.")
_READ_BY_TOOLS = frozenset({"tools.concurrency", "tools.batch_size", "tools.timeout_s", "tools.max_result_chars"})


def effect_time(name: str) -> str:
    """Return when a change of this setting applies, in words."""
    if name in APPLIED_BY_AGENT or name in APPLIED_BY_VIEW or name in _READ_WHEN_NEEDED:
        return AT_ONCE
    if name in _READ_BY_TOOLS or name == "model.max_tokens" or name.startswith(_READ_BY_A_RUN):
        return NEXT_PROMPT
    return NEXT_START
