"""Tag that a process passes on to all its descendants, and that neither `setsid` nor a cleared environment removes.

It is the soft limit on the CPU time of real-time processes (`RLIMIT_RTTIME`, in microseconds): inherited like every
limit, visible in `/proc/PID/limits`, and without effect, since the value amounts to thousands of years. Linux only.
"""

from __future__ import annotations

import itertools
import os
import random
import resource
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache

SERIAL_DIGITS = 6
_LARGEST = 10**18
_LOCK = threading.Lock()


class ProcessTags:
    """Tags of this program; all begin with the digits of `prefix`, so that they can be found together."""

    def __init__(self) -> None:
        self.prefix = random.SystemRandom().randrange(10**11, 10**12)
        self._serials = itertools.count()

    def new(self) -> int:
        return self.prefix * 10**SERIAL_DIGITS + next(self._serials) % 10**SERIAL_DIGITS


@cache
def are_supported() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    hard = resource.getrlimit(resource.RLIMIT_RTTIME)[1]
    return (hard == resource.RLIM_INFINITY or hard > _LARGEST) and os.access("/proc/self/limits", os.R_OK)


@contextmanager
def tagged(tag: int | None) -> Generator[None]:
    """Give the tag to processes started inside; None removes the tag that this process may have itself."""
    if not are_supported():
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
    for name in os.listdir("/proc") if are_supported() else ():  # noqa: PTH208  names are wanted, not paths
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
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
