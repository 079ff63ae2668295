"""Runs cinch without a terminal in forks of one process that has loaded its modules already.

The start of Python and the imports take longer than most runs. A fork has file descriptors, an environment and an exit
status of its own, like every process.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parents[2]
LOADED = (
    "cinch_tui.cli.arguments",
    "cinch_tui.cli.main",
    "cinch_tui.cli.start",
    "cinch_tui.cli.log",
    "cinch_tui.mcp_session",
    "cinch_tui.print_mode.run",
    "cinch_tui.print_mode.stream_json",
    "cinch_tui.session_recording",
    "harness.agent.agent",
    "harness.agent.run_lifecycle",
    "providers.anthropic.provider",
    "providers.openai_chat.provider",
    "asyncio",
    "uuid",
)
# Python reads these variables when it starts.
READ_AT_START = ("PYTHON", "LC_", "LANG")
_STATUS_BYTES = 100


class ForkServer:
    """Connection to the process that forks; `run` is like `subprocess.run` of `python -m cinch_tui`."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fakes.fork_server", str(theirs.fileno())],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
                pass_fds=[theirs.fileno()],
            )

    def close(self) -> None:
        self._socket.close()
        self._process.wait()

    def run(
        self, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], text: bytes, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        source, sink = os.pipe()
        with TemporaryFile() as request, TemporaryFile() as out, TemporaryFile() as err:
            request.write(json.dumps([list(arguments), str(cwd), dict(env)]).encode())
            request.flush()
            socket.send_fds(self._socket, [b"!"], [request.fileno(), source, out.fileno(), err.fileno()])
            os.close(source)
            writer = threading.Thread(target=_write, args=(sink, text))
            writer.start()
            status = self._status(timeout)
            writer.join()
            return subprocess.CompletedProcess(list(arguments), status, _text(out), _text(err))

    def _status(self, timeout: float) -> int:
        pid = int(self._socket.recv(_STATUS_BYTES))
        self._socket.sendall(b"!")
        self._socket.settimeout(timeout)
        try:
            return int(self._socket.recv(_STATUS_BYTES))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._socket.settimeout(None)
            self._socket.recv(_STATUS_BYTES)
            raise
        finally:
            self._socket.settimeout(None)


def _write(sink: int, text: bytes) -> None:
    # A process that does not read its input closes it.
    with open(sink, "wb") as pipe:
        try:
            pipe.write(text)
            pipe.flush()
        except BrokenPipeError:
            pipe.detach()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


_running: list[ForkServer] = []


def can_fork(environment: Mapping[str, str]) -> bool:
    """Return False if a variable has an effect only in a process of its own."""
    return not any(name.startswith(READ_AT_START) for name in environment)


def run_forked(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: str | bytes = b"",
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:
    """Run cinch with these arguments, in this environment or that of the test; the first call starts the server."""
    if not _running:
        _running.append(ForkServer())
    text = stdin.encode() if isinstance(stdin, str) else stdin
    return _running[0].run(arguments, cwd=cwd, env=env or os.environ, text=text, timeout=timeout)


def stop() -> None:
    """Stop the server, if it was started."""
    while _running:
        _running.pop().close()


def main() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        sign, fds, *_ = socket.recv_fds(connection, 1, 4)
        if not sign:
            return
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become(*fds)
        for fd in fds:
            os.close(fd)
        connection.sendall(str(pid).encode())
        connection.recv(1)
        _, status = os.waitpid(pid, 0)
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request: int, *standard: int) -> NoReturn:
    """Be a process that was started with these arguments, in this folder, with this environment and these streams."""
    with open(request, "rb") as file:
        file.seek(0)
        arguments, cwd, environment = json.load(file)
    for number, fd in enumerate(standard):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["cinch", *arguments]
    from cinch_tui.launch import run

    run()


if __name__ == "__main__":
    main()
