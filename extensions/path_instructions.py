"""Instructions for parts of a project: rules by path, and instruction files in subfolders.

Source for `AgentOptions.get_instructions`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from extensions.rules import Rule, matching_rules
from harness.instructions.loading import LoadedInstructions, instruction_files, load_later
from harness.terminal_text import escape_controls

_OF_OTHERS = frozenset({"node_modules", "site-packages", "vendor"})
"""Folders with the code of others, whose instructions are not for this project."""


class PathInstructions:
    """Finds the instructions for files and folders.

    Args:
        cwd: Working folder; the instruction files in it and above it are part of the system prompt.
        config_dir: Folder of the user's own AGENTS.md.
    """

    def __init__(self, cwd: Path, config_dir: Path) -> None:
        self._cwd = Path(os.path.realpath(cwd))
        self._config_dir = config_dir
        self._rules: Sequence[Rule] = ()
        self._is_trusted = False
        self._has_warned = False

    def use(self, rules: Sequence[Rule], *, is_trusted: bool) -> None:
        """Use other rules from now on, and read instruction files in subfolders if the project is trusted."""
        self._rules = rules
        self._is_trusted = is_trusted

    async def __call__(self, paths: Sequence[Path]) -> LoadedInstructions:
        return await asyncio.to_thread(self._load, paths)

    def _load(self, paths: Sequence[Path]) -> LoadedInstructions:
        folders = list(dict.fromkeys(folder for path in paths for folder in self._folders(path)))
        if not self._is_trusted:
            problems, folders = self._warning(folders), []
        else:
            problems = ()
        loaded = load_later(self._cwd, self._config_dir, folders, matching_rules(self._rules, paths))
        return LoadedInstructions(loaded.instructions, (*problems, *loaded.problems))

    def _folders(self, path: Path) -> Iterator[Path]:
        """Yield the subfolders of the working folder that a path is in, the outermost first."""
        folder = path if path.is_dir() else path.parent
        if not folder.is_relative_to(self._cwd):
            return
        parts = folder.relative_to(self._cwd).parts
        if not any(part in _OF_OTHERS or part.startswith(".") for part in parts):
            for length in range(1, len(parts) + 1):
                yield self._cwd.joinpath(*parts[:length])

    def _warning(self, folders: Sequence[Path]) -> tuple[str, ...]:
        """Return a warning about the first instruction file that is not read, once."""
        files = (path for folder in folders for path in instruction_files(folder) if path.is_file())
        path = None if self._has_warned else next(files, None)
        if path is None:
            return ()
        self._has_warned = True
        name = escape_controls(str(path.relative_to(self._cwd)))
        return (f"Ignored: {name}; this folder is not trusted; to use it, /trust, or start with --trust.",)
