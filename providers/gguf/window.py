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


def window_of(header: Header) -> int:
    """What the person wants, else what the model was trained for, within reason.

    Raises:
        ConfigError: what the person wants is no number.
    """
    return wanted_window(os.environ) or min(header.trained_window or UNTOLD, USUAL_MOST)


def wanted_window(environ: Mapping[str, str]) -> int:
    """What the person wants; 0 where they said nothing.

    Raises:
        ConfigError: it is no number.
    """
    wanted = environ.get(VARIABLE, "").strip()
    if wanted and not (wanted.isdecimal() and int(wanted)):
        raise ConfigError(f"{VARIABLE} is {wanted!r}: give a number of tokens, such as 16384")
    return int(wanted or 0)
