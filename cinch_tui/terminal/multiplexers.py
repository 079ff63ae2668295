"""tmux and GNU screen stand between cinch and the terminal: what is meant for the terminal is wrapped for them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Literal, TypeAlias

Multiplexer: TypeAlias = Literal["", "tmux", "screen"]

# GNU screen keeps no more of a string than 768 bytes, of which four are the wrapping.
CHUNK = 760


def around(environ: Mapping[str, str]) -> Multiplexer:
    """What cinch runs in; also on a machine that was reached from inside of one, which only `TERM` tells."""
    kind = environ.get("TERM", "")
    if environ.get("TMUX") or kind.startswith("tmux"):
        return "tmux"
    # tmux, too, once called its terminals so. It hears nothing in what is wrapped for screen, but the other way round
    # the screen of the terminal would be written over.
    return "screen" if environ.get("STY") or kind.startswith("screen") else ""


def holds_esc_back(environ: Mapping[str, str]) -> bool:
    """Whether Esc comes only with the key after it, as Alt, while the mouse is asked for: GNU screen 4 waits for the
    rest of a click. Away from it only its own names for a terminal tell; tmux was once called screen-256color.
    """
    kind = environ.get("TERM", "")
    return not environ.get("TMUX") and bool(environ.get("STY") or kind == "screen" or kind.startswith("screen."))


def emptied(environ: Mapping[str, str]) -> str:
    """What empties the screen before it is left: GNU screen has no other one for us, unless `altscreen` is on, and the
    shell would write over what we leave.
    """
    return "\x1b[H\x1b[J" if around(environ) == "screen" else ""


def clipboard_sequence(text: str) -> str:
    """What tells a terminal to put the text into its clipboard."""
    return f"\x1b]52;c;{b64encode(text.encode(errors='replace')).decode()}\a"


def wrapped(sequence: str, multiplexer: Multiplexer) -> str:
    """The sequence in a form that is handed on as it is; empty where there is nobody to hand it on."""
    match multiplexer:
        case "tmux":
            return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"
        case "screen":
            chunks = (sequence[start : start + CHUNK] for start in range(0, len(sequence), CHUNK))
            return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)
        case "":
            return ""
