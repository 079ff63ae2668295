"""Project files listed by ripgrep, without ignored ones, with their folders; and recently changed files."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sysconfig
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

from harness.concurrency.cancellation import end_process
from harness.errors import NotAFile
from harness.workspace.disk import is_there

MAX_PATHS = 1_000_000
PATIENCE_SECONDS = 60.0
_GIT_SECONDS = 3.0
_MAX_AT_WORK = 200
_CHUNK = 1 << 16
_AT_WORK = (
    ("diff", "--name-only", "--relative", "--no-ext-diff", "--no-textconv", "-z", "HEAD"),
    ("ls-files", "--others", "--exclude-standard", "-z"),
    ("log", "-n", "20", "--name-only", "--relative", "--format=", "-z"),
)

logger = logging.getLogger(__name__)


async def list_paths(root: Path, most: int = MAX_PATHS) -> list[str]:
    """Return at most `most` files and folders below `root`, nearest first; empty without ripgrep.

    The list is incomplete if ripgrep takes too long.
    """
    command = _ripgrep()
    if command is None:
        return []
    # Sorted by ripgrep: sorting a million paths here would block keys for a second.
    listing = (command, "--files", "--hidden", "--null", "--sort", "path", "--glob", "!.git")
    by_depth: dict[int, list[str]] = {}
    folders: set[str] = set()
    count = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS), aclosing(_names(listing, root)) as names:
            async for path in names:
                _put(by_depth, folders, path)
                count += 1
                if count >= most:
                    break
    return [path for depth in sorted(by_depth) for path in by_depth[depth]]


async def paths_at_work(root: Path) -> list[str]:
    """Return uncommitted and new files, and those of the last commits."""
    git = shutil.which("git")
    if git is None:
        return []
    # Late: files are listed after the first paint, which needs nothing of the tools.
    from tools.environment import git_environment

    environment = await asyncio.to_thread(git_environment, os.environ, [root], "read")
    found: dict[str, None] = {}
    for arguments in _AT_WORK:
        with suppress(TimeoutError):
            async with asyncio.timeout(_GIT_SECONDS), aclosing(_names((git, *arguments), root, environment)) as names:
                async for path in names:
                    found[path] = None
                    if len(found) >= _MAX_AT_WORK:
                        break
    return [path for path in found if is_there(root / path)]


def _put(by_depth: dict[int, list[str]], folders: set[str], path: str) -> None:
    folder = path.rpartition("/")[0]
    while folder and folder not in folders:
        folders.add(folder)
        by_depth.setdefault(folder.count("/"), []).append(f"{folder}/")
        folder = folder.rpartition("/")[0]
    by_depth.setdefault(path.count("/"), []).append(path)


async def _names(
    command: Sequence[str], root: Path, environment: Mapping[str, str] | None = None
) -> AsyncGenerator[str, None]:
    """Yield the NUL-separated output of a command; the process is killed when iteration stops."""
    # Late: files are listed after the first paint, which needs nothing of the tools.
    from tools.ripgrep import skip_special_ignore_files

    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=root, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, limit=_CHUNK
        )
    except OSError as error:
        logger.warning("%s cannot be listed: %s", root, error)
        return
    assert process.stdout is not None
    rest = b""
    try:
        async with skip_special_ignore_files(root, process):
            while chunk := await process.stdout.read(_CHUNK):
                *names, rest = (rest + chunk).split(b"\0")
                for name in names:
                    path = name.decode("utf-8", "replace")
                    # A name with a line break cannot be part of a prompt.
                    if path.isprintable() and path:
                        yield path
    except NotAFile as error:
        logger.warning("%s is listed in part: %s", root, error)
    finally:
        await end_process(process)


def _ripgrep() -> str | None:
    # The ripgrep wheel installs it next to Python, which may not be on the PATH.
    return shutil.which("rg") or shutil.which("rg", path=sysconfig.get_path("scripts"))
