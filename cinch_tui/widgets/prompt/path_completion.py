"""Completion of paths: in shell commands of the user, and after `@`."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from cinch_tui.widgets.prompt.completion import MAX_CANDIDATES, Candidate, Completion
from cinch_tui.widgets.prompt.project_files import FileIndex, FileSearch, list_paths, recent_paths
from cinch_tui.widgets.prompt.resource_completion import ResourceCompletion

_MOST_LOOKED_AT = 20_000
# Blanks inside a path are escaped with a backslash, as in a shell.
_LAST_WORD = re.compile(r"(?:\\.|[^\s\\;|&<>()'\"=])*$")
_SPECIAL = re.compile(r"""([\s\\;|&<>()'"$`*?#!\[\]{}])""")
FRESH_SECONDS = 10.0
# Slow listings are refreshed less often.
_FRESH_FOR = 30
_A_KEY = 0.015
"""Maximum seconds of search per key; the search continues afterwards."""
_MAX_USED = 50
_MAX_AGENTS = 5
"""Maximum number of subagents that are offered beside files."""
_MAX_DESCRIPTION = 80
_MENTION = re.compile(r"""(?:^|[\s(\[{,;:=\'`])@(?P<path>"[^"]*|[^\s@"]*)$""")
_OUTSIDE = ("/", "~/", "../", "./")


def complete_path(root: Path, before: str) -> Completion | None:
    """Complete the last word of a command that starts with `!`."""
    found = _LAST_WORD.search(before, len(before) - len(before.lstrip("!")))
    typed = found[0] if found else ""
    folder, _, name = typed.rpartition("/")
    inside = _bare(folder) or ("/" if typed.startswith("/") else ".")
    names = [_SPECIAL.sub(r"\\\1", each) for each in names_in(root, inside, _bare(name))]
    lead = typed[: len(typed) - len(name)]
    candidates = tuple(Candidate(lead + each, then="" if each.endswith("/") else " ") for each in names)
    return Completion(len(before) - len(typed), typed, candidates, accepts_on_enter=False) if candidates else None


def names_in(root: Path, folder: str, begun: str) -> list[str]:
    """Return directory entries with this prefix, folders with a trailing slash; hidden ones only for a leading dot."""
    try:
        with os.scandir(root / Path(folder).expanduser()) as entries:
            found = [
                entry.name + ("/" if entry.is_dir() else "")
                for entry in islice(entries, _MOST_LOOKED_AT)
                if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
                if entry.name.isprintable()
            ]
    except (OSError, RuntimeError):
        # Missing folder, or unknown user in `~user`.
        return []
    return sorted(found)[:MAX_CANDIDATES]


def _bare(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word)


class MentionCompletion:
    """Completes from an in-memory index, filled by `load`.

    Args:
        root: Folder of the files.
        resources: Completion of resources of MCP servers.
        subagents: Returns mentions such as `agent-reviewer`, with descriptions.
    """

    def __init__(
        self,
        root: Path,
        resources: ResourceCompletion | None = None,
        subagents: Callable[[], Iterable[tuple[str, str]]] = tuple,
    ) -> None:
        self.root = root
        self.resources = resources or ResourceCompletion(lambda: None)
        self._subagents = subagents
        self._index = FileIndex()
        self._search: FileSearch | None = None
        self._at_work: list[str] = []
        self._used: list[str] = []
        self._fresh_until = 0.0

    @property
    def is_stale(self) -> bool:
        return time.monotonic() > self._fresh_until

    @property
    def has_more(self) -> bool:
        """Return True if the last search is unfinished: ask again."""
        return self._search is not None and not self._search.is_done

    @staticmethod
    def is_asked(before: str) -> bool:
        return _MENTION.search(before) is not None

    def complete(self, before: str) -> Completion | None:
        match = _MENTION.search(before)
        if match is None:
            return None
        typed = match["path"]
        wanted = typed.removeprefix('"')
        if resources := self.resources.complete(wanted):
            # Blocked keys would be worse than a URI that is not completed.
            return Completion(match.start("path"), wanted, resources, accepts_on_enter=False)
        paths = self._outside(wanted) if wanted.startswith(_OUTSIDE) else self._inside(wanted)
        is_folder = wanted.endswith("/")
        files = [_candidate(path) for path in paths if not (is_folder and path == wanted)]
        servers = self.resources.servers(wanted)
        others = (*servers, *self._agents(wanted))
        found = (*others, *files) if wanted else (*files, *others)
        # The folder itself may be meant, so Enter does not insist on its content.
        return Completion(match.start("path"), wanted, found, accepts_on_enter=not is_folder) if found else None

    def used(self, text: str) -> None:
        """Record an accepted candidate; it is offered first from now on."""
        path = text.strip('"')
        if self.resources.names(path) or any(path == name for name, _ in self._subagents()):
            return
        self._used = [path, *(each for each in self._used if each != path)][:_MAX_USED]

    async def load(self) -> None:
        began = time.monotonic()
        self._fresh_until = began + FRESH_SECONDS * _FRESH_FOR
        self._at_work = await recent_paths(self.root)
        paths = await list_paths(self.root)
        self._index = await asyncio.to_thread(FileIndex, paths)
        self._search = None
        self._fresh_until = time.monotonic() + max(FRESH_SECONDS, _FRESH_FOR * (time.monotonic() - began))

    def _agents(self, wanted: str) -> list[Candidate]:
        """Return the subagents whose mention, or name without the prefix, begins with `wanted`."""
        typed = wanted.lower()
        found = (
            Candidate(name, description[:_MAX_DESCRIPTION])
            for name, description in (self._subagents() if typed else ())
            if name.lower().startswith(typed) or name.lower().partition("-")[2].startswith(typed)
        )
        return list(islice(found, _MAX_AGENTS))

    def _inside(self, wanted: str) -> list[str]:
        favoured = list(dict.fromkeys((*self._used, *self._at_work)))
        if not wanted:
            self._search = None
            near = self._index.first(MAX_CANDIDATES)
            return list(dict.fromkeys((*favoured[: MAX_CANDIDATES // 2], *near)))[:MAX_CANDIDATES]
        if self._search is None or self._search.query != wanted:
            self._search = FileSearch(self._index, wanted)
        self._search.run(_A_KEY)
        return self._search.best(favoured)

    def _outside(self, wanted: str) -> list[str]:
        self._search = None
        folder, _, name = wanted.rpartition("/")
        return [f"{folder}/{each}" for each in names_in(self.root, f"{folder}/", name)]


def _candidate(path: str) -> Candidate:
    # The path continues after a folder.
    is_folder = path.endswith("/")
    if " " not in path:
        return Candidate(path, then="" if is_folder else " ")
    return Candidate(f'"{path}' if is_folder else f'"{path}"', then="" if is_folder else " ", shown=path)
