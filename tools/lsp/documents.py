"""Files that are open in a server, kept equal to the files on disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types
from msgspec import Struct

from harness.errors import WorkspaceError
from harness.workspace.workspace import Workspace
from tools.lsp.diagnostics import PublishedDiagnostics
from tools.lsp.options import LanguageServer
from tools.lsp.wire import Client

MAX_OPEN = 50
"""Number of files that are open at the same time; the one not used for longest is closed first."""
_CHANGED_FILES_S = 1.0
"""Seconds until a server has published the diagnostics of open files that a change of others affects."""
_NEW_FILES_S = 2.5
"""The same after files were created or deleted: pyright lists all files anew after a second or two."""


class Document(Struct):
    """An open file."""

    uri: str
    version: int
    text: str
    stamp: tuple[int, int] | None
    """Modification time and size when it was read; None if it has to be read again."""


class Documents:
    """Open files of one server, by path; the last one was used last."""

    def __init__(self, server: LanguageServer, client: Client, published: PublishedDiagnostics) -> None:
        self._server = server
        self._client = client
        self._published = published
        self.open: dict[Path, Document] = {}

    async def sync(self, path: Path, workspace: Workspace) -> Document:
        """Open a file, or send its text if it has changed on disk, and return it.

        Raises:
            WorkspaceError: It cannot be read.
        """
        document = self.open.pop(path, None)
        try:
            stamp = _stamp(path)
            if document is None or stamp is None or stamp != document.stamp:
                # The model does not see the text, so it does not count as read.
                text = (await workspace.with_own_reads().read(path)).text
                document = self._sent(path, document, text)
                document.stamp = stamp
        except WorkspaceError:
            if document is not None:
                self._close(path, document)
            raise
        self.open[path] = document
        self._close_oldest()
        return document

    def open_with(self, path: Path, text: str) -> Document:
        """Open a file with a text that it no longer has on disk."""
        self.open[path] = document = self._sent(path, self.open.get(path), text)
        return document

    async def sync_all(self, workspace: Workspace) -> None:
        """Send the text of all open files that have changed on disk, and close those that are gone."""
        for path, document in list(self.open.items()):
            if document.stamp is None or _stamp(path) != document.stamp:
                try:
                    await self.sync(path, workspace)
                except WorkspaceError:
                    continue

    def announce(self, events: Sequence[types.FileEvent]) -> None:
        """Announce files that have changed on disk, which may change the diagnostics of open ones."""
        if events:
            self._client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes=events))
            is_set_changed = any(each.type != types.FileChangeType.Changed for each in events)
            for path, document in self.open.items():
                self._published.expect(path, document.version, _NEW_FILES_S if is_set_changed else _CHANGED_FILES_S)

    def _sent(self, path: Path, document: Document | None, text: str) -> Document:
        client = self._client
        if document is None:
            document = Document(path.as_uri(), 1, text, None)
            language = self._server.language_id(path)
            item = types.TextDocumentItem(document.uri, language, document.version, text)
            client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            self._published.expect(path, document.version)
        elif text != document.text:
            document.version += 1
            document.text = text
            identifier = types.VersionedTextDocumentIdentifier(document.version, document.uri)
            change = types.TextDocumentContentChangeWholeDocument(text)
            client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
            client.text_document_did_save(
                types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(document.uri), text)
            )
            self._published.expect(path, document.version)
        document.stamp = None
        return document

    def _close(self, path: Path, document: Document) -> None:
        identifier = types.TextDocumentIdentifier(document.uri)
        self._client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))
        self._published.forget(path)

    def _close_oldest(self) -> None:
        while len(self.open) > MAX_OPEN:
            path = next(iter(self.open))
            self._close(path, self.open.pop(path))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116  cheaper
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
