"""Small shell process that ends our commands' processes after this program has ended, for whatever reason.

It waits for the end of a pipe that only this program holds open, which arrives even after SIGKILL.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import cache

from tools.process_tag import SERIAL_DIGITS, ProcessTags, tagged

_SHELL = "/bin/sh"
_IGNORED = (
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTSTP,
)

# $1: the pattern of the tags. Lines: +GROUP for a process group that runs, -GROUP for one that has ended.
_SCRIPT = r"""
trap '' INT QUIT HUP TERM USR1 USR2 TSTP PIPE
cd /
groups=' '
while read -r line; do
  case $line in
    +*) groups="$groups${line#+} " ;;
    -*) groups="${groups%% "${line#-}" *} ${groups#* "${line#-}" }" ;;
  esac
done
find_processes() {
  found=
  for limits in $(grep -ls "realtime timeout  *$1 " /proc/[0-9]*/limits); do
    folder=${limits%/limits}
    read -r stat <"$folder/stat" || continue
    case $stat in *') Z '* | *') X '*) continue ;; esac
    found="$found ${folder#/proc/}"
  done
  for group in $groups; do
    kill -s 0 -- "-$group" 2>/dev/null && found="$found -$group"
  done
}
find_processes "$1"
[ -z "$found" ] || kill -s TERM -- $found
for round in 1 2 3 4 5 6 7; do
  find_processes "$1"
  [ -n "$found" ] || exit 0
  sleep 0.1
done
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  find_processes "$1"
  [ -n "$found" ] || exit 0
  kill -s KILL -- $found
  sleep 0.05
done
"""


class ProcessGuard:
    """The guard process: started by the first command, and again if it was killed."""

    def __init__(self) -> None:
        self.tags = ProcessTags()
        self._pipe = -1
        self.pid = 0

    def start(self) -> None:
        """Start the guard if it is not running; on a system where it cannot be started there is none."""
        with suppress(OSError):
            if not self._is_alive():
                self._spawn()

    def watch(self, group: int) -> None:
        """End this process group as well if this program ends before `forget`."""
        self._write(f"+{group}\n")

    def forget(self, group: int) -> None:
        self._write(f"-{group}\n")

    def _is_alive(self) -> bool:
        if not self.pid:
            return False
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] == 0
        except ChildProcessError:
            return False

    def _spawn(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        reading, writing = os.pipe()
        null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
        actions = [(os.POSIX_SPAWN_DUP2, reading, 0), null, (os.POSIX_SPAWN_DUP2, 1, 2)]
        pattern = f"{self.tags.prefix}[0-9]\\{{{SERIAL_DIGITS}\\}}"
        try:
            # Without the tag of a program that runs us, whose guard would end this one too early.
            with tagged(None):
                self.pid = os.posix_spawn(
                    _SHELL,
                    ["sh", "-c", _SCRIPT, "process-guard", pattern],
                    {"PATH": os.environ.get("PATH") or os.defpath},
                    file_actions=actions,
                    # Signals for our process group must not reach it, even before it starts.
                    setpgroup=0,
                    setsigmask=_IGNORED,
                )
        except OSError:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        os.set_blocking(writing, False)
        self._pipe = writing

    def _write(self, line: str) -> None:
        if self._pipe >= 0:
            with suppress(OSError):
                os.write(self._pipe, line.encode())


@cache
def process_guard() -> ProcessGuard:
    """Return the guard of this program: one is enough for all its agents."""
    return ProcessGuard()
