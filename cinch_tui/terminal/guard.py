"""Terminal guard: a small shell process that restores the terminal if cinch dies without doing so.

No handler runs in a process that is killed or crashes. Therefore a second process reads a pipe that only cinch writes
to, and acts when the pipe closes while cinch owned the terminal. Only built-in modules are imported here, since the
first frame starts the guard.
"""

from __future__ import annotations

import os
import sys
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any
else:
    # The C module without the enums of `signal`, which take 5 ms to load.
    import _signal as signal

RESET = (
    "\x1b[?2026l"  # end of a synchronized update
    "\x1b[<u"  # kitty's keyboard protocol; set per screen, so before the screen is left
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # the mouse
    "\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?2031l"  # no more reports of focus, pastes, sizes and colors
    "\x1b[?7h\x1b[m\x1b[?1049l\x1b[?25h"  # line wrap, default style, main screen, visible cursor
)
"""Reset sequences for every mode that cinch sets."""

SHELL = "/bin/sh"
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

# $1: original terminal attributes; $2: foreground process groups under which no other program uses it: that of
# cinch, or none; $3: process groups of the shell that started cinch. Any other program has set up the terminal itself.
# So has such a shell if the attributes changed; it drew its prompt on the screen left here, and redraws it on WINCH.
SCRIPT = r"""
trap '' INT QUIT HUP TERM TSTP TTIN TTOU PIPE
cd /
exec 3<&1
state=away raw= words= more=
while read -r word rest; do
  case $word in
    here) state=here raw=${rest:-$(stty -g <&3)} ;;
    away) state=away ;;
    say) words=$rest ;;
    undo) more=$rest ;;
  esac
done
[ $state = here ] || exit 0
if [ -r /proc/$$/stat ]; then
  read -r a b c d e f g owner rest </proc/$$/stat
else
  owner=$(ps -o tpgid= -p $$ | tr -d ' ')
fi
case " $2 $3 " in *" $owner "*) ;; *) exit 0 ;; esac
printf '%sLEAVING\r%s' "$more" "${words:+$words
}"
case " $2 " in
  *" $owner "*) stty "$1" <&3 ;;
  *)
    [ "$(stty -g <&3)" != "$raw" ] || stty "$1" <&3
    kill -s WINCH -- "-$owner"
    ;;
esac
""".replace("LEAVING", RESET.replace("\x1b", r"\033"))


class Guard:
    """Client of the guard process. The process starts when the terminal is first taken over."""

    def __init__(self) -> None:
        self._pipe = -1
        self._message = ""
        self._reset = ""

    def acquire(self, terminal: int, before: list[Any]) -> None:
        """Report that cinch owns the terminal now; `before` are the attributes to restore."""
        try:
            raw = _saved(termios.tcgetattr(terminal))
            if self._pipe < 0:
                self._pipe = _start(terminal, _saved(before) or "sane")
        except (OSError, termios.error):
            return  # without a guard, cinch behaves as other programs do
        self._send(f"here {raw}")
        self.set_reset(self._reset)
        self.set_message(self._message)

    def release(self) -> None:
        """Report that the terminal is restored: cinch exits or suspends."""
        self._send("away")

    def set_message(self, message: str) -> None:
        """Set a message for the user on the main screen, shown if the guard acts: one line of plain text."""
        self._message = message
        self._send(f"say {message}")

    def set_reset(self, sequence: str) -> None:
        """Set the reset sequences that only this terminal needs; they contain no blanks."""
        self._reset = sequence
        self._send(f"undo {sequence}")

    def _send(self, line: str) -> None:
        if self._pipe < 0:
            return
        try:
            os.write(self._pipe, line.encode() + b"\n")
        except OSError:
            # The guard process is gone.
            os.close(self._pipe)
            self._pipe = -1


def _start(terminal: int, before: str) -> int:
    """Start the guard process and return the write end of its pipe."""
    read_end, write_end = os.pipe()
    own = os.getpgrp()
    shells = f"{os.getsid(0)} {_group_of_parent()}"
    null = (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)
    try:
        os.posix_spawn(
            SHELL,
            ["sh", "-c", SCRIPT, "terminal-guard", before, f"{own} -1 0", shells],
            {"PATH": os.environ.get("PATH") or os.defpath},
            file_actions=[(os.POSIX_SPAWN_DUP2, read_end, 0), (os.POSIX_SPAWN_DUP2, terminal, 1), null],
            # Its own process group: keyboard signals and a kill of the whole group of cinch do not reach it.
            setpgroup=0,
            setsigmask=IGNORED,
        )
    except OSError:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    return write_end


def _group_of_parent() -> int:
    try:
        return os.getpgid(os.getppid())
    except OSError:
        return os.getpgrp()


def _saved(attributes: list[Any]) -> str:
    """Format attributes as `stty -g` does; empty on systems with an unknown format."""
    if not sys.platform.startswith("linux"):
        return ""
    letters = [value if isinstance(value, int) else ord(value) for value in attributes[6]]
    return ":".join(f"{value:x}" for value in (*attributes[:4], *letters))
