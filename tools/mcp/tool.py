"""Tool of an MCP server. Its texts and hints come from the server, which is not trusted: every call needs approval."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from harness.errors import ConfigError
from harness.function_tools.function_tool import MAX_SUMMARY_CHARS, words_of
from harness.function_tools.names import legal_tool_name
from harness.function_tools.schema import Checker
from harness.messages import JsonObject, JsonValue
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import TextView, View
from tools.mcp.content import failure_of, output_of
from tools.mcp.server_config import McpServer
from tools.mcp.state import RequestFailed, clean_line, clean_text

if TYPE_CHECKING:
    import mcp_types as types

NAME_CHARS = 1_000
DESCRIPTION_CHARS = 4_000
MAX_SCHEMA_CHARS = 100_000
SHOWN_ARGUMENT_CHARS = 20_000
PROGRESS_INTERVAL_S = 0.1
_COSTLY = frozenset(("pattern", "patternProperties", "$ref", "$dynamicRef", "$recursiveRef"))
"""Keywords whose evaluation a server can make as slow as it likes; it checks them itself."""


class ToolServer(Protocol):
    """Connection that calls a tool; see `tools.mcp.connection.Connection`."""

    server: McpServer

    async def call_tool(
        self,
        name: str,
        arguments: JsonObject,
        progressed: Callable[[float, float | None, str | None], None],
        *,
        is_repeatable: bool,
    ) -> types.CallToolResult:
        """Call a tool."""
        ...


class McpTool:
    """Tool of a server.

    Args:
        connection: Connection to the server.
        remote: Tool as the server lists it.

    Raises:
        ConfigError: The tool cannot be used; the text says why.
    """

    deferred = True

    def __init__(self, connection: ToolServer, remote: types.Tool) -> None:
        if len(remote.name) > NAME_CHARS:
            raise ConfigError(f"its name has {len(remote.name):,} characters; the limit is {NAME_CHARS:,}")
        self._connection = connection
        self.server = connection.server.name
        self.remote_name = remote.name
        self.name = legal_tool_name("mcp", self.server, remote.name)
        hints = remote.annotations
        title = remote.title or (hints.title if hints else None) or words_of(remote.name)
        self.label = clean_line(f"{self.server}: {title}", 80)
        self.description = clean_text(remote.description or "", DESCRIPTION_CHARS)
        self.parameters = _schema(remote.input_schema)
        self.is_read_only = bool(hints and hints.read_only_hint)
        self.is_destructive = bool(hints and hints.destructive_hint and not self.is_read_only)
        self._is_repeatable = self.is_read_only or bool(hints and hints.idempotent_hint)
        self._checker = Checker(self.name, _checkable(self.parameters))
        self._checker.compile()

    @property
    def mutates(self) -> bool:
        """False if the server calls the tool read-only: then it may be called in plan mode, with approval."""
        return not self.is_read_only

    def validate(self, arguments: JsonObject) -> JsonObject:
        return self._checker.check(arguments)

    def summary(self, arguments: JsonObject) -> str:
        texts = (value for value in arguments.values() if isinstance(value, str) and value)
        line = next(texts, json.dumps(arguments, ensure_ascii=False) if arguments else "")
        return " ".join(line[: MAX_SUMMARY_CHARS * 2].split())[:MAX_SUMMARY_CHARS]

    def risk(self, arguments: JsonObject) -> Risk:
        del arguments
        what = f"calls a tool of the MCP server {self.server}"
        if self.is_destructive:
            what = f"{what}, which says that the tool may delete or overwrite something"
        elif self.is_read_only:
            what = f"{what}, which says that the tool only reads"
        return Risk("execute", what, access="shared" if self.is_read_only else "by_level")

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        del context
        text = json.dumps(arguments, ensure_ascii=False, indent=2)
        return TextView(clean_text(text, SHOWN_ARGUMENT_CHARS), "json")

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        progress, source = _Progress(context), f"MCP server {self.server}"
        try:
            result = await self._connection.call_tool(
                self.remote_name, arguments, progress.report, is_repeatable=self._is_repeatable
            )
        except RequestFailed as error:
            return failure_of(f"{self.name} failed", error, source)
        return await output_of(result, context, source)


class _Progress:
    """Shows the progress of a call, at most ten times per second."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._shown = 0.0

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        now = time.monotonic()
        is_last = total is not None and progress >= total
        if now - self._shown < PROGRESS_INTERVAL_S and not is_last:
            return
        self._shown = now
        done = f"{100 * progress / total:.0f} %" if total else f"{progress:g}"
        self._context.update(TextView(": ".join(filter(None, (done, clean_line(message or "", 200))))))


def _schema(schema: dict[str, Any]) -> JsonObject:
    """Return a schema without escape sequences and invisible characters in its texts.

    Raises:
        ConfigError: It is too long or nested too deeply.
    """
    try:
        text = json.dumps(schema)
        if len(text) > MAX_SCHEMA_CHARS:
            raise ConfigError(f"its input schema has {len(text):,} characters; the limit is {MAX_SCHEMA_CHARS:,}")
        found = _cleaned(schema)
    except RecursionError:
        raise ConfigError("its input schema is nested too deeply") from None
    assert isinstance(found, dict)
    return found


def _cleaned(value: JsonValue) -> JsonValue:
    """Return JSON with its descriptions and titles cleaned; names and values have to stay as they are."""
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: clean_text(each, DESCRIPTION_CHARS)
        if key in ("description", "title", "$comment") and isinstance(each, str)
        else _cleaned(each)
        for key, each in value.items()
    }


def _checkable(schema: JsonObject) -> JsonObject:
    """Return a schema that can be checked in bounded time; the server checks the rest."""
    text = json.dumps(schema)
    if any(f'"{each}"' in text for each in ("$ref", "$dynamicRef", "$recursiveRef")):
        properties = schema.get("properties")
        names: JsonObject = {name: {} for name in properties} if isinstance(properties, dict) else {}
        return {"type": "object", "properties": names, "required": schema.get("required", [])}
    found = _without_costly(schema)
    assert isinstance(found, dict)
    return found


def _without_costly(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_without_costly(each) for each in value]
    if not isinstance(value, dict):
        return value
    properties = value.get("properties")
    kept = {key: _without_costly(each) for key, each in value.items() if key not in _COSTLY}
    if isinstance(properties, dict):
        # A property may have the name of a keyword.
        kept["properties"] = {name: _without_costly(each) for name, each in properties.items()}
    return kept


if TYPE_CHECKING:
    _: type[Tool] = McpTool
