"""Built-in tool that is imported when it is first called.

Importing pydantic and a tool's own dependencies takes longer than a short answer, and most runs call few tools. Until
then the manifest supplies its name, description and schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from harness.ports.tool import Revisable
from tools.manifest import description_of, manifest_of

if TYPE_CHECKING:
    from harness.messages import JsonObject
    from harness.ports.tool import Tool, ToolContext, ToolOutput
    from harness.risk import Risk
    from harness.views import View


@runtime_checkable
class _SchemaValidator(Protocol):
    """A tool that validates against a given schema."""

    def validate_with_schema(self, schema: JsonObject, arguments: JsonObject) -> JsonObject: ...


class LazyTool:
    """Proxy of a built-in tool; `build` imports and creates it."""

    def __init__(self, name: str, build: Callable[[], Tool]) -> None:
        manifest = manifest_of(name)
        self.name = name
        self.label = manifest.label
        self.mutates = manifest.mutates
        self.parameters = manifest.parameters
        self._build = build
        self._loaded: Tool | None = None

    @property
    def description(self) -> str:
        return description_of(self.name)

    def load(self) -> Tool:
        """Return the tool itself; may be called from any thread."""
        if self._loaded is None:
            self._loaded = self._build()
        return self._loaded

    def validate(self, arguments: JsonObject) -> JsonObject:
        tool = self.load()
        return (
            tool.validate_with_schema(self.parameters, arguments)
            if isinstance(tool, _SchemaValidator)
            else tool.validate(arguments)
        )

    def summary(self, arguments: JsonObject) -> str:
        return self.load().summary(arguments)

    def risk(self, arguments: JsonObject) -> Risk:
        return self.load().risk(arguments)

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        return await self.load().preview(arguments, context)

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return await self.load().run(arguments, context)

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        tool = self.load()
        return tool.revised(arguments, view, text) if isinstance(tool, Revisable) else None


if TYPE_CHECKING:
    _: type[Tool] = LazyTool
    _revisable: type[Revisable] = LazyTool
