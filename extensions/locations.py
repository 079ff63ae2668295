"""Places of extension files: folders of the project, of the user, of plugins, and those that come with cinch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["skill", "command", "subagent", "agent", "rules", "output style", "script tool", "task"]
Level: TypeAlias = Literal["project", "user", "plugin", "bundled"]

FOLDERS: Mapping[Kind, str] = {
    "skill": "skills",
    "command": "commands",
    "subagent": "agents",
    "agent": "agents",
    "rules": "rules",
    "output style": "output-styles",
    "script tool": "tools",
    "task": "tasks",
}
"""Folder of each kind in a root."""
ROOTS: Mapping[str, frozenset[Kind]] = {
    ".cinch": frozenset(FOLDERS),
    ".claude": frozenset({"skill", "command", "subagent", "rules", "output style"}),
    ".agents": frozenset({"skill"}),
}
"""Roots in a project or in the user's home, the strongest first, with the kinds that they may contain."""
_SUFFIXES: Mapping[Kind, tuple[str, ...]] = {
    "command": (".md", ".toml"),
    "rules": (".md", ".mdc"),
    "agent": (".toml", ".json", ".yaml", ".yml"),
    "script tool": (".toml",),
    "task": (".toml",),
}

MOST_ENTRIES = 1_000
"""Maximum number of entries that are looked at in one folder."""
DEEPEST = 4
"""Maximum depth of folders with commands, subagents and the files of a skill."""


class Root(Struct, frozen=True):
    """A folder with extensions, such as `.claude` of a project."""

    path: Path
    """The folder."""
    level: Level
    """Whose it is."""
    kinds: frozenset[Kind] = frozenset(FOLDERS)
    """Kinds of extensions that are read from it."""
    plugin: str = ""
    """Name of the plugin, which precedes the names of its extensions."""
    is_active: Callable[[Path], bool] = lambda _: True
    """Returns True for a file that may have an effect; the files of a project need the user's trust."""


BUNDLED = Root(Path(__file__).parent / "bundled", "bundled")
"""Extensions that come with cinch."""


class ExtensionFile(Struct, frozen=True):
    """A file with one extension."""

    kind: Kind
    path: Path
    """The file; of a skill, its SKILL.md."""
    root: Root
    location: str
    """The path as text, which a path takes long to return for the first time."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Name of the file and of the folders above it, below the folder of the kind: `("git", "commit")`."""
        # Text is several times faster than paths.
        below = self.location.removeprefix(f"{self.root.path}/{FOLDERS[self.kind]}/")
        name = below.removesuffix("/SKILL.md") if self.kind == "skill" else os.path.splitext(below)[0]  # noqa: PTH122
        return tuple(name.split("/"))


def roots_in(
    folder: Path, level: Level, *, claude: bool = True, is_active: Callable[[Path], bool] = lambda _: True
) -> list[Root]:
    """Return the roots in a folder of a project, or in the user's home, the strongest first.

    Args:
        folder: The folder.
        level: Whose it is.
        claude: False to leave out `.claude`.
        is_active: Returns True for a file that may have an effect.
    """
    names = (name for name in ROOTS if claude or name != ".claude")
    return [Root(folder / name, level, ROOTS[name], is_active=is_active) for name in names]


def extension_files(kind: Kind, roots: Iterable[Root]) -> Iterator[ExtensionFile]:
    """Yield the active files of a kind, in the order of `roots`: the first of several with the same name counts.

    A SKILL.md may not exist: whoever opens it finds out.
    """
    for root in roots:
        if kind in root.kinds:
            for location in _locations(kind, root.path):
                path = Path(location)
                if root.is_active(path):
                    yield ExtensionFile(kind, path, root, location)


def files_of(kind: Kind, root: Path) -> Iterator[Path]:
    """Yield the files of a kind in a root, whether they have an effect or not."""
    found = _locations(kind, root)
    return map(Path, filter(os.path.isfile, found) if kind == "skill" else found)


def _locations(kind: Kind, root: Path) -> Iterator[str]:
    # Paths are made last: hundreds of them take longer than looking for the files.
    folder = str(root / FOLDERS[kind])
    if kind == "skill":
        return (f"{each.path}/SKILL.md" for each in entries(folder))
    return _with_suffix(folder, _SUFFIXES.get(kind, (".md",)))


def _with_suffix(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    # Hidden folders, as those of a repository that is cloned here, contain no extensions.
    for path in _paths_below(folder, DEEPEST, hidden=False):
        if os.path.splitext(path)[1].lower() in suffixes:  # noqa: PTH122  see above
            yield path


def entries(folder: Path | str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder by name; none if it cannot be read."""
    try:
        with os.scandir(folder) as scan:
            return sorted(islice(scan, MOST_ENTRIES), key=lambda each: each.name)
    except OSError:
        return []


def files_below(folder: Path, depth: int = DEEPEST) -> Iterator[Path]:
    """Yield the files in a folder and its subfolders; links to folders are not followed."""
    return map(Path, _paths_below(str(folder), depth, hidden=True))


def _paths_below(folder: str, depth: int, *, hidden: bool) -> Iterator[str]:
    for each in entries(folder):
        if not each.is_dir(follow_symlinks=False):
            yield each.path
        elif depth > 1 and (hidden or not each.name.startswith(".")):
            yield from _paths_below(each.path, depth - 1, hidden=hidden)
