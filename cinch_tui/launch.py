"""The command itself: paints the first frame where it can, and loads the rest behind it.

Imports nothing that could wait: a key can be typed into the first frame before this module's caller is loaded.
"""

from __future__ import annotations

import os
import sys

from cinch_tui.terminal.first_frame import open_frame

TYPE_CHECKING = False
if TYPE_CHECKING:  # the module `typing` takes longer to import than all that happens here
    from typing import NoReturn


def run() -> NoReturn:
    """The process."""
    forget_colours_of_outside()
    frame = open_frame(sys.argv[1:], os.environ)
    from cinch_tui.cli.main import run as go_on

    go_on(frame)


def forget_colours_of_outside() -> None:
    """GNU screen keeps what the terminal around it says of its colours, and takes such colours for other things."""
    if os.environ.get("STY") and os.environ.get("TERM", "").startswith("screen"):
        os.environ.pop("COLORTERM", None)
