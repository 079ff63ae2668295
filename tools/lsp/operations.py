"""Questions to a server, with answers in terms of files and lines."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from lsprotocol import types
from msgspec import Struct

from harness.errors import WorkspaceError
from harness.terminal_text import escape_controls
from harness.workspace.workspace import Workspace
from tools.lsp.connection import Connection
from tools.lsp.diagnostics import Problem, path_of, problems_of
from tools.lsp.documents import Document
from tools.lsp.requested_diagnostics import requested_diagnostics, returns_diagnostics
from tools.lsp.text_positions import Lines, Spot, find_symbol

MAX_LISTED = 100
"""Number of entries of a result."""
_MAX_SYMBOLS = 300
_MAX_DEPTH = 4
_FENCE = re.compile(r"^```.*\n?", re.MULTILINE)
_MAX_HOVER_CHARS = 6000
_LONGEST_LINE = 200
_WITH_VARIABLES = (types.SymbolKind.Function, types.SymbolKind.Method, types.SymbolKind.Constructor)
_VARIABLES = (types.SymbolKind.Variable, types.SymbolKind.Constant)
_DIAGNOSTICS_S = 30.0


class Target(Struct, frozen=True):
    """A symbol in a file."""

    path: Path
    line: int
    symbol: str


class Place(Struct, frozen=True, order=True):
    """A line of a file, from 1."""

    path: Path
    line: int


class Listing(Struct, frozen=True):
    """Entries of a result, as far as they are shown."""

    entries: list[str]
    total: int


async def definition(connection: Connection, target: Target, workspace: Workspace) -> Listing:
    """Return the places where a symbol is defined."""
    require(connection, connection.capabilities.definition_provider, "definitions")
    document, position = await position_of(connection, target, workspace)
    params = types.DefinitionParams(document, position)
    found = await connection.ask(lambda: connection.client.text_document_definition_async(params))
    items = found if isinstance(found, Sequence) else [found] if found is not None else []
    return await _listed(_places(items), workspace)


async def references(connection: Connection, target: Target, workspace: Workspace) -> Listing:
    """Return the places where a symbol is used, its definition included."""
    require(connection, connection.capabilities.references_provider, "references")
    document, position = await position_of(connection, target, workspace)
    params = types.ReferenceParams(types.ReferenceContext(include_declaration=True), document, position)
    found = await connection.ask(lambda: connection.client.text_document_references_async(params))
    return await _listed(_places(found or ()), workspace)


async def implementations(connection: Connection, target: Target, workspace: Workspace) -> Listing:
    """Return the places that implement an interface or override a method."""
    require(connection, connection.capabilities.implementation_provider, "implementations")
    document, position = await position_of(connection, target, workspace)
    params = types.ImplementationParams(document, position)
    found = await connection.ask(lambda: connection.client.text_document_implementation_async(params))
    items = found if isinstance(found, Sequence) else [found] if found is not None else []
    return await _listed(_places(items), workspace)


async def incoming_calls(connection: Connection, target: Target, workspace: Workspace) -> Listing:
    """Return the calls of a function, each with the function that contains it."""
    calls: list[tuple[str, int, str]] = []
    for item in await _call_items(connection, target, workspace):
        params = types.CallHierarchyIncomingCallsParams(item)
        found = await connection.ask(partial(connection.client.call_hierarchy_incoming_calls_async, params))
        for call in found or ():
            name = _named(call.from_, workspace)
            calls += ((call.from_.uri, each.start.line, name) for each in call.from_ranges)
    return _listed_calls(calls, workspace)


async def outgoing_calls(connection: Connection, target: Target, workspace: Workspace) -> Listing:
    """Return the functions that a function calls."""
    calls: list[tuple[str, int, str]] = []
    for item in await _call_items(connection, target, workspace):
        params = types.CallHierarchyOutgoingCallsParams(item)
        found = await connection.ask(partial(connection.client.call_hierarchy_outgoing_calls_async, params))
        for call in found or ():
            calls.append((call.to.uri, call.to.selection_range.start.line, _named(call.to, workspace)))
    return _listed_calls(calls, workspace)


def _listed_calls(calls: Iterable[tuple[str, int, str]], workspace: Workspace) -> Listing:
    rows = [_row(uri, line, name, workspace) for uri, line, name in sorted(calls)]
    return Listing(rows[:MAX_LISTED], len(rows))


async def _call_items(
    connection: Connection, target: Target, workspace: Workspace
) -> Sequence[types.CallHierarchyItem]:
    require(connection, connection.capabilities.call_hierarchy_provider, "calls")
    document, position = await position_of(connection, target, workspace)
    params = types.CallHierarchyPrepareParams(document, position)
    return await connection.ask(lambda: connection.client.text_document_prepare_call_hierarchy_async(params)) or ()


PLACES: Mapping[str, tuple[str, Callable[[Connection, Target, Workspace], Awaitable[Listing]]]] = {
    "definition": ("definitions", definition),
    "references": ("references", references),
    "implementations": ("implementations", implementations),
    "incoming_calls": ("incoming calls", incoming_calls),
    "outgoing_calls": ("outgoing calls", outgoing_calls),
}
"""Operations that list places of a symbol, each with a noun for them."""


async def hover(connection: Connection, target: Target, workspace: Workspace) -> str:
    """Return type and documentation of a symbol; empty if the server knows none."""
    require(connection, connection.capabilities.hover_provider, "hover texts")
    document, position = await position_of(connection, target, workspace)
    params = types.HoverParams(document, position)
    found = await connection.ask(lambda: connection.client.text_document_hover_async(params))
    if found is None:
        return ""
    parts = [found.contents] if isinstance(found.contents, (str, types.MarkupContent)) else found.contents
    parts = [parts] if isinstance(parts, types.MarkedStringWithLanguage) else parts
    text = "\n\n".join(each if isinstance(each, str) else each.value for each in parts)
    text = _FENCE.sub("", text).strip()
    cut = f"{text[:_MAX_HOVER_CHARS]}\n[{len(text):,} characters in total]" if len(text) > _MAX_HOVER_CHARS else text
    return escape_controls(cut)


async def document_symbols(connection: Connection, path: Path, workspace: Workspace) -> Listing:
    """Return the symbols of a file, each with its line."""
    require(connection, connection.capabilities.document_symbol_provider, "symbols of files")
    document = await opened(connection, path, workspace)
    params = types.DocumentSymbolParams(types.TextDocumentIdentifier(document.uri))
    found = await connection.ask(lambda: connection.client.text_document_document_symbol_async(params))
    entries = list(_symbol_lines(found or (), 0))
    return Listing(entries[:_MAX_SYMBOLS], len(entries))


async def workspace_symbols(connection: Connection, query: str, workspace: Workspace) -> Listing:
    """Return symbols of the project whose name matches a query."""
    require(connection, connection.capabilities.workspace_symbol_provider, "symbols of the project")
    await synchronize(connection, workspace)
    params = types.WorkspaceSymbolParams(query)
    found = await connection.ask(lambda: connection.client.workspace_symbol_async(params)) or ()
    entries: list[str] = []
    for each in found:
        line = each.location.range.start.line if isinstance(each.location, types.Location) else 0
        inside = f" in {each.container_name}" if each.container_name else ""
        entries.append(_row(each.location.uri, line, f"{_kind(each.kind)} {each.name}{inside}", workspace))
    return Listing(entries[:MAX_LISTED], len(entries))


async def diagnostics(connection: Connection, path: Path, workspace: Workspace) -> tuple[Problem, ...]:
    """Return the diagnostics of a file.

    Raises:
        LanguageServerError: The server has none in time.
    """
    document = await opened(connection, path, workspace)
    items = await current_diagnostics(connection, path, document, _DIAGNOSTICS_S)
    if items is None:
        raise connection.failure(f"sent no diagnostics within {_DIAGNOSTICS_S:g} s")
    return problems_of(items, connection.name)


async def known_diagnostics(connection: Connection, workspace: Workspace) -> dict[Path, tuple[Problem, ...]]:
    """Return the diagnostics of all files that the server has checked, open files as they are now.

    Raises:
        LanguageServerError: The server failed.
    """
    await synchronize(connection, workspace)
    published = connection.published
    found = {path: problems_of(published.known(path), connection.name) for path in published.paths}
    try:
        async with asyncio.timeout(_DIAGNOSTICS_S):
            for path, document in list(connection.documents.open.items()):
                items = await current_diagnostics(connection, path, document, _DIAGNOSTICS_S)
                if items is None:
                    raise TimeoutError
                found[path] = problems_of(items, connection.name)
    except TimeoutError as error:
        raise connection.failure(f"sent no diagnostics within {_DIAGNOSTICS_S:g} s") from error
    return found


async def current_diagnostics(
    connection: Connection, path: Path, document: Document, timeout_s: float
) -> Sequence[types.Diagnostic] | None:
    """Return the diagnostics of an open file; None if the server has none in time.

    Raises:
        LanguageServerError: The server failed.
    """
    if returns_diagnostics(connection):
        return await requested_diagnostics(connection, path, document.uri, timeout_s)
    return await connection.published.current(path, timeout_s)


def require(connection: Connection, capability: object, what: str) -> None:
    """Check that a server offers something.

    Raises:
        LanguageServerError: It does not.
    """
    if not capability:
        raise connection.failure(f"offers no {what}")


async def opened(connection: Connection, path: Path, workspace: Workspace) -> Document:
    """Open a file in a server, with all open files as they are on disk now.

    Raises:
        WorkspaceError: The file cannot be read.
    """
    async with connection.lock:
        await connection.announce_changes()
        document = await connection.documents.sync(path, workspace)
        await connection.documents.sync_all(workspace)
        return document


async def synchronize(connection: Connection, workspace: Workspace) -> None:
    """Send the server the open files as they are on disk now."""
    async with connection.lock:
        await connection.announce_changes()
        await connection.documents.sync_all(workspace)


async def position_of(
    connection: Connection, target: Target, workspace: Workspace
) -> tuple[types.TextDocumentIdentifier, types.Position]:
    """Return a symbol in the terms of the protocol.

    Raises:
        LanguageServerError: It is not on that line.
        WorkspaceError: The file cannot be read.
    """
    document = await opened(connection, target.path, workspace)
    spot: Spot = find_symbol(Lines(document.text, connection.encoding), target.line, target.symbol)
    return types.TextDocumentIdentifier(document.uri), types.Position(spot.line, spot.character)


def _places(found: Iterable[types.Location | types.LocationLink]) -> list[Place]:
    places: set[Place] = set()
    for each in found:
        is_link = isinstance(each, types.LocationLink)
        uri = each.target_uri if is_link else each.uri
        line = each.target_selection_range.start.line if is_link else each.range.start.line
        path = path_of(uri)
        if path is not None:
            places.add(Place(path, line + 1))
    return sorted(places)


async def _listed(places: Sequence[Place], workspace: Workspace) -> Listing:
    """Return places as `path:line: text`; files of the workspace come first, others have no text."""
    ordered = sorted(places, key=lambda each: (not workspace.covers(str(each.path)), each))
    texts = _Texts(workspace)
    entries = [await texts.entry(each) for each in ordered[:MAX_LISTED]]
    return Listing(entries, len(places))


class _Texts:
    """Lines of the files in a result."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lines: dict[Path, list[str]] = {}

    async def entry(self, place: Place) -> str:
        lines = await self._of(place.path)
        text = lines[place.line - 1].strip() if place.line <= len(lines) else ""
        shown = f"{self._workspace.display(place.path)}:{place.line}"
        return _one_line(f"{shown}: {text}" if text else shown)

    async def _of(self, path: Path) -> list[str]:
        if path not in self._lines:
            self._lines[path] = []
            try:
                # Files outside the workspace, such as those of a library, are named, not read.
                if self._workspace.covers(str(path)):
                    self._lines[path] = (await self._workspace.with_own_reads().read(path)).text.split("\n")
            except WorkspaceError:
                pass
        return self._lines[path]


