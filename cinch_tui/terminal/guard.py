"""The guard: a shell of half a megabyte that gives the terminal back when cinch dies without doing so itself.

No handler runs in a process that is killed, or whose own code fails. So another one waits for its end: it reads from a
pipe that only cinch writes to, and acts when the pipe ends while the terminal was cinch's. Only what Python has built
in is imported here, as for the first frame, which posts it.
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
    # The same without its enums, which take 5 ms to load.
    import _signal as signal

LEAVING = (
    "\x1b[?2026l"  # what was held back is shown
    "\x1b[<u"  # kitty's keyboard; each screen has its own, so before the screen is left
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # the mouse
    "\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?2031l"  # focus, pastes, new sizes and colours are reported no more
    "\x1b[?7h\x1b[m\x1b[?1049l\x1b[?25h"  # wrapped lines, no colours, the normal screen, a cursor
)
"""What takes a terminal out of every mode that cinch puts it into."""

SHELL = "/bin/sh"
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

# $1: the attributes of before; $2: whose the terminal is when nobody took it: the process group of cinch, or none;
# $3: who may have taken it: the shell that started us. Others have set it up for themselves. So has such a shell, if
# the attributes are not ours any more; it drew its prompt on the screen that is left here, and again for WINCH.
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
""".replace("LEAVING", LEAVING.replace("\x1b", r"\033"))


class Guard:
    """Posted when the terminal is first said to be ours; told of every change of that."""

    def __init__(self) -> None:
        self._pipe = -1
        self._words = ""
        self._more = ""

    def here(self, terminal: int, before: list[Any]) -> None:
        """The terminal is ours from now on, in the attributes it has; they were others before."""
        try:
            raw = _saved(termios.tcgetattr(terminal))
            if self._pipe < 0:
                self._pipe = _post(terminal, _saved(before) or "sane")
        except (OSError, termios.error):
            return  # without a guard it is as it is for other programs
        self._tell(f"here {raw}")
        self.undo(self._more)
        self.say(self._words)

    def away(self) -> None:
        """The terminal is as it was: we leave, or lend it to another program."""
        self._tell("away")

    def say(self, words: str) -> None:
        """What the person is to be told on the normal screen, if it comes to that: one line of plain text."""
        self._words = words
        self._tell(f"say {words}")

    def undo(self, sequence: str) -> None:
        """What takes the terminal out of modes that not every terminal is put into; without blanks."""
        self._more = sequence
        self._tell(f"undo {sequence}")

    def _tell(self, line: str) -> None:
        if self._pipe < 0:
            return
        try:
            os.write(self._pipe, line.encode() + b"\n")
        except OSError:
            # Somebody ended it.
            os.close(self._pipe)
            self._pipe = -1


def _post(terminal: int, before: str) -> int:
    """Start the guard; what is written to the result is what it hears."""
    heard, told = os.pipe()
    own = os.getpgrp()
    shells = f"{os.getsid(0)} {_group_of_parent()}"
    null = (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)
    try:
        os.posix_spawn(
            SHELL,
            ["sh", "-c", SCRIPT, "terminal-guard", before, f"{own} -1 0", shells],
            {"PATH": os.environ.get("PATH") or os.defpath},
            file_actions=[(os.POSIX_SPAWN_DUP2, heard, 0), (os.POSIX_SPAWN_DUP2, terminal, 1), null],
            # Neither keys nor a kill of our whole group reach it, not even before it has begun.
            setpgroup=0,
            setsigmask=IGNORED,
        )
    except OSError:
        os.close(told)
        raise
    finally:
        os.close(heard)
    return told


def _group_of_parent() -> int:
    try:
        return os.getpgid(os.getppid())
    except OSError:
        return os.getpgrp()


def _saved(attributes: list[Any]) -> str:
    """As `stty -g` writes them where cinch knows how; elsewhere nothing."""
    if not sys.platform.startswith("linux"):
        return ""
    letters = [value if isinstance(value, int) else ord(value) for value in attributes[6]]
    return ":".join(f"{value:x}" for value in (*attributes[:4], *letters))
