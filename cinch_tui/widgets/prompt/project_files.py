"""Files of the project: listed by ripgrep, recently changed ones by git, indexed and searched in time slices."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from itertools import islice
from pathlib import Path

from cinch_tui.widgets.prompt.completion import MAX_CANDIDATES, rank
from harness.concurrency import end_process
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
_PIECE = 1 << 17
# Short queries match everything; ranking all paths of a large project would delay every key.
_MAX_HITS = 2_000


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


async def recent_paths(root: Path) -> list[str]:
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
    # Not needed at start.
    import sysconfig

    # The ripgrep wheel installs it next to Python, which may not be on the PATH.
    return shutil.which("rg") or shutil.which("rg", path=sysconfig.get_path("scripts"))


class FileIndex:
    """Index of `paths` in the order used for equally good matches."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self.text = "\n".join(("", *paths, "")).encode()
        # Only ASCII is lowered: offsets in both texts must be equal.
        self.lower = self.text.lower()

    def first(self, count: int) -> list[str]:
        ends = (match.start() for match in re.finditer(b"\n", self.text))
        end = next(islice(ends, count, None), len(self.text))
        return self.text[1:end].decode().splitlines()


class FileSearch:
    """Paths that contain the query, else those with its letters in order. Smart case."""

    def __init__(self, index: FileIndex, query: str) -> None:
        self.query = query
        self.is_done = False
        self._index = index
        self._within = index.text if query.lower() != query else index.lower
        self._wanted = query.encode()
        self._place = 0
        self._hits: list[str] = []
        self._letters: re.Pattern[bytes] | None = None

    def run(self, seconds: float) -> None:
        """Continue the search for about `seconds`."""
        deadline = time.perf_counter() + seconds
        while not self.is_done and time.perf_counter() < deadline:
            stop = self._within.find(b"\n", min(self._place + _PIECE, len(self._within) - 1))
            stop = len(self._within) if stop < 0 else stop + 1
            (self._find_letters if self._letters else self._find_words)(self._place, stop)
            self._place = stop
            if stop == len(self._within) or len(self._hits) >= _MAX_HITS:
                self._finish_pass()

    def best(self, favoured: Collection[str]) -> list[str]:
        """Return the results so far, best first; ties: favored paths in their order, then nearer ones."""
        places = {path: place for place, path in enumerate(favoured)}
        wanted = self.query.lower()
        # Favored paths may be missing in the limited hits.
        also = [path for path in places if wanted in path.lower()]
        hits = dict.fromkeys((*also, *self._hits))

        def order(path: str) -> tuple[int, int]:
            return rank(wanted, path.lower().removesuffix("/")), places.get(path, len(places))

        return sorted(hits, key=order)[:MAX_CANDIDATES]

    def _finish_pass(self) -> None:
        """Finish, or start a second pass for scattered letters if there were no hits."""
        if self._hits or self._letters or len(self._wanted) < 2:
            self.is_done = True
            return
        each = (re.escape(bytes([byte])) for byte in self._wanted)
        self._letters = re.compile(b"(?m)^" + b"".join(b"[^%s\n]*%s" % (byte, byte) for byte in each))
        self._place = 0

    def _find_words(self, place: int, stop: int) -> None:
        while len(self._hits) < _MAX_HITS:
            place = self._within.find(self._wanted, place, stop)
            if place < 0:
                return
            place = self._keep(place)

    def _find_letters(self, place: int, stop: int) -> None:
        assert self._letters is not None
        for found in self._letters.finditer(self._within, place, stop):
            self._keep(found.start())
            if len(self._hits) >= _MAX_HITS:
                return

    def _keep(self, place: int) -> int:
        """Add the line around the position; return its end."""
        end = self._within.find(b"\n", place)
        start = self._within.rfind(b"\n", 0, place) + 1
        self._hits.append(self._index.text[start:end].decode())
        return end
