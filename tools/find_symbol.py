"""find_symbol: definitions by name, and the references to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import PathAccess, Risk
from harness.terminal_text import strip_escapes
from harness.views import ListingView
from tools.paging import page_note
from tools.ripgrep import RipgrepMissing
from tools.symbols.client import search_symbols
from tools.symbols.definitions import Kind
from tools.symbols.lookup import SymbolQuery, SymbolResult
from tools.typed import Parameters, TypedTool


class SymbolParameters(Parameters):
    name: Annotated[
        str, Meta(min_length=1, max_length=200, description="A name, `Class.method`, or a glob such as `*Handler`.")
    ]
    kind: Annotated[Kind | None, Meta(description="Only definitions of this kind.")] = None
    path: Annotated[str, Meta(description="A folder or file to search.")] = "."
    references: Annotated[bool, Meta(description="Also return the lines that use it.")] = False
    offset: Annotated[int, Meta(ge=0, description="Number of results to skip.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1000, description="Most results to show.")] = 50


class SymbolTool(TypedTool[SymbolParameters]):
    name = "find_symbol"
    label = "Find symbol"
    deferred = True
    Arguments = SymbolParameters

    def __init__(self, cache: Path | None = None) -> None:
        """Create the tool.

        Args:
            cache: Folder of the symbol indexes; None to read all files each time.
        """
        self._cache = cache

    def risk_of(self, arguments: SymbolParameters) -> Risk:
        return Risk("read", accesses=(PathAccess(arguments.path, "search", skips_secrets=True),))

    async def execute(self, arguments: SymbolParameters, context: ToolContext) -> ToolOutput:
        query = SymbolQuery(arguments.name, arguments.kind, arguments.references, arguments.offset, arguments.limit)
        try:
            found = await search_symbols(context.workspace, arguments.path, query, self._cache)
        except RipgrepMissing as error:
            return ToolOutput.failure(str(error))
        shown = context.workspace.display(context.workspace.resolve(arguments.path))
        return _output(arguments, found, shown, context)


def _output(arguments: SymbolParameters, found: SymbolResult, where: str, context: ToolContext) -> ToolOutput:
    total = found.definition_count + found.reference_count
    lines = list(_lines(found))
    view = ListingView(f"{arguments.name} in {where}", tuple(map(strip_escapes, lines)), total)
    details = {"definitions": found.definition_count, "references": found.reference_count}
    if total == 0:
        kind = f" {arguments.kind}" if arguments.kind else ""
        text = f"No{kind} definition in {where} is named {arguments.name} ({found.indexed} source files)."
        text += context.mention(" Try {grep}.")
        return ToolOutput.text(text, view=view, details=dict(details))
    counted = _counted(found.definition_count, "definition")
    if arguments.references:
        counted += f", {'at least ' if found.is_cut else ''}{_counted(found.reference_count, 'reference')}"
    notes = [page_note(arguments.offset, len(found.definitions) + len(found.references), total, counted)]
    if found.definition_count and not found.is_exact:
        notes.insert(0, f"no definition is named exactly {arguments.name}; similar ones")
    return ToolOutput.text("\n".join([*lines, f"[{' · '.join(notes)}]"]), view=view, details=dict(details))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _lines(found: SymbolResult) -> Iterator[str]:
    for each in found.definitions:
        symbol = each.definition
        yield f"{each.path}:{symbol.line}-{symbol.end_line} {symbol.kind} {symbol.qualified_name}: {symbol.text}"
    path = ""
    for each in found.references:
        if each.path != path:
            path = each.path
            yield path
        use = each.reference
        scope = f" (in {use.scope})" if use.scope else ""
        yield f"  {use.line}: {use.kind}{scope}: {use.text}"
