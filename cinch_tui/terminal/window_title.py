"""The title of the terminal's window: the project, and what the agent does; another's title is put back at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.rendering.harmless import harmless
from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cinch_tui.widgets.status_bar import AgentState

KEEP, PUT_BACK = "\x1b[22;2t", "\x1b[23;2t"
"""The terminal's own stack of titles."""

WORDS = {"idle": "", "running": "working", "error": "failed", "aborted": "stopped"}


@dataclass(frozen=True, slots=True)
class WindowTitle:
    """The sequences that write it; all of them are empty where none is wanted."""

    project: str
    is_wanted: bool

    @property
    def entering(self) -> str:
        return KEEP + self.showing("idle") if self.is_wanted else ""

    @property
    def leaving(self) -> str:
        return PUT_BACK if self.is_wanted else ""

    def showing(self, state: AgentState) -> str:
        words = " – ".join(word for word in (" ".join(harmless(self.project).split()), WORDS[state], "cinch") if word)
        return f"\x1b]2;{words}\x07" if self.is_wanted else ""