def _symbol_lines(
    found: Sequence[types.DocumentSymbol] | Sequence[types.SymbolInformation], depth: int
) -> Iterator[str]:
    for each in sorted(found, key=_line):
        if isinstance(each, types.SymbolInformation):
            yield _one_line(f"{_line(each)}: {_kind(each.kind)} {each.name}")
            continue
        detail = f" {each.detail}" if each.detail else ""
        yield "  " * depth + _one_line(f"{_line(each)}: {_kind(each.kind)} {each.name}{detail}")
        if depth < _MAX_DEPTH:
            # Some servers list all local variables.
            is_code = each.kind in _WITH_VARIABLES
            inner = (child for child in each.children or () if not (is_code and child.kind in _VARIABLES))
            yield from _symbol_lines(list(inner), depth + 1)


def _line(symbol: types.DocumentSymbol | types.SymbolInformation) -> int:
    """Return the line of a symbol, from 1."""
    span = symbol.location.range if isinstance(symbol, types.SymbolInformation) else symbol.selection_range
    return span.start.line + 1


def _named(item: types.CallHierarchyItem, workspace: Workspace) -> str:
    # Modules are named by their paths.
    name = workspace.display(Path(item.name)) if item.name.startswith("/") else item.name
    return f"{_kind(item.kind)} {name}"


def _row(uri: str, line: int, text: str, workspace: Workspace) -> str:
    """Return a place with a text; `line` counts from 0."""
    path = path_of(uri)
    return _one_line(f"{workspace.display(path) if path else uri}:{line + 1}: {text}")


def _kind(kind: types.SymbolKind) -> str:
    return kind.name.lower()


def _one_line(text: str) -> str:
    line = escape_controls(" ".join(text.split()))
    return f"{line[:_LONGEST_LINE]}…" if len(line) > _LONGEST_LINE else line
