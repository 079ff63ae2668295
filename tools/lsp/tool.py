"""lsp: questions to language servers about symbols and errors, and renaming."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from msgspec import Meta
from msgspec.structs import replace

from harness.errors import LanguageServerError
from harness.messages import JsonObject, Text
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import ListingView, View
from harness.workspace.changes import Change
from harness.workspace.workspace import Workspace
from tools.lsp.servers import LanguageServers
from tools.post_edit import PostEditStep, finish_edit
from tools.typed import Parameters, TypedTool

# Modules that use pygls are imported when a server has started.
if TYPE_CHECKING:
    from tools.lsp.connection import Connection
    from tools.lsp.diagnostics import Problem
    from tools.lsp.operations import Listing, Target
    from tools.lsp.rename import Rename

_Places: TypeAlias = Literal["definition", "references", "implementations", "incoming_calls", "outgoing_calls"]
Operation: TypeAlias = Literal[_Places, "hover", "document_symbols", "workspace_symbols", "diagnostics", "rename"]
_NEED_LINE = (*get_args(_Places), "hover", "rename")
_NEED_PATH = (*_NEED_LINE, "document_symbols")
_MAX_PROBLEMS = 100
_MAX_PLANS = 16
_WARNING = 2

_Key: TypeAlias = tuple[str, int, str, str]


class LspParameters(Parameters):
    operation: Annotated[Operation, Meta(extra_json_schema={"type": "string"})]
    path: Annotated[str, Meta(description="The file.")] = ""
    line: Annotated[int, Meta(ge=0, description="Line of the symbol, from 1.")] = 0
    symbol: Annotated[str, Meta(description="Name of the symbol as it appears on that line.")] = ""
    query: Annotated[str, Meta(description="Part of a name, for workspace_symbols.")] = ""
    new_name: Annotated[str, Meta(description="New name, for rename.")] = ""
    apply: Annotated[bool, Meta(description="For rename: change the files; without it, list them.")] = False

    def __post_init__(self) -> None:
        if self.operation in _NEED_PATH and not self.path:
            raise ValueError(f"{self.operation} needs path")
        if self.operation in _NEED_LINE and not (self.line and self.symbol):
            raise ValueError(f"{self.operation} needs line and symbol")
        if self.operation == "rename" and not self.new_name.strip():
            raise ValueError("rename needs new_name")
        if self.operation == "workspace_symbols" and not self.query:
            raise ValueError("workspace_symbols needs query")

    @property
    def key(self) -> _Key:
        return (self.path, self.line, self.symbol, self.new_name)


class LspTool(TypedTool[LspParameters]):
    name = "lsp"
    label = "Language server"
    mutates = "by_call"
    deferred = True
    Arguments = LspParameters

    def __init__(self, servers: LanguageServers | None = None, steps: Sequence[PostEditStep] = ()) -> None:
        self._servers = servers
        self._steps = steps
        self._plans: dict[_Key, Rename] = {}
        """Renames whose files are known, the latest last."""

    def summary(self, arguments: JsonObject) -> str:
        found = (arguments.get(name) for name in ("operation", "symbol", "query", "path", "new_name"))
        operation, symbol, query, path, new_name = (each if isinstance(each, str) else "" for each in found)
        renamed = f"→ {new_name}" if new_name else ""
        return " ".join(filter(None, (operation.replace("_", " "), symbol or query, renamed, path and f"({path})")))

    def risk_of(self, arguments: LspParameters) -> Risk:
        path = (arguments.path,) if arguments.path else ()
        plan = self._plans.get(arguments.key) if arguments.apply and arguments.operation == "rename" else None
        # Rules and protected paths apply to all files of a rename, so it is made only once they are known.
        return Risk("edit", paths=plan.names) if plan else Risk("read", paths=path)

    async def preview_of(self, arguments: LspParameters, context: ToolContext) -> View | ToolOutput | None:
        plan = self._plans.get(arguments.key)
        if arguments.operation != "rename" or not arguments.apply or plan is None:
            return None
        from tools.lsp.rename import preview_rename, view_of  # the plan was made with it

        try:
            return view_of(await preview_rename(plan, context.workspace), context.workspace)
        except LanguageServerError as error:
            return ToolOutput.failure(str(error))

    async def execute(self, arguments: LspParameters, context: ToolContext) -> ToolOutput:
        if self._servers is None:
            return ToolOutput.failure("Language servers are not available.")
        try:
            return await self._answer(self._servers, arguments, context)
        except LanguageServerError as error:
            return ToolOutput.failure(str(error))

    async def _answer(self, servers: LanguageServers, arguments: LspParameters, context: ToolContext) -> ToolOutput:
        workspace = context.workspace
        path = workspace.resolve(arguments.path) if arguments.path else None
        if path is not None and not path.is_file():
            # The error of the workspace names similar files.
            await workspace.with_own_reads().read(path)
        root = workspace.root.resolve()
        connections = await (servers.for_file(path, root) if path else servers.for_workspace(root))
        match arguments.operation:
            case "diagnostics":
                output = await _diagnostics(connections, path, workspace)
            case "rename":
                output = await self._rename(connections, arguments, context)
            case _:
                output = await _first(connections, lambda each: _ask(each, arguments, path, workspace))
        return _with_notes(output, connections)

    async def _rename(
        self, connections: Sequence[Connection], arguments: LspParameters, context: ToolContext
    ) -> ToolOutput:
        from tools.lsp.operations import Target  # a server has started

        workspace = context.workspace
        target = Target(workspace.resolve(arguments.path), arguments.line, arguments.symbol)
        known = self._plans.pop(arguments.key, None)

        async def plan(connection: Connection) -> ToolOutput:
            return await self._planned(connection, target, arguments, context, known)

        return await _first(connections, plan)

    async def _planned(
        self,
        connection: Connection,
        target: Target,
        arguments: LspParameters,
        context: ToolContext,
        known: Rename | None,
    ) -> ToolOutput:
        """Make a rename if its files are those that were approved, else return them."""
        from tools.lsp.rename import make_rename, plan_rename, preview_rename  # a server has started

        workspace = context.workspace
        plan = await plan_rename(connection, target, arguments.new_name, workspace)
        if arguments.apply and known is not None and set(plan.paths) <= set(known.paths):
            return await self._made(await make_rename(plan, workspace), context)
        changes = await preview_rename(plan, workspace)
        self._plans[arguments.key] = plan
        while len(self._plans) > _MAX_PLANS:
            del self._plans[next(iter(self._plans))]
        rows = [f"{workspace.display(each.path)}: {_places(len(plan.edits[each.path]))}" for each in changes]
        text = f"The rename changes {_files(len(rows))}. Repeat the call with apply: true to make it.\n" + "\n".join(
            rows
        )
        return ToolOutput.text(text, view=ListingView("Files to change", tuple(rows), len(rows)))

    async def _made(self, changes: Sequence[Change], context: ToolContext) -> ToolOutput:
        from tools.lsp.rename import view_of  # a server has started

        workspace = context.workspace
        rows = "\n".join(workspace.display(each.path) for each in changes)
        output = ToolOutput.text(
            f"Renamed in {_files(len(changes))}:\n{rows}",
            view=view_of(changes, workspace),
            details={"files": len(changes), "paths": [workspace.display(each.path) for each in changes]},
        )
        return await finish_edit(output, changes, context, self._steps)


async def _ask(connection: Connection, arguments: LspParameters, path: Path | None, workspace: Workspace) -> ToolOutput:
    from tools.lsp import operations  # a server has started

    if path is None:
        return _listing(await operations.workspace_symbols(connection, arguments.query, workspace), "symbols")
    target = operations.Target(path, arguments.line, arguments.symbol)
    match arguments.operation:
        case "document_symbols":
            return _listing(await operations.document_symbols(connection, path, workspace), "symbols")
        case "workspace_symbols":
            return _listing(await operations.workspace_symbols(connection, arguments.query, workspace), "symbols")
        case "hover":
            text = await operations.hover(connection, target, workspace)
            return ToolOutput.text(text or f"Nothing is known about {arguments.symbol!r} on line {arguments.line}.")
        case operation:
            noun, ask = operations.PLACES[operation]
            return _listing(await ask(connection, target, workspace), noun)


def _listing(found: Listing, noun: str) -> ToolOutput:
    if not found.total:
        return ToolOutput.text(f"No {noun} found.", view=ListingView(noun.capitalize(), (), 0))
    rows = "\n".join(found.entries)
    more = found.total - len(found.entries)
    text = f"{rows}\n[{len(found.entries)} of {found.total:,} {noun}]" if more else rows
    return ToolOutput.text(text, view=ListingView(noun.capitalize(), tuple(found.entries), found.total))


async def _first(
    connections: Sequence[Connection], answer: Callable[[Connection], Awaitable[ToolOutput]]
) -> ToolOutput:
    """Return the answer of the first server that can give one.

    Raises:
        LanguageServerError: None can; the error of the first.
    """
    errors: list[LanguageServerError] = []
    for each in connections:
        try:
            return await answer(each)
        except LanguageServerError as error:
            errors.append(error)
    raise errors[0]


async def _diagnostics(connections: Sequence[Connection], path: Path | None, workspace: Workspace) -> ToolOutput:
    """Return errors and warnings of all servers."""
    from tools.lsp import operations  # a server has started

    found: dict[Path, list[Problem]] = {}
    errors: list[LanguageServerError] = []
    for each in connections:
        try:
            if path is not None:
                found.setdefault(path, []).extend(await operations.diagnostics(each, path, workspace))
                continue
            for file, problems in (await operations.known_diagnostics(each, workspace)).items():
                found.setdefault(file, []).extend(problems)
        except LanguageServerError as error:
            errors.append(error)
    if errors and len(errors) == len(connections):
        raise errors[0]
    rows = [
        f"{workspace.display(file)}:{problem}"
        for file, problems in sorted(found.items())
        for problem in sorted(problems)
        if problem.severity <= _WARNING
    ]
    names = ", ".join(each.name for each in connections)
    if not rows:
        return ToolOutput.text(f"No errors or warnings ({names}).")
    shown = rows[:_MAX_PROBLEMS]
    text = "\n".join(shown) + (f"\n[{len(shown)} of {len(rows):,}]" if len(rows) > len(shown) else "")
    return ToolOutput.text(text, view=ListingView("Diagnostics", tuple(shown), len(rows)))


def _with_notes(output: ToolOutput, connections: Sequence[Connection]) -> ToolOutput:
    """Return an output with the notes about servers that have been started again."""
    notes = [each.restart_note for each in connections if each.restart_note]
    for each in connections:
        each.restart_note = ""
    return replace(output, content=(*output.content, *(Text(f"\n{note}") for note in notes))) if notes else output


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"


def _places(count: int) -> str:
    return f"{count} place{'' if count == 1 else 's'}"
