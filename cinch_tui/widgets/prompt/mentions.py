"""Paths after an `@`: the files of the project as ripgrep lists them, without what git ignores."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import sysconfig
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.widgets.prompt.completion import Candidate, Completion, CompletionSource, best

MAX_PATHS = 20_000
FRESH_SECONDS = 10.0
PATIENCE_SECONDS = 5.0

_MENTION = re.compile(r"""(?:^|[\s(\[{,;:="'`])@(?P<path>[^\s@]*)$""")

logger = logging.getLogger(__name__)


class MentionCompletion:
    """Completes from a list in memory. `load` fills it; until then there is nothing to offer."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._paths: tuple[Candidate, ...] = ()
        self._loaded_at: float | None = None

    @property
    def is_stale(self) -> bool:
        return self._loaded_at is None or time.monotonic() - self._loaded_at > FRESH_SECONDS

    @staticmethod
    def is_asked(before: str) -> bool:
        return _MENTION.search(before) is not None

    def complete(self, before: str, *, one_line: bool) -> Completion | None:
        del one_line
        match = _MENTION.search(before)
        if match is None:
            return None
        typed = match["path"]
        found = best(typed, self._paths)
        return Completion(match.start("path"), typed, found) if found else None

    async def load(self) -> None:
        self._loaded_at = time.monotonic()
        paths = await list_paths(self._root)
        self._paths = tuple(Candidate(path, then=" ") for path in paths)
        self._loaded_at = time.monotonic()


if TYPE_CHECKING:
    _: type[CompletionSource] = MentionCompletion


async def list_paths(root: Path) -> list[str]:
    """At most `MAX_PATHS` files below the folder, sorted; fewer where listing takes too long, none without ripgrep."""
    command = _ripgrep()
    if command is None:
        return []
    process = await asyncio.create_subprocess_exec(
        command, "--files", "--hidden", "--glob", "!.git",
        cwd=root, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    paths: list[str] = []
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await _collect(process, paths)
    except TimeoutError:
        logger.info("listing %s took too long; %d paths can be completed", root, len(paths))
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return sorted(paths)


async def _collect(process: asyncio.subprocess.Process, paths: list[str]) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        path = line.decode("utf-8", "replace").rstrip("\n")
        if path.isprintable():
            paths.append(path)
        if len(paths) == MAX_PATHS:
            return


def _ripgrep() -> str | None:
    return shutil.which("rg") or shutil.which("rg", path=sysconfig.get_path("scripts"))
