"""Entry point of the `cinch` command: paints the first frame, then loads everything else.

Imports only what the first frame needs, which accepts keys before the rest is loaded.
"""

from __future__ import annotations

import os
import sys

from cinch_tui.terminal.first_frame import open_frame

TYPE_CHECKING = False
if TYPE_CHECKING:  # the module `typing` takes longer to import than all that happens here
    from typing import NoReturn


def run() -> NoReturn:
    """Run cinch and exit the process."""
    remove_inherited_colorterm()
    frame = open_frame(sys.argv[1:], os.environ)
    from cinch_tui.cli.main import run as run_main

    run_main(frame)


def remove_inherited_colorterm() -> None:
    """Remove COLORTERM in GNU screen, which inherits it from the outer terminal but does not support true color."""
    if os.environ.get("STY") and os.environ.get("TERM", "").startswith("screen"):
        os.environ.pop("COLORTERM", None)
