"""Passthrough for tmux and GNU screen, which wrap sequences meant for the outer terminal."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Literal, TypeAlias

Multiplexer: TypeAlias = Literal["", "tmux", "screen"]

# GNU screen limits a string to 768 bytes; the wrapping takes four.
CHUNK = 760


def multiplexer_of(environ: Mapping[str, str]) -> Multiplexer:
    """Return the multiplexer cinch runs in; behind SSH only `TERM` reveals it."""
    kind = environ.get("TERM", "")
    if environ.get("TMUX") or kind.startswith("tmux"):
        return "tmux"
    # tmux once used screen's names too. It ignores sequences wrapped for screen; the reverse would corrupt the screen.
    return "screen" if environ.get("STY") or kind.startswith("screen") else ""


def delays_escape(environ: Mapping[str, str]) -> bool:
    """Return True if a lone Esc is delayed until the next key while mouse reporting is on.

    GNU screen 4 waits for the rest of a mouse sequence. Over SSH only its own terminal names identify it, since tmux
    once used `screen-256color`.
    """
    kind = environ.get("TERM", "")
    return not environ.get("TMUX") and bool(environ.get("STY") or kind == "screen" or kind.startswith("screen."))


def clear_before_exit(environ: Mapping[str, str]) -> str:
    """Return the sequence that clears the screen before leaving it.

    GNU screen has no alternate screen unless `altscreen` is on, so the shell would write over the remains.
    """
    return "\x1b[H\x1b[J" if multiplexer_of(environ) == "screen" else ""


def clipboard_sequence(text: str) -> str:
    """Return the OSC 52 sequence that copies the text to the terminal's clipboard."""
    return f"\x1b]52;c;{b64encode(text.encode(errors='replace')).decode()}\a"


def passthrough(sequence: str, multiplexer: Multiplexer) -> str:
    """Wrap a sequence for passthrough; empty without a multiplexer."""
    match multiplexer:
        case "tmux":
            return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"
        case "screen":
            chunks = (sequence[start : start + CHUNK] for start in range(0, len(sequence), CHUNK))
            return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)
        case "":
            return ""
