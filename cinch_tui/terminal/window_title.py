"""Title of the terminal window: project and agent state. The original title is restored at exit."""

from __future__ import annotations

from msgspec import Struct

from cinch_tui.widgets.status_bar import AgentState
from harness.terminal_text import escape_controls

KEEP, PUT_BACK = "\x1b[22;2t", "\x1b[23;2t"
"""Push and pop on the terminal's title stack."""

STATE_LABELS = {"idle": "", "running": "working", "error": "failed", "aborted": "stopped"}


class WindowTitle(Struct, frozen=True):
    """Escape sequences that set the title; empty if disabled."""

    project: str
    is_wanted: bool

    @property
    def entering(self) -> str:
        return KEEP + self.showing("idle") if self.is_wanted else ""

    @property
    def leaving(self) -> str:
        return PUT_BACK if self.is_wanted else ""

    def showing(self, state: AgentState) -> str:
        words = " – ".join(
            word for word in (" ".join(escape_controls(self.project).split()), STATE_LABELS[state], "cinch") if word
        )
        return f"\x1b]2;{words}\x07" if self.is_wanted else ""
