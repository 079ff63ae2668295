"""Requests about the symbols of a project, answered by a process of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

import msgspec

from harness.approval.path_lists import is_secret, secret_globs
from harness.errors import CinchError
from harness.workspace.disk import is_folder
from tools.process_guard import process_guard
from tools.ripgrep import Ripgrep
from tools.symbols.languages import SUFFIXES, language_of
from tools.symbols.lookup import SymbolQuery, SymbolResult
from tools.symbols.repository_map import MapQuery, MapResult
from tools.symbols.worker import IDLE_S, Failure, Request, Response, read_message, write_message

if TYPE_CHECKING:
    from harness.workspace.workspace import Workspace

_VENDORED = (
    "node_modules,bower_components,jspm_packages,vendor,third_party,thirdparty,site-packages,dist-packages,dist,.venv,"
    "venv,.tox,.nox,__pycache__,Pods,DerivedData"
)
_GENERATED = (
    "*.min.js,*.min.mjs,*.bundle.js,*_pb2.py,*_pb2.pyi,*_pb2_grpc.py,*.pb.go,*.pb.cc,*.pb.h,*.pb.rs,*.g.cs,"
    "*.designer.cs,*.generated.*,*_generated.*,*.gen.go,*.d.ts"
)
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")

_MOST_IDLE = 1
_MARGIN_S = 5.0
_RESPONSES: msgspec.msgpack.Decoder[Response] = msgspec.msgpack.Decoder(Response)
_Answer = TypeVar("_Answer", MapResult, SymbolResult)


async def map_repository(workspace: Workspace, path: str, query: MapQuery, cache: Path | None) -> MapResult:
    """Return the map of a folder.

    Raises:
        CinchError: The folder is not there or not allowed, or no answer came.
        RipgrepMissing: ripgrep is not installed.
    """
    return await _ask(workspace, path, query, cache, MapResult)


async def search_symbols(workspace: Workspace, path: str, query: SymbolQuery, cache: Path | None) -> SymbolResult:
    """Return symbols in a folder or file.

    Raises:
        CinchError: The path is not there or not allowed, or no answer came.
        RipgrepMissing: ripgrep is not installed.
    """
    return await _ask(workspace, path, query, cache, SymbolResult)


async def _ask(
    workspace: Workspace, path: str, query: MapQuery | SymbolQuery, cache: Path | None, answer: type[_Answer]
) -> _Answer:
    real = workspace.resolve(path)
    folder = real if is_folder(real) else real.parent
    root = workspace.root if folder.is_relative_to(workspace.root) else folder
    prefix = "" if folder == root else f"{folder.relative_to(root).as_posix()}/"
    # Started first: the process loads its modules while the files are listed.
    worker = _idle_worker()
    try:
        if real == folder:
            names = [f"{prefix}{name}" for name in await _names(folder)]
        else:
            await workspace.read_bytes(real, limit=1)
            prefix = f"{prefix}{real.name}"
            names = [prefix]
        request = Request(os.fspath(root), prefix, names, query, os.fspath(cache or ""))
        response = await asyncio.to_thread(worker.ask, request)
    except BaseException:
        worker.stop()
        raise
    worker.release()
    if isinstance(response, Failure):
        raise CinchError(f"the symbols could not be read: {response.error}")
    assert isinstance(response, answer)
    return response


_idle: list[_Worker] = []
"""Processes without a request; they end themselves after a while."""


def _idle_worker() -> _Worker:
    """Return an idle process; start one if necessary."""
    with suppress(IndexError):
        while True:
            worker = _idle.pop()
            if worker.is_fresh:
                return worker
            worker.stop()
    return _Worker()


class _Worker:
    """A process that answers requests, one at a time."""

    def __init__(self) -> None:
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        process_guard().start()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tools.symbols.worker"],
            cwd="/",
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        process_guard().watch(self._process.pid)
        self._released = time.monotonic()
        Thread(target=self._reap, name="symbols", daemon=True).start()

    @property
    def is_fresh(self) -> bool:
        """False if the process has ended or is about to."""
        return self._process.poll() is None and time.monotonic() < self._released + IDLE_S - _MARGIN_S

    def ask(self, request: Request) -> Response:
        """Return the response to a request; blocks.

        Raises:
            CinchError: The process has ended.
        """
        assert self._process.stdin
        assert self._process.stdout
        data = b""
        # Closed by the other thread if the process has ended.
        with suppress(OSError, ValueError):
            write_message(self._process.stdin, request)
            data = read_message(self._process.stdout)
        if not data:
            raise CinchError(f"the symbols could not be read: the process ended with {self._process.wait()}")
        return _RESPONSES.decode(data)

    def release(self) -> None:
        """Keep the process for another request."""
        self._released = time.monotonic()
        _idle.append(self)
        while len(_idle) > _MOST_IDLE:
            _idle.pop(0).stop()

    def stop(self) -> None:
        """End the process with those that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _reap(self) -> None:
        with self._process:
            self._process.wait()
        process_guard().forget(self._process.pid)


async def _names(folder: Path) -> Sequence[str]:
    """Return the source files that git does not ignore, without secrets and code of others."""
    options = [f"--type-add=cinchsource:*{{{','.join(SUFFIXES)}}}", "--type=cinchsource"]
    options += [f"--iglob=!{glob}" for glob in (*secret_globs(), f"{{{_VENDORED}}}", f"{{{_GENERATED}}}")]
    names = await Ripgrep(["--files", "--null", *options], folder).names()

    def chosen() -> list[str]:
        # ripgrep does not know the forms of Unicode that a secret's name can have; msgpack holds UTF-8 only.
        return [
            name
            for name in names
            if language_of(name) and (name.isascii() or not is_secret(name)) and name.isprintable()
        ]

    return await asyncio.to_thread(chosen)
