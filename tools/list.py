"""list_files: a folder as a tree, without ignored files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from harness.errors import FileMissing, NotAFile, WorkspaceError
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import PathAccess, Risk
from harness.terminal_text import strip_escapes
from harness.views import ListingView
from harness.workspace.disk import is_folder, is_there, read_beginning
from harness.workspace.workspace import Workspace
from tools.typed import Parameters, TypedTool

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


_MOST_RULES = 1_000_000


class ListParameters(Parameters):
    path: Annotated[str, Meta(description="The folder.")] = "."
    depth: Annotated[int, Meta(ge=1, le=20, description="How many levels deep.")] = 2
    limit: Annotated[int, Meta(ge=1, le=5000, description="Most entries to show; the upper levels come first.")] = 200


class ListTool(TypedTool[ListParameters]):
    name = "list_files"
    label = "List files"
    Arguments = ListParameters

    def risk_of(self, arguments: ListParameters) -> Risk:
        return Risk("read", accesses=(PathAccess(arguments.path, "list"),))

    async def execute(self, arguments: ListParameters, context: ToolContext) -> ToolOutput:
        real = context.workspace.resolve(arguments.path)
        return await listing(context.workspace, real, depth=arguments.depth, limit=arguments.limit)


class _Folder(Struct):
    """A folder of the tree; `ignored` holds the ignore rules of each folder above it, outermost first."""

    path: Path
    ignored: list[tuple[Path, GitIgnoreSpec]]
    entries: list[_TreeEntry] = []


class _TreeEntry(Struct):
    name: str
    folder: _Folder | None = None
    is_shown: bool = False


class _Tree(Struct):
    top: _Folder
    total: int = 0
    ignored: int = 0


async def listing(workspace: Workspace, real: Path, *, depth: int, limit: int) -> ToolOutput:
    """Return a resolved folder as a tree.

    Raises:
        FileMissing, NotAFile, WorkspaceError: It is not a folder, or cannot be listed.
    """
    path = workspace.display(real)
    if not is_folder(real):
        # Reading gives the best error: what is there instead, and similar names.
        await workspace.read_bytes(real, limit=1)
        raise NotAFile(f"{path} is a file; read it.")
    try:
        tree = await asyncio.to_thread(_walk, real, depth, limit)
    except FileNotFoundError as error:
        raise FileMissing(f"{path} has just been removed.") from error
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be listed: {error.strerror}.") from error
    lines = list(_drawn(tree.top, 0))
    view = ListingView(path, tuple(strip_escapes(line) for line in lines), tree.total)
    return ToolOutput.text("\n".join([f"{path}/", *lines, f"[{_footer(tree, len(lines))}]"]), view=view)


def _footer(tree: _Tree, shown: int) -> str:
    entries = "entry" if tree.total == 1 else "entries"
    parts = [
        f"{tree.total} {entries}" if shown == tree.total else f"{shown} of {tree.total} {entries}; list a subfolder"
    ]
    if tree.ignored:
        parts.append(f"{tree.ignored} ignored by git left out")
    return " · ".join(parts)


def _walk(top: Path, depth: int, limit: int) -> _Tree:
    """Walk level by level, so that a limit cuts the deepest entries first."""
    tree = _Tree(_Folder(top, _rules_above(top)))
    level = [tree.top]
    for _ in range(depth):
        for folder in level:
            for entry in _entries(folder, tree):
                entry.is_shown = tree.total < limit
                tree.total += 1
                folder.entries.append(entry)
        level = [entry.folder for folder in level for entry in folder.entries if entry.folder]
    return tree


def _entries(folder: _Folder, tree: _Tree) -> Iterator[_TreeEntry]:
    try:
        with os.scandir(folder.path) as scan:
            found = sorted(scan, key=lambda each: (not each.is_dir(follow_symlinks=False), each.name))
    except PermissionError:
        if folder is tree.top:
            raise
        return
    rules = [*folder.ignored, *_rules(folder.path)]
    for each in found:
        is_folder = each.is_dir(follow_symlinks=False)
        if each.name == ".git":
            continue
        if _is_ignored(Path(each.path), rules, is_folder=is_folder):
            tree.ignored += 1
        elif is_folder:
            yield _TreeEntry(f"{each.name}/", _Folder(Path(each.path), rules))
        elif each.is_symlink():
            yield _TreeEntry(f"{each.name} -> {Path(each.path).readlink()}")
        else:
            yield _TreeEntry(each.name)


def _is_ignored(path: Path, rules: list[tuple[Path, GitIgnoreSpec]], *, is_folder: bool) -> bool:
    for base, spec in reversed(rules):
        result = spec.check_file(path.relative_to(base).as_posix() + ("/" if is_folder else ""))
        if result.include is not None:
            return result.include
    return False


def _rules(folder: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    # Imported here: no session needs it in its first seconds.
    from pathspec import GitIgnoreSpec

    with suppress(OSError, NotAFile, ValueError):
        lines = read_beginning(folder / ".gitignore", _MOST_RULES)[0].decode(errors="replace").splitlines()
        return [(folder, GitIgnoreSpec.from_lines(lines))]
    return []


def _rules_above(top: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    """Return the ignore rules of the parent folders up to the repository's root."""
    repository = next((each for each in (top, *top.parents) if is_there(each / ".git")), top)
    above = [each for each in top.parents if each.is_relative_to(repository)]
    return [rule for folder in reversed(above) for rule in _rules(folder)]


def _drawn(folder: _Folder, indent: int) -> Iterator[str]:
    for entry in folder.entries:
        if entry.is_shown:
            yield "  " * indent + entry.name
            if entry.folder is not None:
                yield from _drawn(entry.folder, indent + 1)
