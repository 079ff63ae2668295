"""Diagnostics that a server returns on request, those of TypeScript's server included.

typescript-language-server only publishes diagnostics, half a second after a change and only if they differ. Its command
`typescript.tsserverRequest` returns them at once.

Source: the requests `syntacticDiagnosticsSync` and `semanticDiagnosticsSync` in TypeScript's `server/protocol.ts`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from msgspec import Struct, ValidationError, convert

from tools.lsp.connection import Connection

_COMMAND = "typescript.tsserverRequest"
_REQUESTS = ("syntacticDiagnosticsSync", "semanticDiagnosticsSync")
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "suggestion": types.DiagnosticSeverity.Hint,
}


class _Position(Struct):
    line: int
    """Line, from 1."""
    offset: int
    """UTF-16 code unit in the line, from 1."""

    @property
    def position(self) -> types.Position:
        return types.Position(max(0, self.line - 1), max(0, self.offset - 1))


class _Item(Struct):
    start: _Position
    end: _Position
    text: str
    category: str = "error"
    code: int | None = None


class _Reply(Struct):
    body: list[_Item] = []


def returns_diagnostics(connection: Connection) -> bool:
    """Return True if a server returns diagnostics on request."""
    return connection.capabilities.diagnostic_provider is not None or _is_typescript(connection)


def checks_dependents(connection: Connection) -> bool:
    """Return True if a change of one file may change the diagnostics that the server returns of others."""
    provider = connection.capabilities.diagnostic_provider
    return provider.inter_file_dependencies if provider else _is_typescript(connection)


async def requested_diagnostics(
    connection: Connection, path: Path, uri: str, timeout_s: float
) -> Sequence[types.Diagnostic]:
    """Return the diagnostics of an open file.

    Raises:
        LanguageServerError: The server failed or did not answer in time.
    """
    if connection.capabilities.diagnostic_provider is None:
        return await _of_typescript(connection, path, timeout_s)
    params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
    report = await connection.ask(lambda: connection.client.text_document_diagnostic_async(params), timeout_s)
    items = report.items if isinstance(report, types.RelatedFullDocumentDiagnosticReport) else ()
    # A server that answers requests may publish what a compiler reports.
    return [*items, *connection.published.known(path)]


def _is_typescript(connection: Connection) -> bool:
    provider = connection.capabilities.execute_command_provider
    return provider is not None and _COMMAND in provider.commands


async def _of_typescript(connection: Connection, path: Path, timeout_s: float) -> list[types.Diagnostic]:
    async def request(name: str) -> list[types.Diagnostic]:
        params = types.ExecuteCommandParams(_COMMAND, [name, {"file": str(path)}])
        reply: Any = await connection.ask(lambda: connection.client.workspace_execute_command_async(params), timeout_s)
        try:
            found = convert(reply or {}, _Reply)
        except ValidationError as error:
            raise connection.failure(f"sent invalid diagnostics: {error}") from error
        return [_diagnostic(each) for each in found.body]

    return [item for found in await asyncio.gather(*map(request, _REQUESTS)) for item in found]


def _diagnostic(item: _Item) -> types.Diagnostic:
    span = types.Range(item.start.position, item.end.position)
    severity = _SEVERITIES.get(item.category, types.DiagnosticSeverity.Information)
    return types.Diagnostic(span, item.text, severity, item.code, source="typescript")
