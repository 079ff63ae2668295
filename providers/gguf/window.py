"""How much of a conversation a model on this machine is given to read."""

from __future__ import annotations

import os
from collections.abc import Mapping

from harness.errors import ConfigError
from providers.gguf.header import Header

VARIABLE = "CINCH_LOCAL_CONTEXT"
# Memory for what is read grows with the window; few machines have it for the hundred thousands of today's models.
USUAL_MOST = 32_768
UNTOLD = 4_096


def window_of(header: Header, environ: Mapping[str, str] | None = None) -> int:
    """What the person wants, else what the model was trained for, within reason.

    Raises:
        ConfigError: what the person wants is no number.
    """
    wanted = (os.environ if environ is None else environ).get(VARIABLE, "").strip()
    if not wanted:
        return min(header.trained_window or UNTOLD, USUAL_MOST)
    if not wanted.isdecimal() or int(wanted) < 1:
        raise ConfigError(f"{VARIABLE} is {wanted!r}: give a number of tokens, such as 16384")
    return int(wanted)
