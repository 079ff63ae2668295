"""Requests about the symbols of a project, answered by a process of their own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from harness.approval.path_lists import is_secret, secret_globs
from harness.errors import CinchError
from harness.workspace.disk import is_folder
from tools.process_guard import process_guard, stop_group
from tools.ripgrep import Ripgrep
from tools.symbols.languages import SUFFIXES, language_of
from tools.symbols.lookup import SymbolQuery, SymbolResult
from tools.symbols.repository_map import MapQuery, MapResult
from tools.symbols.worker import Request

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
    process = await _start()
    try:
        if real == folder:
            names = [f"{prefix}{name}" for name in await _names(folder)]
        else:
            await workspace.read_bytes(real, limit=1)
            prefix = f"{prefix}{real.name}"
            names = [prefix]
        request = Request(os.fspath(root), prefix, names, query, os.fspath(cache or ""))
        output, error = await process.communicate(msgspec.msgpack.encode(request))
    finally:
        await stop_group(process)
    if process.returncode:
        last = error.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise CinchError(f"the symbols could not be read: {last or f'the process ended with {process.returncode}'}")
    return msgspec.msgpack.decode(output, type=answer)


async def _start() -> asyncio.subprocess.Process:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    process_guard().start()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "tools.symbols.worker",
        cwd="/",
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    process_guard().watch(process.pid)
    return process


async def _names(folder: Path) -> Sequence[str]:
    """Return the source files that git does not ignore, without secrets and code of others."""
    options = [f"--type-add=cinchsource:*{{{','.join(SUFFIXES)}}}", "--type=cinchsource"]
    options += [f"--iglob=!{glob}" for glob in (*secret_globs(), f"{{{_VENDORED}}}", f"{{{_GENERATED}}}")]
    names = await Ripgrep(["--files", "--null", *options], folder).names()
    # msgpack holds UTF-8 only.
    return [name for name in names if language_of(name) and not is_secret(name) and name.isprintable()]
