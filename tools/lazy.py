"""LazyTool: a built-in tool that is imported when it is first called.

Its pydantic model and what it works with take longer to load than a short answer takes to come, and most runs call few
tools. What is told of a tool before that is on its card.
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
class _Told(Protocol):
    """A tool that can be told its own schema."""

    def validate_with_schema(self, schema: JsonObject, arguments: JsonObject) -> JsonObject: ...


class LazyTool:
    """The tool of that name; `build` imports and builds it."""

    def __init__(self, name: str, build: Callable[[], Tool]) -> None:
        card = manifest_of(name)
        self.name = name
        self.label = card.label
        self.mutates = card.mutates
        self.parameters = card.parameters
        self._build = build
        self._loaded: Tool | None = None

    @property
    def description(self) -> str:
        return description_of(self.name)

    def load(self) -> Tool:
        """The tool itself; may be called from any thread."""
        if self._loaded is None:
            self._loaded = self._build()
        return self._loaded

    def validate(self, arguments: JsonObject) -> JsonObject:
        tool = self.load()
        return (
            tool.validate_with_schema(self.parameters, arguments)
            if isinstance(tool, _Told)
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
