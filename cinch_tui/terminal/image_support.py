"""Image support of the terminal.

Only kitty's protocol places images in text cells, which scroll and can be covered. Images of sixel and iTerm2 stay
until something overwrites them and would smear in a scrolling view, so half blocks are used instead.
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
# Other terminals support the protocol too, but show its placeholder characters.
_KINDS = ("xterm-kitty", "xterm-ghostty")
_SIGNS = ("KITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR")
_HOW = "#{allow-passthrough} #{client_termname}"


def first_way(wanted: Images, colours: str | None) -> ImageWay:
    """Return the image mode before the terminal was queried. `colours` is its color system, if any."""
    if colours not in ("truecolor", "256") or (wanted == "kitty" and colours != "truecolor"):
        return "off"
    return "blocks" if wanted == "auto" else wanted


def may_be_asked(environ: Mapping[str, str]) -> bool:
    """Return True if the terminal is known to answer a query; some others would print it."""
    is_inside = environ.get("TMUX") or environ.get("STY") or environ.get("TERM", "").startswith(("tmux", "screen"))
    return not is_inside and (environ.get("TERM") in _KINDS or any(environ.get(sign) for sign in _SIGNS))


def tmux_hands_on() -> bool:
    """Return True if tmux passes images through to a terminal that supports them."""
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
