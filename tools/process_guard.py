"""Guard process and tags, with which no process of a command outlives this program, however it ends.

The guard is a small shell process. It waits for the end of a pipe that only this program holds open, which arrives even
after SIGKILL.

A tag is passed on to all descendants of a process, and neither `setsid` nor a cleared environment removes it: it is
the soft limit on the CPU time of real-time processes (`RLIMIT_RTTIME`, in microseconds), inherited like every limit,
visible in `/proc/PID/limits`, and without effect, since the value amounts to thousands of years. Linux only.
"""

from __future__ import annotations

import itertools
import os
import random
import resource
import signal
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio.subprocess import Process

_SERIAL_DIGITS = 6
_LARGEST = 10**18
_LOCK = threading.Lock()
_SHELL = "/bin/sh"
_IGNORED = [signal.Signals[f"SIG{name}"] for name in ("INT", "QUIT", "HUP", "TERM", "USR1", "USR2", "TSTP")]

# $1: the pattern of the tags. Lines: +GROUP for a process group that runs, -GROUP for one that has ended.
_SCRIPT = r"""
trap '' INT QUIT HUP TERM USR1 USR2 TSTP PIPE
cd /
groups=' '
while read -r line; do
  case $line in
    +*) groups="$groups${line#+} " ;;
    -*)
      # Without the check, the name of an unknown group would double the list.
      case $groups in
        *" ${line#-} "*) groups="${groups%% "${line#-}" *} ${groups#* "${line#-}" }" ;;
      esac
      ;;
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
        # All tags of this program begin with it, so that they can be found together.
        self._tag_prefix = random.SystemRandom().randrange(10**11, 10**12)
        self._serials = itertools.count()
        self._pipe = -1
        self.pid = 0

    def new_tag(self) -> int:
        return self._tag_prefix * 10**_SERIAL_DIGITS + next(self._serials) % 10**_SERIAL_DIGITS

    def start(self) -> None:
        """Start the guard if it is not running; do nothing on a system that does not support it."""
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
        pattern = f"{self._tag_prefix}[0-9]\\{{{_SERIAL_DIGITS}\\}}"
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


async def stop_group(process: Process) -> None:
    """End a watched process and its group if it runs, and forget it."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    # asyncio does not consider a process ended while its pipes are unread.
    await process.communicate()
    process_guard().forget(process.pid)


@cache
def tags_are_supported() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    hard = resource.getrlimit(resource.RLIMIT_RTTIME)[1]
    return (hard == resource.RLIM_INFINITY or hard > _LARGEST) and os.access("/proc/self/limits", os.R_OK)


@contextmanager
def tagged(tag: int | None) -> Generator[None]:
    """Give the tag to processes started inside; None removes the tag that this process may have itself."""
    if not tags_are_supported():
        yield
        return
    with _LOCK:
        before = resource.getrlimit(resource.RLIMIT_RTTIME)
        resource.setrlimit(resource.RLIMIT_RTTIME, (before[1] if tag is None else tag, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_RTTIME, before)


def tagged_pids(tag: int) -> Iterator[int]:
    """Yield the live processes with a tag."""
    wanted = b" %d " % tag
    for name in os.listdir("/proc") if tags_are_supported() else ():  # noqa: PTH208  names are wanted, not paths
        if name.isdecimal() and wanted in _content(f"/proc/{name}/limits") and not _is_dead(name):
            yield int(name)


def untag(tag: int) -> None:
    """Remove the tag from all processes that have it."""
    for pid in tagged_pids(tag):
        with suppress(OSError):
            hard = resource.prlimit(pid, resource.RLIMIT_RTTIME)[1]
            resource.prlimit(pid, resource.RLIMIT_RTTIME, (hard, hard))


def _is_dead(pid: str) -> bool:
    """Return True if a process has ended but was not reaped, as in containers without init."""
    return _content(f"/proc/{pid}/stat").rpartition(b")")[2][:3] in (b"", b" Z ", b" X ")


def _content(path: str) -> bytes:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, 4096)
        finally:
            os.close(descriptor)
    return b""
