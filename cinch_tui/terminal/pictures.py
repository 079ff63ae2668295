"""How this terminal can show pictures.

Kitty's protocol is the only one whose pictures live in cells, which scroll and are covered as text is. Those of sixel
and iTerm2 stand on the screen until something is written over them: in a view that scrolls they would smear, so there
a picture is painted in half blocks.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cinch_tui.config.settings import Images
    from cinch_tui.transcript.styles import ImageWay

PATIENCE = 2.0
# Others speak the protocol too, but show its cells as the letters that they are.
_KINDS = ("xterm-kitty", "xterm-ghostty")
_SIGNS = ("KITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR")
_HOW = "#{allow-passthrough} #{client_termname}"


def first_way(wanted: Images, colours: str | None) -> ImageWay:
    """How pictures are shown before the terminal was asked. `colours` names its colour system, if it has one."""
    if colours not in ("truecolor", "256") or (wanted == "kitty" and colours != "truecolor"):
        return "off"
    return "blocks" if wanted == "auto" else wanted


def may_be_asked(environ: Mapping[str, str]) -> bool:
    """Whether it is of a kind that answers; some others would print the question."""
    is_inside = environ.get("TMUX") or environ.get("STY") or environ.get("TERM", "").startswith(("tmux", "screen"))
    return not is_inside and (environ.get("TERM") in _KINDS or any(environ.get(sign) for sign in _SIGNS))


def tmux_hands_on() -> bool:
    """Whether tmux is allowed to hand pictures to the terminal it is shown on, and that is of such a kind."""
    try:
        asked = subprocess.run(
            ["tmux", "display-message", "-p", "-t", os.environ.get("TMUX_PANE", ""), _HOW],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    allowed, _, kind = asked.stdout.strip().partition(" ")
    return allowed in ("on", "all") and kind in _KINDS
