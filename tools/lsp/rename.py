"""Renaming of a symbol: the edits that a server proposes, checked and made in all files or in none."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from lsprotocol import types
from msgspec import Struct

from harness.errors import FileChanged, FileNotRead, LanguageServerError, WorkspaceError
from harness.views import DiffView, TextView, View
from harness.workspace.changes import Change
from harness.workspace.file_text import FileText, digest
from harness.workspace.workspace import Workspace
from tools.lsp.connection import Connection
from tools.lsp.diagnostics import path_of
from tools.lsp.operations import Target, position_of, require
from tools.lsp.text_positions import Encoding, Lines, Spot, SpotEdit

MAX_FILES = 200
_MAX_DIFF_LINES = 2000

Edits: TypeAlias = dict[Path, list[SpotEdit]]


class Rename(Struct, frozen=True):
    """Edits that rename a symbol."""

    edits: Edits
    """Edits of each file."""
    encoding: Encoding
    """Encoding of their positions."""
    names: tuple[str, ...]
    """Names of the files, as they are displayed."""

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(sorted(self.edits))

    def applied(self, path: Path, file: FileText) -> FileText:
        """Return a file with its edits.

        Raises:
            LanguageServerError: They do not fit.
        """
        return file.spliced(Lines(file.text, self.encoding).splices(self.edits[path]))


async def plan_rename(connection: Connection, target: Target, new_name: str, workspace: Workspace) -> Rename:
    """Return the edits of a rename.

    Raises:
        LanguageServerError: The symbol cannot be renamed, or more than text would change.
        WorkspaceError: A file is outside the workspace.
    """
    require(connection, connection.capabilities.rename_provider, "renaming")
    document, position = await position_of(connection, target, workspace)
    params = types.RenameParams(document, position, new_name)
    found = await connection.ask(lambda: connection.client.text_document_rename_async(params))
    edits = {path: found_edits for path, found_edits in _edits(found).items() if found_edits}
    if not edits:
        raise LanguageServerError(f"{target.symbol!r} on line {target.line} cannot be renamed.")
    if len(edits) > MAX_FILES:
        raise LanguageServerError(f"The rename would change {len(edits)} files; the limit is {MAX_FILES}.")
    resolved = {workspace.resolve(path, writing=True): each for path, each in edits.items()}
    return Rename(resolved, connection.encoding, tuple(workspace.display(path) for path in sorted(resolved)))


def _edits(found: types.WorkspaceEdit | None) -> Edits:
    if found is None:
        return {}
    edits: Edits = {}
    for each in found.document_changes or ():
        if not isinstance(each, types.TextDocumentEdit):
            raise LanguageServerError("The rename would also create, move or delete files, which is not supported.")
        _add(edits, each.text_document.uri, each.edits)
    if not found.document_changes:
        for uri, changes in (found.changes or {}).items():
            _add(edits, uri, changes)
    return edits


def _add(
    edits: Edits, uri: str, changes: Sequence[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]
) -> None:
    path = path_of(uri)
    if path is None:
        raise LanguageServerError(f"The rename would change {uri[:100]!r}, which is not a file.")
    for each in changes:
        if isinstance(each, types.SnippetTextEdit):
            raise LanguageServerError("The rename contains snippets, which are not supported.")
        start, end = each.range.start, each.range.end
        edit = SpotEdit(Spot(start.line, start.character), Spot(end.line, end.character), each.new_text)
        edits.setdefault(path, []).append(edit)


async def preview_rename(rename: Rename, workspace: Workspace) -> list[Change]:
    """Return the changes of a rename.

    Raises:
        LanguageServerError, WorkspaceError: One of them cannot be made.
    """
    current = workspace.with_own_reads()
    changes: list[Change] = []
    for path in rename.paths:
        await current.read(path)
        changes.append(await current.preview_splice(path, partial(rename.applied, path)))
    return changes


async def make_rename(rename: Rename, workspace: Workspace) -> list[Change]:
    """Make all changes of a rename; if one fails, those before it are taken back.

    Raises:
        LanguageServerError, WorkspaceError: One of them cannot be made; the text names files that stay changed.
    """
    planned = await preview_rename(rename, workspace)
    made: list[_Made] = []
    try:
        for each in planned:
            data = await workspace.read_bytes(each.path)
            change = await _splice(workspace, each.path, partial(_apply, rename, each))
            made.append(_Made(change, data, digest(await workspace.read_bytes(each.path))))
    except WorkspaceError as error:
        kept = await _take_back(made, workspace)
        raise WorkspaceError(
            f"{error} These files keep their change: {', '.join(kept)}." if kept else str(error)
        ) from error
    except BaseException:
        await _take_back(made, workspace)
        raise
    return [each.change for each in made]


class _Made(Struct, frozen=True):
    change: Change
    data: bytes
    """Content before."""
    digest: str
    """Digest of the content after."""


async def _take_back(made: Sequence[_Made], workspace: Workspace) -> list[str]:
    """Restore files, and return those that another program has changed meanwhile."""
    kept: list[str] = []
    for each in reversed(made):
        try:
            await workspace.restore(each.change.path, each.data, now=each.digest)
        except WorkspaceError:
            kept.append(workspace.display(each.change.path))
    return kept


def _apply(rename: Rename, planned: Change, file: FileText) -> FileText:
    if file.text != planned.old:
        raise FileChanged(f"{planned.path.name} has just been changed by another program. Repeat the rename.")
    return rename.applied(planned.path, file)


async def _splice(workspace: Workspace, path: Path, edit: Callable[[FileText], FileText]) -> Change:
    """Change a file, also if the model has not read it: the server knows its present text."""
    try:
        return await workspace.splice(path, edit)
    except (FileNotRead, FileChanged):
        current = workspace.with_own_reads()
        await current.read(path)
        return await current.splice(path, edit)


def view_of(changes: Sequence[Change], workspace: Workspace) -> View:
    """Return changes for display: the diff of one file, or the diffs of all as text."""
    if len(changes) == 1:
        only = changes[0]
        return DiffView(workspace.display(only.path), only.old, only.new)
    rows: list[str] = []
    for each in changes:
        name = workspace.display(each.path)
        old, new = (each.old or "").splitlines(), each.new.splitlines()
        rows += difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="", n=1)
    if len(rows) > _MAX_DIFF_LINES:
        rows[_MAX_DIFF_LINES:] = [f"[{len(rows) - _MAX_DIFF_LINES:,} more lines]"]
    return TextView("\n".join(rows), "diff")
