"""Sandbox in which tests run commands that were judged to be read-only.

A seccomp filter stops and records every attempt to change a file, read a secret or open a socket; where bubblewrap
is installed and namespaces are permitted, commands also have no network, their own processes and a read-only file
system. Neither needs privileges.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import json
import os
import platform
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from permissions import sandbox_child

_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NOTIFICATION = struct.Struct("QIIiIQ6Q")
_RESPONSE = struct.Struct("QqiI")
_CONTINUE = 1
_HARMLESS = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2")
# The C library asks this service for names of users and does without it.
_NAME_SERVICE = "/nscd/socket"


_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# The folder that stands for the working directory.
_HERE = -100
_SYSTEM = ("/usr/", "/lib", "/etc/", "/proc/", "/dev/", "/sys/", "/bin/")
_OF_DESCRIPTORS = ("fchmod", "fchown", "fsetxattr", "fremovexattr")


class Result(NamedTuple):
    """Result of one command."""

    command: str
    status: int | None
    """Exit status; None if it did not end in time."""
    output: str
    attempts: list[str]
    """What it tried and was not permitted to do."""


@functools.cache
def missing_support() -> str:
    """Return the reason why this machine cannot run the sandbox, or an empty string."""
    if platform.system() != "Linux" or platform.machine() not in sandbox_child.ARCHITECTURES:
        return f"no sandbox for {platform.system()} on {platform.machine()}"
    probe = "import sandbox_child; sandbox_child.install_filter()"
    folder = Path(sandbox_child.__file__).parent
    done = subprocess.run([sys.executable, "-c", probe], cwd=folder, capture_output=True, text=True, check=False)
    return f"no seccomp listener: {done.stderr.strip().splitlines()[-1]}" if done.returncode else ""


@functools.cache
def namespaces() -> tuple[str, ...]:
    """Return the command that enters namespaces of their own, or an empty tuple if they are not permitted here."""
    program = shutil.which("bwrap")
    if program is None:
        return ()
    command = (program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent")
    done = subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if done.returncode == 0 else ()


class Sandbox:
    """One sandboxed process that runs commands one after another.

    Args:
        folder: Folder in which they run.
        environment: Their environment.
        temporary: Empty folder for temporary files, the only one that may change.
        secrets: Files that may not be read.
        seconds: Longest time of a command.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        temporary: Path,
        *,
        secrets: Iterable[Path] = (),
        seconds: float = 5.0,
    ) -> None:
        self._attempts: list[str] = []
        self._temporary = temporary
        self._secrets = frozenset(os.path.realpath(path) for path in secrets)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            folders = ("--bind", str(temporary), str(temporary), "--chdir", str(folder)) if namespaces() else ()
            script = str(Path(sandbox_child.__file__))
            self._process = subprocess.Popen(
                [*namespaces(), *folders, sys.executable, "-I", "-B", script, str(theirs.fileno()), str(seconds)],
                cwd=folder,
                env={**environment, "TMPDIR": str(temporary)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            theirs.close()
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        self._listener = descriptors[0]
        self._thread = threading.Thread(target=self._supervise, daemon=True)
        self._thread.start()

    def run(self, command: str) -> Result:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        attempts, self._attempts = self._attempts, []
        for path in self._temporary.iterdir():
            attempts.append(f"left a temporary file: {path.name}")
            path.unlink()
        return Result(command, answer["status"], answer["output"], attempts)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=10)
        self._thread.join(timeout=10)
        os.close(self._listener)

    def _supervise(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        while True:
            for _, events in poll.poll():
                if events & select.POLLHUP:
                    return
                # The process may have been killed in the meantime.
                with contextlib.suppress(FileNotFoundError):
                    self._answer()

    def _answer(self) -> None:
        buffer = bytearray(_NOTIFICATION.size)
        fcntl.ioctl(self._listener, _RECEIVE, buffer)
        identity, process, _, number, _, _, *arguments = _NOTIFICATION.unpack(buffer)
        attempt = self._attempt(process, number, arguments)
        if attempt is not None:
            self._attempts.append(attempt)
        error, flags = (0, _CONTINUE) if attempt is None else (-errno.EROFS, 0)
        fcntl.ioctl(self._listener, _SEND, bytearray(_RESPONSE.pack(identity, 0, error, flags)))

    def _attempt(self, process: int, number: int, arguments: Sequence[int]) -> str | None:
        """Return a description of a system call, or None if it is harmless."""
        name = _names()[number]
        if name in ("open", "openat"):
            folder, path, flags = arguments[:3] if name == "openat" else (_HERE, *arguments[:2])
            if not flags & _WRITES:
                return self._reading(process, folder, _text(process, path), flags)
        if name == "socket":
            return None if arguments[0] == socket.AF_UNIX else f"socket of family {arguments[0]}"
        if name == "kill":
            target = ctypes.c_int32(arguments[0]).value
            return f"kill({target})" if target in (-1, 1) else None
        if name == "connect":
            path = _text(process, arguments[1] + 2)
            return None if path.endswith(_NAME_SERVICE) else f"connect: {path}"
        paths = [path for each in arguments[:4] if (path := _path(process, each)).startswith("/")]
        if name in _OF_DESCRIPTORS:
            paths = [_target(f"/proc/{process}/fd/{arguments[0]}")]
        if paths and all(path in _HARMLESS or self._is_temporary(path) for path in paths):
            return None
        return f"{name}({', '.join(paths) or _path(process, arguments[0]) or _path(process, arguments[1])})"

    def _reading(self, process: int, folder: int, path: str, flags: int) -> str | None:
        if path.startswith(_SYSTEM):
            return None
        base = "cwd" if ctypes.c_int32(folder).value == _HERE else f"fd/{folder}"
        file = Path(_target(f"/proc/{process}/{base}"), path)
        is_refused_link = flags & os.O_NOFOLLOW and file.is_symlink()
        is_secret = not is_refused_link and os.path.realpath(file) in self._secrets
        return f"reads a secret: {path}" if is_secret else None

    def _is_temporary(self, path: str) -> bool:
        return path.startswith(f"{self._temporary}/") and ".." not in path


@functools.cache
def _names() -> dict[int, str]:
    column = sandbox_child.ARCHITECTURES[platform.machine()][1]
    return {numbers[column]: name for name, numbers in sandbox_child.STOPPED.items()}


def _path(process: int, address: int) -> str:
    """Return a string argument; empty for numbers."""
    return _text(process, address) if 4096 < address < 1 << 48 else ""


def _target(link: str) -> str:
    """Return the target of a link in /proc; empty if the process is gone."""
    with contextlib.suppress(OSError):
        return str(Path(link).readlink())
    return ""


def _text(process: int, address: int) -> str:
    """Return a string in the memory of a process."""
    try:
        with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
            memory.seek(ctypes.c_int64(address).value)
            return memory.read(256).partition(b"\0")[0].decode(errors="replace")
    except (OSError, ValueError):
        return ""
