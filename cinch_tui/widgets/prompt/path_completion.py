"""Path completion in shell commands of the user, with Tab."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.widgets.prompt.completion import MAX_CANDIDATES, Candidate, Completion, CompletionSource

_MOST_LOOKED_AT = 20_000
# Blanks inside a path are escaped with a backslash, as in a shell.
_LAST_WORD = re.compile(r"(?:\\.|[^\s\\;|&<>()'\"=])*$")
_SPECIAL = re.compile(r"""([\s\\;|&<>()'"$`*?#!\[\]{}])""")


class PathCompletion:
    def __init__(self, root: Path) -> None:
        self._root = root

    def complete(self, before: str, *, one_line: bool) -> Completion | None:
        """Complete the last word of a command that starts with `!`."""
        del one_line
        found = _LAST_WORD.search(before, len(before) - len(before.lstrip("!")))
        typed = found[0] if found else ""
        folder, _, name = typed.rpartition("/")
        inside = _bare(folder) or ("/" if typed.startswith("/") else ".")
        names = [_SPECIAL.sub(r"\\\1", each) for each in names_in(self._root, inside, _bare(name))]
        lead = typed[: len(typed) - len(name)]
        candidates = tuple(Candidate(lead + each, then="" if each.endswith("/") else " ") for each in names)
        return Completion(len(before) - len(typed), typed, candidates, insists=False) if candidates else None


if TYPE_CHECKING:
    _: type[CompletionSource] = PathCompletion


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
