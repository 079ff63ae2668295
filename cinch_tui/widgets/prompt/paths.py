"""Paths in a command of the person's own: what the folder holds that is begun, asked for with Tab."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.widgets.prompt.completion import MAX_CANDIDATES, Candidate, Completion, CompletionSource

_MOST_LOOKED_AT = 20_000
# Blanks that belong to a path have a backslash before them, as in a shell.
_LAST_WORD = re.compile(r"(?:\\.|[^\s\\;|&<>()'\"=])*$")
_SPECIAL = re.compile(r"""([\s\\;|&<>()'"$`*?#!\[\]{}])""")


class PathCompletion:
    def __init__(self, root: Path) -> None:
        self._root = root

    def complete(self, before: str, *, one_line: bool) -> Completion | None:
        """What begins like the last word of a command that starts with `!`."""
        del one_line
        found = _LAST_WORD.search(before, len(before) - len(before.lstrip("!")))
        typed = found[0] if found else ""
        folder, _, name = typed.rpartition("/")
        names = self._names(folder, re.sub(r"\\(.)", r"\1", name), is_absolute=typed.startswith("/"))
        lead = typed[: len(typed) - len(name)]
        candidates = tuple(Candidate(lead + each, then="" if each.endswith("/") else " ") for each in names)
        return Completion(len(before) - len(typed), typed, candidates, insists=False) if candidates else None

    def _names(self, folder: str, begun: str, *, is_absolute: bool) -> list[str]:
        folder = re.sub(r"\\(.)", r"\1", folder) or ("/" if is_absolute else ".")
        try:
            with os.scandir(self._root / Path(folder).expanduser()) as entries:
                found = [
                    _SPECIAL.sub(r"\\\1", entry.name) + ("/" if entry.is_dir() else "")
                    for entry in islice(entries, _MOST_LOOKED_AT)
                    if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
                    if entry.name.isprintable()
                ]
        except (OSError, RuntimeError):
            # A folder that is not there, or the home of nobody.
            return []
        return sorted(found)[:MAX_CANDIDATES]


if TYPE_CHECKING:
    _: type[CompletionSource] = PathCompletion
