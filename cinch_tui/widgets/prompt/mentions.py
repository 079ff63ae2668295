"""Paths after an `@`: the files of the project as ripgrep lists them, without what git ignores."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import sysconfig
import time
from asyncio.subprocess import DEVNULL, PIPE
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
        self.root = root
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
        paths = await list_paths(self.root)
        self._paths = tuple(Candidate(path, then=" ") for path in paths)
        self._loaded_at = time.monotonic()


if TYPE_CHECKING:
    _: type[CompletionSource] = MentionCompletion


async def list_paths(root: Path) -> list[str]:
    """Files below the folder, the near ones first: `MAX_PATHS`, or what is found in time; none without ripgrep."""
    command = _ripgrep()
    if command is None:
        return []
    try:
        process = await asyncio.create_subprocess_exec(
            command, "--files", "--hidden", "--null", "--glob", "!.git",
            cwd=root, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL,
        )  # fmt: skip
    except OSError as error:
        logger.warning("%s cannot be listed: %s", root, error)
        return []
    paths: list[str] = []
    is_complete = False
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            is_complete = await _collect(process, paths)
    except TimeoutError:
        logger.info("listing %s took too long; %d paths can be completed", root, len(paths))
    finally:
        if not is_complete:
            with suppress(ProcessLookupError):
                process.kill()
        await process.wait()
    return sorted(paths, key=lambda path: (path.count("/"), path))


async def _collect(process: asyncio.subprocess.Process, paths: list[str]) -> bool:
    """Fill `paths`; whether that was all there is."""
    assert process.stdout is not None
    while len(paths) < MAX_PATHS:
        try:
            path = (await process.stdout.readuntil(b"\0"))[:-1].decode("utf-8", "replace")
        except asyncio.IncompleteReadError:
            return True
        # A name with a line break in it cannot stand in a prompt.
        if path.isprintable():
            paths.append(path)
    return False


def _ripgrep() -> str | None:
    # The wheel of ripgrep puts it beside the Python that runs us, which need not be on the path.
    return shutil.which("rg") or shutil.which("rg", path=sysconfig.get_path("scripts"))
