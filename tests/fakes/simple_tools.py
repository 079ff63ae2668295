"""Small tools for tests of the agent loop, with visible effects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from harness.errors import InvalidArguments
from harness.messages import JsonObject
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Risk, RiskLevel, SimpleCommand
from harness.views import TextView, View

Work = Callable[[JsonObject, ToolContext], Awaitable[ToolOutput]]


class SimpleTool:
    """Tool that runs `work` and records its arguments. Accepts any arguments, and requires those in `required`.

    An argument `path` is the file it declares to touch.
    """

    def __init__(
        self,
        name: str,
        work: Work | None = None,
        *,
        risk: RiskLevel = "read",
        required: tuple[str, ...] = (),
        cacheable: bool = False,
    ) -> None:
        self.name = name
        self.label = name.replace("_", " ").capitalize()
        self.description = f"Does {name}."
        self.parameters: JsonObject = {"type": "object", "properties": {}, "required": list(required)}
        self.mutates = risk in ("edit", "execute", "dangerous", "forbidden")
        self.level: RiskLevel = risk
        self.ran: list[JsonObject] = []
        self._cacheable = cacheable
        self._work = work
        self._required = required

    def validate(self, arguments: JsonObject) -> JsonObject:
        missing = [name for name in self._required if name not in arguments]
        if missing:
            raise InvalidArguments(f"{self.name} needs {', '.join(missing)}")
        return arguments

    def summary(self, arguments: JsonObject) -> str:
        return " ".join(str(value) for value in arguments.values())

    def risk(self, arguments: JsonObject) -> Risk:
        paths = (str(arguments["path"]),) if "path" in arguments else ()
        command = str(arguments.get("command", ""))
        words = tuple(command.split())
        commands = (SimpleCommand(words, prefix=words),) if words else ()
        return Risk(self.level, subject=command, commands=commands, paths=paths, cacheable=self._cacheable)

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        return TextView(str(arguments))

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        self.ran.append(arguments)
        return await self._work(arguments, context) if self._work else ToolOutput.text(f"{self.name} ran")


def sleeper(name: str, seconds: float, **options: RiskLevel) -> SimpleTool:
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await asyncio.sleep(seconds)
        return ToolOutput.text(f"{name} slept")

    return SimpleTool(name, work, **options)


if TYPE_CHECKING:
    _: type[Tool] = SimpleTool
