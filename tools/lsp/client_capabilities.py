"""Capabilities of this client, for the handshake with a server."""

from __future__ import annotations

from lsprotocol import types

from tools.lsp.text_positions import ENCODINGS

_TEXT_DOCUMENT = types.TextDocumentClientCapabilities(
    synchronization=types.TextDocumentSyncClientCapabilities(did_save=True),
    hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown, types.MarkupKind.PlainText]),
    definition=types.DefinitionClientCapabilities(link_support=True),
    references=types.ReferenceClientCapabilities(),
    implementation=types.ImplementationClientCapabilities(link_support=True),
    call_hierarchy=types.CallHierarchyClientCapabilities(),
    document_symbol=types.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True),
    rename=types.RenameClientCapabilities(prepare_support=False),
    publish_diagnostics=types.PublishDiagnosticsClientCapabilities(version_support=True),
    diagnostic=types.DiagnosticClientCapabilities(),
)

_WORKSPACE = types.WorkspaceClientCapabilities(
    workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
    configuration=True,
    workspace_folders=True,
    symbol=types.WorkspaceSymbolClientCapabilities(),
    did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
        dynamic_registration=True, relative_pattern_support=True
    ),
)

CAPABILITIES = types.ClientCapabilities(
    workspace=_WORKSPACE,
    text_document=_TEXT_DOCUMENT,
    window=types.WindowClientCapabilities(work_done_progress=False),
    general=types.GeneralClientCapabilities(
        position_encodings=[types.PositionEncodingKind(each) for each in ENCODINGS]
    ),
)
