"""The start banner of an empty conversation: version, model, folder and three tips.

Loaded before the first paint, see `cinch_tui.terminal.first_frame`, which paints the same one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui import __version__
from cinch_tui.keybindings.keymap import hint
from cinch_tui.terminal.first_frame import shown_folder

if TYPE_CHECKING:
    from textual.content import Content

FOLDER_ROW = 1
"""The line with the folder, counted from 0."""


class StartBanner(Struct, frozen=True):
    folder: str
    model: str

    def lines(self, width: int) -> list[str]:
        """The first line is the heading."""
        name = f"cinch {__version__}"
        return [
            f"{name} · {self.model}" if self.model else name,
            shown_folder(self.folder, width),
            "",
            "@ attaches a file, ! runs a command, / lists commands",
            hint("chat.help shows the keys", "chat.toggle_plan plans before it changes anything"),
            hint("chat.abort stops the agent", "chat.sessions continues an earlier session"),
        ]

    def content(self, width: int) -> Content:
        """Return the banner for a widget outside the conversation."""
        from textual.content import Content

        first, *rest = (line[:width] for line in self.lines(width))
        return Content.assemble((first, "bold $primary"), ("\n" + "\n".join(rest), "$foreground-muted"))
